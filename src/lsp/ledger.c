/* ledger: see ledger.h. A page is what one server last said of one file, as a list of keys. */
#include "lsp/ledger.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/map.h"

struct page {
    char *server;
    uint64_t *keys;
    size_t n_keys;
    struct page *next;
};

struct wb_ledger {
    pthread_mutex_t lock;
    struct wb_map files; /* path -> struct page, a list */
};

struct wb_ledger *wb_ledger_new(void)
{
    struct wb_ledger *ledger = wb_alloc(sizeof(*ledger));
    pthread_mutex_init(&ledger->lock, NULL);
    wb_map_init(&ledger->files);
    return ledger;
}

static void free_pages(struct page *page)
{
    while (page != NULL) {
        struct page *next = page->next;
        free(page->server);
        free(page->keys);
        free(page);
        page = next;
    }
}

void wb_ledger_free(struct wb_ledger *ledger)
{
    if (ledger == NULL) {
        return;
    }
    void *pages;
    for (size_t cursor = 0; wb_map_next(&ledger->files, &cursor, NULL, &pages);) {
        free_pages(pages);
    }
    wb_map_done(&ledger->files);
    pthread_mutex_destroy(&ledger->lock);
    free(ledger);
}

static struct page *find_page(struct page *pages, const char *server)
{
    while (pages != NULL && !wb_str_equal(pages->server, server)) {
        pages = pages->next;
    }
    return pages;
}

static bool has_key(const struct page *page, uint64_t key)
{
    for (size_t i = 0; i < page->n_keys; i++) {
        if (page->keys[i] == key) {
            return true;
        }
    }
    return false;
}

static bool is_accounted(const struct page *pages, uint64_t key)
{
    for (; pages != NULL; pages = pages->next) {
        if (has_key(pages, key)) {
            return true;
        }
    }
    return false;
}

static void take(struct wb_ledger *ledger, const char *path, const char *server,
                 const struct wb_diagnostic_list *fresh)
{
    struct page *pages = wb_map_get(&ledger->files, path);
    struct page *page = find_page(pages, server);
    if (page == NULL) {
        page = wb_alloc(sizeof(*page));
        page->server = wb_strdup(server);
        page->next = pages;
        wb_map_set(&ledger->files, path, page);
    }
    free(page->keys);
    page->keys = wb_alloc_array(fresh->count + 1, sizeof(*page->keys));
    page->n_keys = 0;
    for (size_t i = 0; i < fresh->count; i++) {
        page->keys[page->n_keys++] = wb_diagnostic_key(&fresh->items[i]);
    }
}

void wb_ledger_account(struct wb_ledger *ledger, const char *path, const char *server,
                       const struct wb_diagnostic_list *fresh)
{
    pthread_mutex_lock(&ledger->lock);
    take(ledger, path, server, fresh);
    pthread_mutex_unlock(&ledger->lock);
}

static bool is_listed(const struct wb_diagnostic_list *list, size_t from, uint64_t key)
{
    for (size_t i = from; i < list->count; i++) {
        if (wb_diagnostic_key(&list->items[i]) == key) {
            return true;
        }
    }
    return false;
}

void wb_ledger_news(struct wb_ledger *ledger, const char *path, const char *server,
                    const struct wb_diagnostic_list *fresh, enum wb_severity least,
                    struct wb_arena *arena, struct wb_diagnostic_list *ret)
{
    size_t from = ret->count;
    pthread_mutex_lock(&ledger->lock);
    const struct page *pages = wb_map_get(&ledger->files, path);
    for (size_t i = 0; i < fresh->count; i++) {
        const struct wb_diagnostic *item = &fresh->items[i];
        uint64_t key = wb_diagnostic_key(item);
        if (item->severity <= least && !is_accounted(pages, key) && !is_listed(ret, from, key)) {
            struct wb_diagnostic_list one = {.items = &fresh->items[i], .count = 1};
            wb_diagnostics_copy(arena, ret, &one);
        }
    }
    take(ledger, path, server, fresh);
    pthread_mutex_unlock(&ledger->lock);
}

bool wb_ledger_knows(struct wb_ledger *ledger, const char *path, const char *server)
{
    pthread_mutex_lock(&ledger->lock);
    bool known = find_page(wb_map_get(&ledger->files, path), server) != NULL;
    pthread_mutex_unlock(&ledger->lock);
    return known;
}

void wb_ledger_forget(struct wb_ledger *ledger, const char *path)
{
    pthread_mutex_lock(&ledger->lock);
    free_pages(wb_map_remove(&ledger->files, path));
    pthread_mutex_unlock(&ledger->lock);
}
