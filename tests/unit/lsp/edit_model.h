/* edit_model: a workspace in memory that a plan of operations can be carried out on, strictly: each
 * operation must find what it says. For the tests and the fuzzer of lsp/workspace_edit.h. */
#ifndef WB_TESTS_EDIT_MODEL_H
#define WB_TESTS_EDIT_MODEL_H

#include <stdlib.h>

#include "lsp/workspace_edit.h"
#include "sys/path.h"

struct model_file {
    const char *path; /* absolute, below /w; NULL: removed */
    bool is_folder;
    struct wb_span content;
    bool is_open;
    int64_t version;
};

struct model {
    struct wb_arena *arena;
    struct model_file *files;
    size_t count, capacity;
};

static inline struct model_file *model_find(struct model *model, const char *path)
{
    for (size_t i = 0; i < model->count; i++) {
        if (model->files[i].path != NULL && wb_str_equal(model->files[i].path, path)) {
            return &model->files[i];
        }
    }
    return NULL;
}

/* The folders above a path are made; false: one of them is a file. */
static inline bool model_make_folders(struct model *model, const char *path)
{
    const char *folder = wb_path_dir(model->arena, path);
    const struct model_file *there = model_find(model, folder);

    if (strlen(folder) <= strlen("/w")) {
        return true;
    }
    if (there != NULL) {
        return there->is_folder;
    }
    *WB_ARENA_PUSH(model->arena, model->files, model->count, model->capacity) =
        (struct model_file){.path = folder, .is_folder = true};
    return model_make_folders(model, folder);
}

static inline bool model_add(struct model *model, const char *path, struct wb_span content)
{
    if (model_find(model, path) != NULL || !model_make_folders(model, path)) {
        return false;
    }
    *WB_ARENA_PUSH(model->arena, model->files, model->count, model->capacity) =
        (struct model_file){.path = path, .content = content};
    return true;
}

static inline int model_look(void *ctx, struct wb_arena *arena, const char *path,
                             struct wb_edit_file *ret, struct wb_error *err)
{
    struct model *model = ctx;
    const struct model_file *file = model_find(model, path);

    (void)arena;
    (void)err;
    *ret = (struct wb_edit_file){.kind = WB_FILE_MISSING};
    if (file != NULL && file->is_folder) {
        ret->kind = WB_FILE_FOLDER;
    } else if (file != NULL) {
        size_t bom = wb_file_bom(file->content);

        *ret = (struct wb_edit_file){
            .kind = WB_FILE_REGULAR,
            .content = file->content,
            .is_open = file->is_open,
            .told = {file->content.ptr + bom, file->content.len - bom},
            .version = file->version,
        };
    }
    return 0;
}

static inline bool model_write(struct model *model, const struct wb_commit_op *op)
{
    struct model_file *file = model_find(model, op->path);

    if (!op->must_exist) {
        return model_add(model, op->path, op->new_content);
    }
    if (file == NULL || file->is_folder || !wb_span_equal(file->content, op->old_content)) {
        return false;
    }
    file->content = op->new_content;
    return true;
}

static inline bool model_delete(struct model *model, const struct wb_commit_op *op)
{
    const struct model_file *file = model_find(model, op->path);

    if (file == NULL ||
        (file->is_folder ? !op->recursive : !wb_span_equal(file->content, op->old_content))) {
        return false;
    }
    for (size_t i = 0; i < model->count; i++) {
        if (model->files[i].path != NULL && wb_path_is_inside(model->files[i].path, op->path)) {
            model->files[i].path = NULL;
        }
    }
    return true;
}

static inline bool model_rename(struct model *model, const struct wb_commit_op *op)
{
    const char *from = op->path;
    const struct model_file *source = model_find(model, from);
    struct model_file *target = model_find(model, op->new_path);

    if (source == NULL || op->overwrite != (target != NULL) ||
        (target != NULL && (target->is_folder || source->is_folder))) {
        return false;
    }
    if (target != NULL) {
        target->path = NULL;
    }
    if (!model_make_folders(model, op->new_path)) {
        return false;
    }
    for (size_t i = 0; i < model->count; i++) {
        struct model_file *file = &model->files[i];

        if (file->path != NULL && wb_path_is_inside(file->path, from)) {
            file->path =
                wb_arena_printf(model->arena, "%s%s", op->new_path, file->path + strlen(from));
        }
    }
    return true;
}

/* False: the operation does not find what it says. */
static inline bool model_apply(struct model *model, const struct wb_commit_op *op)
{
    switch (op->kind) {
    case WB_COMMIT_WRITE:
        return model_write(model, op);
    case WB_COMMIT_DELETE:
        return model_delete(model, op);
    case WB_COMMIT_RENAME:
        return model_rename(model, op);
    }
    return false;
}

#endif
