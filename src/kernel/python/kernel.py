"""kernel.py: the Python interpreter's side of eval. kernel/frame.h has the protocol.

The main thread runs cells; while it does, a second thread reads the host's frames, so that an
interrupt and the results of bridged calls come. Standard library only, Python 3.9 and newer.

A cold start is the time until this file has been compiled and run: little is imported here (no ast,
json, threading, signal, traceback), and what most kernels never use stands behind a mark and is
compiled at its first use.
"""

import _ast
import _json
import _signal
import _thread
import builtins
import faulthandler
import fcntl
import io
import os
import select
import sys
import time

PROTOCOL = 1
EXEC, TOOL_RESULT, INTERRUPT, SHUTDOWN = 1, 2, 3, 4
HELLO, DISPLAY, RESULT, ERROR, TOOL_CALL, TOOL_CANCELLED, DONE = 16, 17, 18, 19, 20, 21, 22
MORE = 1
FRAME_BYTES_MAX = 8 * 1024 * 1024
ARGUMENT_BYTES_MAX = 16 * 1024 * 1024
OWN_FILE = "werkbank-kernel.py"

AST_ONLY = 0x400
TOP_LEVEL_AWAIT = 0x2000
IS_COROUTINE = 0x80
FUTURE_FLAGS = 0x1FF0000  # of `from __future__ import ...`, in a code object's co_flags

TEXT_CHARS_MAX = 1024 * 1024  # of one form of a display
FLUSH_MS = 100  # printed text waits no longer, so that it counts as activity

read_fd, write_fd, sleep = os.read, os.write, time.sleep  # whatever a cell does to the modules


# ---- JSON, without the json module, whose import takes longer than all of this ----


class DecoderContext:
    strict = True
    object_hook = object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float
    memo = {}


scan_json = _json.make_scanner(DecoderContext())


def decode_json(data):
    return scan_json(data.decode(), 0)[0]


def encode_string(text):
    try:
        text.encode()
    except UnicodeEncodeError:  # lone surrogates, which strict parsers refuse
        text = text.encode("utf-8", "replace").decode()
    return _json.encode_basestring_ascii(text)


def encode_json(value, where="the value"):
    """One line of JSON. TypeError for what JSON cannot carry."""
    if value is None:
        return "null"
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, str):
        return encode_string(value)
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, float):
        if value != value or value in (float("inf"), float("-inf")):
            raise TypeError(f"{where} is {value}, which JSON cannot carry")
        return float.__repr__(value)
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(encode_json(item, where) for item in value) + "]"
    if isinstance(value, dict):
        return "{" + ",".join(encode_member(key, value[key]) for key in value) + "}"
    if isinstance(value, os.PathLike):
        return encode_string(os.fspath(value))
    raise TypeError(f"{where} is of type {type(value).__name__}, which JSON cannot carry")


def encode_member(key, value):
    if not isinstance(key, str):
        raise TypeError(f"the key {key!r} is no string")
    return encode_string(key) + ":" + encode_json(value, f"`{key}`")


quick_encoder = _json.make_encoder(
    None, None, _json.encode_basestring_ascii, None, ":", ",", False, False, False
)


def encode_own(value):
    """The same for what the kernel itself has put together."""
    text = "".join(quick_encoder(value, 0))
    return text if "\\ud" not in text else encode_json(value)


# ---- descriptors and frames ----

forked = False  # this is a forked child, which must not write frames
frame_lock = _thread.allocate_lock()
held = b""  # a RESULT, which goes out with the frame that follows it soon: DONE


def take_descriptors():
    """Standard input and output become private; what stands there now is for the cells."""
    frames_in, frames_out, raw = (fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 200) for fd in (0, 1, 2))
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    return frames_in, frames_out, raw


def write_all(fd, data):
    data = memoryview(data)
    while data:
        try:
            data = data[write_fd(fd, data) :]
        except BlockingIOError:  # a child has made the shared stream non-blocking
            select.select([], [fd], [])


def write_frames(data):
    try:
        write_all(frames_out, data)
    except OSError:  # a cell has closed it: the host sees that, says so, and ends this process
        while True:
            sleep(60)


def put_frame(kind, cell, call, payload):
    global held
    if forked:
        raise RuntimeError("a forked child cannot speak for the kernel")
    with frame_lock:
        at = 0
        while True:
            part = payload[at : at + FRAME_BYTES_MAX]
            at += len(part)
            more = MORE if at < len(payload) else 0
            header = len(part).to_bytes(4, "little") + bytes((kind, more, 0, 0))
            header += cell.to_bytes(4, "little") + call.to_bytes(4, "little")
            data, held = held + header + part, b""
            if kind == RESULT and not more:
                held = data
            else:
                write_frames(data)
            if not more:
                return


def put_json(kind, cell, call, value):
    put_frame(kind, cell, call, encode_own(value).encode())


unread = b""  # what has been read of frames that are not taken yet


def read_exactly(size):
    global unread
    parts = [unread]
    missing = size - len(unread)
    while missing > 0:
        part = read_fd(frames_in, max(65536, min(missing, 1 << 20)))
        if not part:
            end_process()
        parts.append(part)
        missing -= len(part)
    data = b"".join(parts)
    unread = data[size:]
    return data[:size]


def read_frame():
    payload = b""
    while True:
        header = read_exactly(16)
        payload += read_exactly(int.from_bytes(header[:4], "little"))
        if not header[5] & MORE:
            cell, call = (int.from_bytes(header[at : at + 4], "little") for at in (8, 12))
            return header[4], cell, call, payload


def end_process():
    """The host is gone: everything that was started here goes too."""
    if os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), _signal.SIGKILL)
    os._exit(1)


# ---- what cells print ----


class RawStream(io.RawIOBase):
    """The stream that children write to as well. Its end does not close the descriptor."""

    def writable(self):
        return True

    def fileno(self):
        return 1

    def write(self, data):
        write_all(raw, data)
        return len(data)


class NoInput(io.TextIOBase):
    """Nobody can type into a cell."""

    def readable(self):
        return True

    def read(self, *_):
        raise EOFError("a cell has no standard input: pass the value in the code, or use ask_user")

    readline = __next__ = read

    def fileno(self):
        return 0


def open_streams():
    """What cells print to. A stream that a cell has put in place of ours stays there."""
    global stream, own_streams
    stream = io.BufferedWriter(RawStream(), 32768)
    before, own_streams = own_streams, []
    for name in ("stdout", "stderr"):
        text = io.TextIOWrapper(stream, "utf-8", "backslashreplace", "\n", write_through=True)
        if not before or any(getattr(sys, name, None) is one for one in before):
            setattr(sys, name, text)
        setattr(sys, f"__{name}__", text)
        own_streams.append(text)


def streams_are_open():
    try:
        return not any(one.closed or one.buffer is not stream for one in own_streams)
    except ValueError:  # it is detached
        return False


def flush_c():
    """What C code printed by its own means. Without ctypes, which numpy loads, it comes at the end."""
    ctypes = sys.modules.get("ctypes")
    if ctypes is not None:
        ctypes.CDLL(None).fflush(None)


def flush():
    try:
        stream.flush()
        if sys.stdout not in own_streams:
            sys.stdout.flush()
        flush_c()
    except Exception:  # a replaced stream, or module, may be anything
        pass


last_mark = 0


def put_mark():
    global last_mark
    flush()
    last_mark += 1
    write_all(raw, f"\x1eWB{nonce}:{last_mark}\x1e".encode())
    return last_mark


def flush_first(module, name):
    """Children write to the same stream: what was printed before them comes first."""
    function = getattr(module, name, None)
    if function is not None:

        def flushing(*args, **kwargs):
            flush()
            result = function(*args, **kwargs)
            if name == "system" and result & 127 == _signal.SIGINT:
                raise KeyboardInterrupt  # which it was deaf to, and only the command has heard
            return result

        setattr(module, name, flushing)


# ---- displays ----


class Values:
    """How the values of a cell become forms: what each part of the kernel shares of it."""

    figures_shown = set()


def guarded_repr(value):
    try:
        text = repr(value)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return f"<{type(value).__name__} whose repr fails: {type(error).__name__}>"
    return text if isinstance(text, str) else f"<{type(value).__name__}>"


SIMPLE = (int, float, complex, str, bytes, bool, type(None), type(...))
CONTAINERS = (list, tuple, dict, set, frozenset)


def forms_of(value):
    """{mime: text or bytes}; text/plain is always there."""
    kind = type(value)
    if kind in SIMPLE:
        return {"text/plain": guarded_repr(value)}
    try:
        if kind in CONTAINERS:
            text = guarded_repr(value)
            return {"text/plain": text if len(text) <= 100 else pretty(value, text)}
        return rich_forms(value)
    except Exception:  # whatever it is that its methods give
        return {"text/plain": guarded_repr(value)}


def cut_text(text):
    if len(text) <= TEXT_CHARS_MAX:
        return text
    return f"{text[:TEXT_CHARS_MAX]}\n[... {len(text) - TEXT_CHARS_MAX} characters left out]"


def split_forms(forms):
    """({mime: text}, [(mime, bytes)]); what cannot be sent is left out."""
    mimes, blobs = {}, []
    for mime, form in forms.items():
        if isinstance(form, (bytes, bytearray, memoryview)):
            blobs.append((str(mime), bytes(form)))
        elif form is not None:
            try:
                mimes[str(mime)] = cut_text(form if isinstance(form, str) else encode_json(form))
            except Exception:
                pass
    mimes.setdefault("text/plain", "[" + ", ".join(map(str, forms)) + "]")
    return mimes, blobs


def put_forms(kind, forms, display_id=None, update=False, clear=False):
    if forked:
        return
    if cell_now is None:
        if "text/plain" in forms:
            print(forms["text/plain"])
        return
    mimes, blobs = split_forms(forms)
    head = {
        "mark": put_mark(),
        "mimes": mimes,
        "blobs": [{"mime": mime, "bytes": len(data)} for mime, data in blobs],
        "id": display_id,
        "update": update,
    }
    if clear:
        head["clear"] = True
    head = encode_own(head).encode()
    data = [len(head).to_bytes(4, "little"), head, *(data for _, data in blobs)]
    put_frame(kind, cell_now, 0, b"".join(data))


class DisplayHandle:
    def __init__(self, display_id):
        self.display_id = display_id

    def update(self, value, **_):
        put_forms(DISPLAY, forms_of(value), self.display_id, True)

    def display(self, value, **_):
        put_forms(DISPLAY, forms_of(value), self.display_id)


def display(*values, display_id=None, raw=False, **_):
    """Shows values as a notebook does. display_id: text, or True for a new one; gives a handle."""
    if display_id is True:
        display_id = f"display-{os.urandom(6).hex()}"
    for value in values:
        put_forms(DISPLAY, value if raw else forms_of(value), display_id)
    return DisplayHandle(display_id) if display_id is not None else None


def update_display(value, *, display_id, **_):
    put_forms(DISPLAY, forms_of(value), display_id, True)


def clear_output(wait=False):
    put_forms(DISPLAY, {}, clear=True)


# ---- the bridge ----


class ToolError(Exception):
    """A tool's error: .name of the tool, .kind of the error, .message."""

    def __init__(self, name, kind, message):
        super().__init__(message)
        self.name, self.kind, self.message = name, kind, message


pending = {}  # number of the call: function that takes (ok, result)
last_call = 0
call_lock = _thread.allocate_lock()


def start_call(name, args, more, take):
    """Sends a call; `take` gets its outcome on the reader's thread. Returns its number."""
    global last_call
    args = {**(args or {}), **more}
    payload = encode_json({"tool": name, "args": args}).encode()
    if len(payload) > ARGUMENT_BYTES_MAX:
        raise TypeError(f"the arguments of {name} take {len(payload)} bytes, 16 MiB is the limit")
    cell = cell_now
    if cell is None:
        raise ToolError(name, "no_cell", "no cell is running: tools are called by cells")
    with call_lock:
        last_call += 1
        call = last_call
        pending[call] = take
    put_frame(TOOL_CALL, cell, call, payload)
    return call


def drop_call(call):
    with call_lock:
        known = pending.pop(call, None) is not None
    if known and cell_now is not None:
        put_json(TOOL_CANCELLED, cell_now, call, {})


def outcome_of(name, result):
    """The result's value; raises the tool's error."""
    if not result["ok"]:
        raise ToolError(name, result.get("kind") or "error", result["text"])
    return result["text"] if result.get("data") is None else result["data"]


class Tool:
    """tool("read", {"path": "a.py"}), or tool.read(path="a.py"). From any thread."""

    def __call__(self, name, args=None, **more):
        done = _thread.allocate_lock()
        done.acquire()
        box = []

        def take(result):
            box.append(result)
            done.release()

        call = start_call(name, args, more, take)
        try:
            if _thread.get_ident() == main_thread:
                read_until(box)
            done.acquire()
        except BaseException:
            drop_call(call)
            raise
        return outcome_of(name, box[0])

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda args=None, **more: self(name, args, **more)

    def __repr__(self):
        return "<tool: calls the tools of this run>"


async def atool(name, args=None, **more):
    """The same, to be awaited: several at once by asyncio.gather."""
    import asyncio

    loop = asyncio.get_running_loop()
    future = loop.create_future()

    def settle(result):
        if not future.done():
            future.set_result(result)

    call = start_call(name, args, more, lambda result: loop.call_soon_threadsafe(settle, result))
    try:
        result = await future
    except BaseException:
        drop_call(call)
        raise
    return outcome_of(name, result)


def take_tool_result(call, result):
    with call_lock:
        take = pending.pop(call, None)
    if take is not None:
        try:
            take(result)
        except RuntimeError:  # its loop is closed
            pass


def end_calls():
    """Of threads that wait for them still, when the cell is over."""
    for call in list(pending):
        text = "the cell that called the tool has ended"
        take_tool_result(call, {"ok": False, "kind": "cancelled", "text": text})


# ---- a cell ----

main_space = sys.modules["__main__"].__dict__
cell_now = None  # the number of the cell that runs
interruptible = False  # user code runs on the main thread
future_flags = 0
sources = {}  # file name of a cell: its text, for tracebacks and inspect
loop = None  # for cells that await


was_interrupted = False  # since the last INTERRUPT, or the cell's begin


def on_sigint(_signal_number, _frame):
    global was_interrupted
    if interruptible and not was_interrupted:
        was_interrupted = True
        raise KeyboardInterrupt


def is_suppressed(source, last):
    """Does a `;` stand behind the last expression? Offsets are of UTF-8 bytes."""
    if ";" not in source:
        return False
    lines = source.encode().split(b"\n")[last.end_lineno - 1 :]
    lines[0] = lines[0][last.end_col_offset :]
    rest = b"\n".join(line.split(b"#")[0] if i else line for i, line in enumerate(lines)).lstrip()
    return rest.startswith(b";")


def compile_cell(source, name):
    """(code of the statements or None, code of the last expression or None)."""
    flags = future_flags | TOP_LEVEL_AWAIT
    tree = compile(source, name, "exec", flags | AST_ONLY, True)
    last = None
    if tree.body and isinstance(tree.body[-1], _ast.Expr):
        if not is_suppressed(source, tree.body[-1]):
            last = _ast.Expression(tree.body.pop().value)
    body = compile(tree, name, "exec", flags, True) if tree.body else None
    return body, last and compile(last, name, "eval", flags, True)


def run_code(body, last):
    """Statements and the last expression, either of which may be None. Gives the value."""
    codes = [code for code in (body, last) if code is not None]
    if any(code.co_flags & IS_COROUTINE for code in codes):
        return run_coroutine(run_awaiting(codes, last))
    value = None
    for code in codes:
        value = eval(code, main_space)
    return value if last is not None else None


async def run_awaiting(codes, last):
    """All of the cell while the loop runs: what it makes before its first await may need that."""
    for code in codes:
        value = eval(code, main_space)
        if code.co_flags & IS_COROUTINE:
            value = await value
    return value if last is not None else None


def prepare(source):
    """Dedented, with one kind of line end, and with the idioms of notebooks rewritten."""
    source = source.lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    first = source.lstrip("\n")
    indent = first[: len(first) - len(first.lstrip(" \t"))]
    if indent:  # lines with less of it stand in a string
        lines = source.split("\n")
        source = "\n".join(line[len(indent) * line.startswith(indent) :] for line in lines)
    if "%" in source or "!" in source or "?" in source:
        source = rewrite_idioms(source)
    return source


def source_entry(name):
    lines = [line + "\n" for line in sources[name].split("\n")]
    return len(sources[name]), None, lines, name


def remember_source(name, source):
    sources[name] = source
    if "linecache" in sys.modules:
        sys.modules["linecache"].cache[name] = source_entry(name)


def run_cell(source, name):
    global future_flags
    remember_source(name, source)
    body, last = compile_cell(source, name)
    if body is not None:
        future_flags |= body.co_flags & FUTURE_FLAGS
    value = run_code(body, last)
    if value is not None:
        main_space["_"] = value
        put_forms(RESULT, forms_of(value))


def end_child(status):
    """A forked child that comes out of the cell must not go on as the kernel."""
    flush()
    os._exit(status)


def guarded_cell(number, source):
    """Runs it; returns ("ok" | "error" | "interrupted", the exception)."""
    global interruptible
    try:
        try:
            interruptible = True
            if interrupted_early == number:
                raise KeyboardInterrupt
            run_cell(prepare(source), f"<cell {number}>")
            return "ok", None
        finally:
            interruptible = False
            sys.settrace(None)  # of a cell: it would see, and break, what comes now
            sys.setprofile(None)
    except KeyboardInterrupt as error:
        return "interrupted", error
    except BaseException as error:
        return "error", error


def finish_cell(number, status, error):
    global cell_now
    if forked:
        end_child(child_status(error))
    if "matplotlib.pyplot" in sys.modules:
        try:
            show_figures()
        except BaseException as failure:
            error, status = error or failure, "error" if status == "ok" else status
    if error is not None:
        put_error(number, error)
    # A figure may print something while it is drawn.
    mark = last_mark if held and "matplotlib.pyplot" not in sys.modules else put_mark()
    done = {"mark": mark, "status": status, "cwd": folder(), "ending": False}
    cell_now = None
    end_calls()
    put_json(DONE, number, 0, done)


def finish_surely(number, status, error):
    """Whatever the cell has done to what its end needs: an import path, a recursion limit."""
    try:
        mend()
        finish_cell(number, status, error)
    except BaseException as failure:
        if cell_now is None:
            raise
        sys.setrecursionlimit(1000)
        error = error or failure
        text = guarded_repr(error)
        put_json(
            ERROR, number, 0, {"name": type(error).__name__, "message": text, "traceback": text}
        )
        finish_cell(number, "error" if status == "ok" else status, None)


def folder():
    try:
        return os.getcwd()
    except Exception:
        return "(deleted)"


def mend():
    """Puts back what the cell has taken from all later ones."""
    main_space["__builtins__"] = builtins
    for there, now in ((builtins_there, vars(builtins)), (modules_there, sys.modules)):
        if not there.keys() <= now.keys():
            now.update({**there, **now})
    if not streams_are_open():
        flush()
        open_streams()


def run_one(number, request):
    global cell_now, was_interrupted
    flush()
    was_interrupted = False
    if request.get("env"):
        os.environ.update(request["env"])
    cell_now = number
    _signal.signal(_signal.SIGINT, on_sigint)
    status, error = guarded_cell(number, request["code"])
    try:
        finish_surely(number, status, error)
    finally:
        _signal.signal(_signal.SIGINT, _signal.SIG_IGN)


# ---- the process ----

queue = []  # cells that wait; None: the end
reading = _thread.allocate_lock()  # who has it reads frames
idle = True  # the main thread reads
HANDLED_SIGNALS = tuple(
    getattr(_signal, f"SIG{name}")
    for name in ("INT", "ALRM", "VTALRM", "PROF", "USR1", "USR2", "TERM", "HUP", "CHLD")
)
interrupted_early = 0  # a cell that may not have begun yet


def interrupt(main, cell):
    """The main thread and its children, as a terminal does it. Again until it was heard: it may be
    deaf while it waits for a child."""
    global was_interrupted
    was_interrupted = False
    try:
        os.killpg(os.getpid(), _signal.SIGINT)  # Linux gives it to the main thread where it can
    except OSError:
        _signal.pthread_kill(main, _signal.SIGINT)
    if _thread.get_ident() == main:
        return  # it waits for a tool, and hears the signal when it has read
    for _ in range(10):
        sleep(0.01)
        if was_interrupted or cell != cell_now or not interruptible:
            return
        _signal.pthread_kill(main, _signal.SIGINT)


def take_frames():
    """One, and what was read along with it."""
    global interrupted_early
    while True:
        kind, cell, call, payload = read_frame()
        if kind == EXEC:
            queue.append((cell, decode_json(payload)))
        elif kind == TOOL_RESULT:
            take_tool_result(call, decode_json(payload))
        elif kind == INTERRUPT:
            interrupted_early = cell
            if cell == cell_now and interruptible:
                interrupt(main_thread, cell)
        elif kind == SHUTDOWN:
            queue.append(None)
        if not unread:
            return


def read_frames():
    """The second thread: reads while a cell runs, and flushes what has been printed now and then.
    Both threads wake when the next cell comes, and this one leaves it to the main thread: handing it
    over would take longer than most cells."""
    _signal.pthread_sigmask(_signal.SIG_BLOCK, HANDLED_SIGNALS)  # they are for the main thread
    poll = select.poll()
    poll.register(frames_in, select.POLLIN)
    while True:
        may_print = cell_now is not None or _thread._count() > 1
        if not poll.poll(FLUSH_MS if may_print else 10 * FLUSH_MS) and not unread:
            flush()
        elif idle:
            sleep(0.005)
        else:
            # A cell in a loop gives the lock of the interpreter away once in this time.
            interval = sys.getswitchinterval()
            sys.setswitchinterval(0.0001)
            with reading:
                if not idle and poll.poll(0):  # the main thread may have been here first
                    take_frames()
            sys.setswitchinterval(interval)


def read_until(box):
    """The main thread reads its answer itself: no other has to be woken for it. Signals wait while
    bytes are on their way from the pipe, since an exception would lose them."""
    global idle
    poll = select.poll()
    poll.register(frames_in, select.POLLIN)
    idle_before = idle
    try:
        with reading:
            idle = True
        while not box:
            poll.poll()
            mask = _signal.pthread_sigmask(_signal.SIG_BLOCK, HANDLED_SIGNALS)
            try:
                with reading:
                    take_frames()
            finally:
                _signal.pthread_sigmask(_signal.SIG_SETMASK, mask)
    finally:
        idle = idle_before


def run_cells():
    global idle
    while True:
        idle = True
        with reading:
            while not queue:
                take_frames()
        idle = False
        item = queue.pop(0)
        if item is None:
            return
        run_one(*item)


def compile_later():
    """Runs what stands behind the mark; its functions replace the ones that called it."""
    global later
    exec(compile(later, OWN_FILE, "exec"), globals())
    later = ""


def postponed(name):
    def first(*args, **kwargs):
        compile_later()
        return globals()[name](*args, **kwargs)

    return first


for name in (
    "pretty",
    "rich_forms",
    "run_coroutine",
    "rewrite_idioms",
    "put_error",
    "child_status",
    "show_figures",
    "find_display_module",
):
    globals()[name] = postponed(name)


class HookedLoader:
    """Loads a module, then has a word with it."""

    def __init__(self, inner, hook):
        self.inner, self.hook = inner, hook

    def create_module(self, spec):
        return self.inner.create_module(spec)

    def exec_module(self, module):
        self.inner.exec_module(module)
        self.hook(module)

    def __getattr__(self, name):
        return getattr(self.inner, name)


def hook_linecache(module):
    for name in sources:
        module.cache[name] = source_entry(name)


def hook_pyplot(module):
    module.show = lambda *_, **__: show_figures()


class ImportHook:
    """linecache gets to know the cells, pyplot shows in the cell, and IPython.display is there
    without IPython."""

    hooks = {"linecache": hook_linecache, "matplotlib.pyplot": hook_pyplot}

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name in cls.hooks:
            from _frozen_importlib_external import PathFinder

            spec = PathFinder.find_spec(name, path)
            if spec is not None:
                spec.loader = HookedLoader(spec.loader, cls.hooks[name])
            return spec
        if name in ("IPython", "IPython.display"):
            return find_display_module(name, path)
        return None


def refuse_input(prompt=""):
    raise EOFError(
        "input() cannot be answered in a cell: pass the value in the code, or ask with the tool ask_user"
    )


def refuse_breakpoint(*_, **__):
    raise RuntimeError("breakpoint() has nobody to talk to in a cell: use the tool debug instead")


def before_fork():
    """Python 3.12 warns of any second thread: that there is one, the kernel's, is no cell's doing."""
    flush()
    if sys.version_info >= (3, 12):
        import warnings

        warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)


def after_fork():
    """In a child: it must neither read nor write frames."""
    global forked
    forked = True
    os.close(frames_in)
    os.close(frames_out)
    _signal.signal(_signal.SIGINT, _signal.default_int_handler)


def prepare_process():
    import _posixsubprocess

    try:
        os.setsid()
    except PermissionError:
        pass  # it leads a session already
    _signal.signal(_signal.SIGINT, _signal.SIG_IGN)
    faulthandler.enable(raw)
    os.register_at_fork(before=before_fork, after_in_child=after_fork)
    for module, name in (
        (os, "system"),
        (os, "posix_spawn"),
        (os, "posix_spawnp"),
        (_posixsubprocess, "fork_exec"),
    ):
        flush_first(module, name)
    os.environ.setdefault("MPLBACKEND", "Agg")
    sys.meta_path.insert(0, ImportHook)
    sys.breakpointhook = refuse_breakpoint
    sys.argv = [""]


def define_names():
    builtins.input = refuse_input
    for function in (display, update_display, clear_output, atool, ToolError):
        setattr(builtins, function.__name__, function)
    builtins.tool = Tool()
    main_space.update(__doc__=None, __spec__=None, __builtins__=builtins)


frames_in, frames_out, raw = take_descriptors()
stream, own_streams = None, []
open_streams()
sys.stdin = sys.__stdin__ = NoInput()
main_thread = _thread.get_ident()
prepare_process()
define_names()
builtins_there, modules_there = dict(vars(builtins)), dict(sys.modules)
write_all(frames_out, f"werkbank-kernel {nonce}\n".encode())
put_json(
    HELLO,
    0,
    0,
    {
        "protocol": PROTOCOL,
        "language": "python",
        "version": sys.version.split()[0],
        "executable": sys.executable,
        "pid": os.getpid(),
        "cwd": folder(),
    },
)
_thread.start_new_thread(read_frames, ())
run_cells()
flush()

# ---- later ----

import traceback

# ---- errors ----


def without_own_frames(summary):
    """The kernel's own frames, and the event loop's below them, say nothing to the author of a cell."""
    seen = set()
    while summary is not None and id(summary) not in seen:
        seen.add(id(summary))
        kept = [frame for frame in summary.stack if frame.filename != OWN_FILE]
        if len(kept) > 1 and kept[0].name == "run_until_complete" and len(kept) < len(summary.stack):
            del kept[0]
        summary.stack = traceback.StackSummary.from_list(kept)
        if summary.__context__ is not None:
            without_own_frames(summary.__context__)
        summary = summary.__cause__


def describe_error(error):
    kind = type(error)
    summary = traceback.TracebackException(kind, error, error.__traceback__)
    without_own_frames(summary)
    return "".join(summary.format())


def put_error(number, error):
    try:
        text = describe_error(error)
    except Exception as failure:
        text = f"{type(error).__name__} (its traceback cannot be shown: {failure!r})"
    try:
        message = str(error)
    except Exception:
        message = "(its text cannot be shown)"
    if isinstance(error, SystemExit):
        message = f"{message}: the cell asked to exit; the kernel goes on"
    name = type(error).__name__
    put_json(
        ERROR,
        number,
        0,
        {"name": name, "message": cut_text(message), "traceback": cut_text(text).rstrip("\n")},
    )


def child_status(error):
    if error is None:
        return 0
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else int(error.code is not None)
    print(describe_error(error), file=sys.stderr, end="")
    return 1


# ---- coroutines ----


def run_coroutine(coroutine):
    """On a loop that is kept for later cells and runs only while one awaits."""
    global loop
    import asyncio

    if loop is None or loop.is_closed():
        loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    task = loop.create_task(coroutine)
    try:
        return loop.run_until_complete(task)
    except KeyboardInterrupt:
        # A moment to clean up. It may never end: the interrupt may have cut the loop's own steps.
        task.cancel()
        try:
            loop.run_until_complete(asyncio.wait({task}, timeout=1))
        except BaseException:
            pass
        raise


# ---- forms of values ----

METHODS = {
    "_repr_html_": "text/html",
    "_repr_markdown_": "text/markdown",
    "_repr_svg_": "image/svg+xml",
    "_repr_png_": "image/png",
    "_repr_jpeg_": "image/jpeg",
    "_repr_json_": "application/json",
    "_repr_latex_": "text/latex",
}


def pretty(value, text):
    """Containers as a notebook shows them: several lines when one is too long."""
    if len(text) > 20000:
        return text
    import pprint

    try:
        return pprint.pformat(value, width=100, compact=True, sort_dicts=False)
    except Exception:
        return text


def call_method(value, name):
    """A _repr_ method's answer, or None; a broken one is as good as none."""
    try:
        method = getattr(value, name, None)
        if method is None or isinstance(value, type) or not callable(method):
            return None
        answer = method()
    except KeyboardInterrupt:
        raise
    except Exception:
        return None
    return answer[0] if isinstance(answer, tuple) and answer else answer


def comes_from(value, package):
    """Its class or a base of it, as GeoDataFrame's is: by name, so that nothing is imported."""
    return any(str(base.__module__).partition(".")[0] == package for base in type(value).__mro__)


def rich_forms(value):
    forms = {}
    bundle = call_method(value, "_repr_mimebundle_")
    if isinstance(bundle, dict):
        forms.update(bundle)
    for method, mime in METHODS.items():
        if mime not in forms:
            answer = call_method(value, method)
            if answer is not None:
                forms[mime] = answer
    if comes_from(value, "pandas") and hasattr(value, "index"):
        forms.update(frame_forms(value))
    elif comes_from(value, "matplotlib") and hasattr(value, "savefig"):
        Values.figures_shown.add(id(value))
        forms["image/png"] = figure_png(value)
    for mime, form in list(forms.items()):
        if mime in ("image/png", "image/jpeg") and isinstance(form, str):
            import base64

            forms[mime] = base64.b64decode(form)
    forms.setdefault("text/plain", guarded_repr(value))
    return forms


# ---- pandas ----

ROWS_SHOWN, COLUMNS_SHOWN, CELL_CHARS = 30, 20, 100


def cell_text(value):
    if isinstance(value, float):
        text = f"{value:.6g}"
    elif isinstance(value, tuple):
        text = " / ".join(map(str, value))
    else:
        text = str(value)
    text = text.replace("\n", " ").replace("|", "\\|")
    return text if len(text) <= CELL_CHARS else text[:CELL_CHARS] + "..."


def table_rows(frame, columns):
    """The index and cells of each row as text."""
    for i in range(len(frame)):
        yield [cell_text(frame.index[i]), *(cell_text(frame.iloc[i, column]) for column in columns)]


def frame_forms(value):
    """A bounded Markdown table for the model; HTML is pandas' own."""
    try:
        frame = value.to_frame() if hasattr(value, "to_frame") and value.ndim == 1 else value
        if getattr(frame, "ndim", 0) != 2 or not hasattr(frame, "iloc"):
            return {}
        return {"text/markdown": markdown_table(frame)}
    except KeyboardInterrupt:
        raise
    except Exception:
        return {}


def markdown_table(frame):
    n_rows, n_columns = frame.shape
    columns = list(range(min(n_columns, COLUMNS_SHOWN)))
    names = ["" if name is None else str(name) for name in frame.index.names]
    lines = [[" / ".join(names), *(cell_text(frame.columns[i]) for i in columns)]]
    half = ROWS_SHOWN // 2
    if n_rows <= ROWS_SHOWN:
        rows = list(table_rows(frame, columns))
    else:
        rows = [*table_rows(frame.iloc[:half], columns), ["..."] * (len(columns) + 1)]
        rows += table_rows(frame.iloc[-half:], columns)
    lines += [["---"] * (len(columns) + 1), *rows]
    text = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    note = f"{n_rows} rows x {n_columns} columns"
    if n_rows > ROWS_SHOWN:
        note += f"; the first and last {half} rows shown"
    if n_columns > COLUMNS_SHOWN:
        note += f"; the first {COLUMNS_SHOWN} columns shown"
    return f"{text}\n\n{note}"


# ---- matplotlib ----


def figure_png(figure):
    data = io.BytesIO()
    figure.savefig(data, format="png", bbox_inches="tight")
    return data.getvalue()


def show_figures(*_, **__):
    """All open figures, in the order of their making; they are closed. What display() has shown is
    not shown again."""
    pyplot = sys.modules["matplotlib.pyplot"]
    get_numbers = getattr(pyplot, "get_fignums", None)
    for number in get_numbers() if get_numbers else ():
        figure = pyplot.figure(number)
        try:
            if id(figure) not in Values.figures_shown:
                forms = {"image/png": figure_png(figure), "text/plain": guarded_repr(figure)}
                put_forms(DISPLAY, forms)
        finally:
            pyplot.close(figure)
    Values.figures_shown.clear()


# ---- IPython.display, where there is no IPython ----


def find_display_module(name, path):
    import importlib.machinery

    spec = importlib.machinery.PathFinder.find_spec(name, path)
    if spec is None:
        spec = importlib.machinery.ModuleSpec(name, DisplayModules(), is_package=name == "IPython")
    return spec


class DisplayModules:
    """What agents import from IPython by habit."""

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        module.display, module.clear_output = display, clear_output
        module.update_display, module.DisplayHandle = update_display, DisplayHandle
        for mime, name in FORM_CLASSES.items():
            setattr(module, name, form_class(name, mime))
        module.get_ipython = lambda: None


FORM_CLASSES = {
    "text/html": "HTML",
    "text/markdown": "Markdown",
    "image/svg+xml": "SVG",
    "image/png": "Image",
    "application/json": "JSON",
    "text/latex": "Latex",
}


def form_class(name, mime):
    class Form:
        def __init__(self, data=None, filename=None, **_):
            if data is None and filename is not None:
                with open(filename, "rb") as file:
                    data = file.read()
            elif mime == "image/png" and isinstance(data, str) and os.path.exists(data):
                with open(data, "rb") as file:
                    data = file.read()
            self.data = data

        def _repr_mimebundle_(self, *_, **__):
            form = self.data
            if isinstance(form, bytes) and not mime.startswith("image/png"):
                form = form.decode("utf-8", "replace")
            if isinstance(form, bytes) and form[:3] == b"\xff\xd8\xff":
                return {"image/jpeg": form}
            return {mime: form}

    Form.__name__ = Form.__qualname__ = name
    return Form


# ---- the idioms of notebooks: finding them ----

import re

MAGIC = re.compile(r"(\s*)%(\w+)(?:\s+(.*))?$", re.S)
SHELL = re.compile(r"(\s*)(!!?)(.*)$", re.S)
ASSIGNED = re.compile(r"(\s*[^\W\d][\w.,\[\]'\" \t]*?\s*=\s*)([%!])(?!=)(.*)$", re.S)
HELP = re.compile(r"\s*(?:(\?\??)\s*([\w.]+)|([\w.]+(?:\[[^\]]*\])?)\s*(\?\??))\s*;?\s*$")


def rewrite_idioms(source):
    """Each idiom that begins a logical line becomes a call. Line numbers stay."""
    first = source.lstrip()
    if first.startswith("%%"):
        return rewrite_cell_magic(first)
    out, at = [], 0
    while at < len(source):
        end = end_of_physical(source, at)
        line = source[at:end]
        if is_idiom(line):
            while line.endswith("\\") and end < len(source):
                more = end_of_physical(source, end + 1)
                line, end = source[at:more], more
            out.append(rewrite_line(line.replace("\\\n", " ")) + "\n" * line.count("\n"))
        else:
            end = end_of_logical(source, at)
            out.append(source[at:end])
        out.append(source[end : end + 1])
        at = end + 1
    return "".join(out)


def end_of_physical(source, at):
    end = source.find("\n", at)
    return len(source) if end < 0 else end


QUOTE = re.compile(r"'''|\"\"\"|'|\"")


def end_of_logical(source, at):
    """Where the statement's line ends: outside strings and brackets, without a backslash."""
    depth = 0
    while at < len(source):
        char = source[at]
        if char in "'\"":
            at = end_of_string(source, at)
            continue
        if char == "#":
            at = end_of_physical(source, at)
            continue
        if char == "\\":
            at += 2
            continue
        if char == "\n" and depth <= 0:
            return at
        depth += (char in "([{") - (char in ")]}")
        at += 1
    return len(source)


def end_of_string(source, at):
    quote = QUOTE.match(source, at).group()
    at += len(quote)
    while at < len(source) and not source.startswith(quote, at):
        if source[at] == "\n" and len(quote) == 1:
            return at  # it is not closed: Python says so
        at += 2 if source[at] == "\\" else 1
    return at + len(quote)


def is_idiom(line):
    bare = line.lstrip()
    if bare[:1] in ("%", "!"):
        return True
    assigned = ASSIGNED.match(line)
    if assigned is not None:
        return "==" not in assigned.group(1)
    return "?" in bare and not bare.startswith("#") and HELP.match(line) is not None


def rewrite_line(line):
    match = MAGIC.match(line)
    if match:
        return f"{match[1]}__werkbank__.magic({match[2]!r}, {match[3] or ''!r})"
    match = SHELL.match(line)
    if match:
        name = "system" if match[2] == "!" else "capture"
        return f"{match[1]}__werkbank__.{name}({match[3]!r}, globals())"
    match = ASSIGNED.match(line)
    if match:
        if match[2] == "!":
            return f"{match[1]}__werkbank__.capture({match[3]!r}, globals())"
        name, _, rest = match[3].partition(" ")
        return f"{match[1]}__werkbank__.magic({name!r}, {rest.strip()!r})"
    match = HELP.match(line)
    return f"__werkbank__.help({match[2] or match[3]!r}, {len(match[1] or match[4])})"


def rewrite_cell_magic(source):
    first, _, body = source.partition("\n")
    name, _, line = first[2:].partition(" ")
    return f"__werkbank__.cell_magic({name.strip()!r}, {line.strip()!r}, {body!r})"


# ---- the idioms: what they do ----


def expand(command, space):
    """{name} and $name become values where the name exists; all else is the shell's."""

    def replace(match):
        if match[0] == "$$":
            return "$"
        name = match[1] or match[2]
        return str(space[name]) if name in space else match[0]

    parts = re.split(r"('[^']*')", command)
    pattern = re.compile(r"\$\$|\{([^\W\d]\w*)\}|\$([^\W\d]\w*)")
    return "".join(part if i % 2 else pattern.sub(replace, part) for i, part in enumerate(parts))


def check_interrupt(status):
    if status == -_signal.SIGINT or status == 128 + _signal.SIGINT:
        raise KeyboardInterrupt


class Lines(list):
    """The output of a command: a list of lines, with .n and .s as text and .status."""

    def __init__(self, text, status):
        super().__init__(text.splitlines())
        self.n, self.status = text, status

    @property
    def s(self):
        return " ".join(self)


def shell(command, **more):
    import subprocess

    program = "/bin/bash" if os.path.exists("/bin/bash") else "/bin/sh"
    return subprocess.Popen([program, "-c", command], stdin=subprocess.DEVNULL, **more)


class Werkbank:
    """What rewritten idioms call."""

    said_cd = False

    def system(self, command, space):
        command = expand(command.strip(), space)
        if command.split()[:1] == ["cd"] and not self.said_cd:
            self.said_cd = True
            print("[!cd lasts for its own command only; %cd changes the kernel's folder]")
        status = shell(command).wait()
        check_interrupt(status)
        if status:
            print(f"[exit status {status}]")

    def capture(self, command, space):
        import subprocess

        child = shell(expand(command.strip(), space), stdout=subprocess.PIPE)
        text = child.communicate()[0].decode("utf-8", "replace")
        check_interrupt(child.returncode)
        if child.returncode:
            print(f"[exit status {child.returncode}]")
        return Lines(text, child.returncode)

    def help(self, name, level):
        print_help(name, level)

    def magic(self, name, line):
        function = LINE_MAGICS.get(name)
        if function is None:
            refuse_magic("%", name, LINE_MAGICS)
        return function(line.strip())

    def cell_magic(self, name, line, body):
        function = CELL_MAGICS.get(name)
        if function is None:
            refuse_magic("%%", name, CELL_MAGICS)
        return function(line, body)


builtins.__werkbank__ = Werkbank()


def refuse_magic(sign, name, known):
    names = ", ".join(sign + one for one in sorted(known))
    raise NameError(f"{sign}{name} is not known here; there are {names}")


def print_help(name, level):
    import inspect

    try:
        value = eval(name, main_space)
    except Exception:
        print(f"Object `{name}` not found.")
        return
    try:
        signature = str(inspect.signature(value))
    except (TypeError, ValueError):
        signature = ""
    print(f"{name}{signature}  [{type(value).__name__}]")
    text = inspect.getdoc(value) or "no documentation"
    if level == 2:
        try:
            text = inspect.getsource(value)
        except (OSError, TypeError):
            text += "\n[no source]"
    print(text)


def run_source(source, name="<magic>"):
    """Code inside a magic: a cell of its own, its value given back."""
    source = prepare(source)
    remember_source(name, source)
    return run_code(*compile_cell(source, name))


# %pip


def installed():
    """{distribution: (version, time of its record)}"""
    import importlib.metadata

    found = {}
    for distribution in importlib.metadata.distributions():
        name = distribution.metadata["Name"]
        if name:
            path = getattr(distribution, "_path", None)
            record = path / "RECORD" if path is not None else None
            try:
                time = record.stat().st_mtime_ns
            except (OSError, AttributeError):
                time = 0
            found[name.lower()] = (distribution.version, time, files_of(distribution))
    return found


def files_of(distribution):
    try:
        return {str(distribution.locate_file(file)) for file in distribution.files or ()}
    except Exception:
        return set()


def forget_modules(files):
    """Drops the modules that come from these files; returns the names of native ones among them."""
    roots = {os.path.realpath(file) for file in files}
    native = set()
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file and name != "__main__" and os.path.realpath(file) in roots:
            if file.endswith((".so", ".pyd")):
                native.add(name.partition(".")[0])
            del sys.modules[name]
    return native


def magic_pip(line):
    import importlib
    import shlex

    before = installed()
    command = [sys.executable, "-m", "pip", *shlex.split(line)]
    import subprocess

    status = subprocess.Popen(command, stdin=subprocess.DEVNULL).wait()
    check_interrupt(status)
    importlib.invalidate_caches()
    after = installed()
    changed = [name for name in {*before, *after} if before.get(name) != after.get(name)]
    files = set()
    for name in changed:
        for side in (before, after):
            files |= side[name][2] if name in side else set()
    native = forget_modules(files)
    if native:
        names = ", ".join(sorted(native))
        print(
            f"[{names}: compiled modules were loaded already; call eval with reset to use the new ones]"
        )
    if status:
        print(f"[exit status {status}]")


# the other line magics

last_folder = [folder()]


def magic_cd(line):
    name = line.strip("'\"")
    target = last_folder[0] if name == "-" else os.path.expanduser(name or "~")
    before = folder()
    os.chdir(target)
    last_folder[0] = before
    print(os.getcwd())


def magic_ls(line):
    builtins.__werkbank__.system(f"ls {line}", main_space)


def magic_env(line):
    name, sign, value = line.partition("=")
    if not sign:
        name, sign, value = line.partition(" ")
    if not name:
        return dict(os.environ)
    if sign:
        os.environ[name.strip()] = value.strip().strip("'\"")
    return os.environ.get(name.strip())


def show_time(seconds):
    for unit, factor in (("s", 1), ("ms", 1e3), ("us", 1e6), ("ns", 1e9)):
        if seconds * factor >= 1 or unit == "ns":
            return f"{seconds * factor:.3g} {unit}"
    return ""


def magic_time(line):
    import time

    wall, cpu = time.perf_counter(), time.process_time()
    try:
        return run_source(line)
    finally:
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        print(f"wall time {show_time(wall)}, processor time {show_time(cpu)}")


def take_counts(line):
    """-n LOOPS -r REPEATS in front."""
    counts = {"n": 0, "r": 7}
    while True:
        match = re.match(r"-([nr])\s*(\d+)\s*", line)
        if match is None:
            return counts, line
        counts[match[1]] = int(match[2])
        line = line[match.end() :]


def measure(statement, setup, counts):
    import gc
    import timeit

    timer = timeit.Timer(statement or "pass", setup or "pass", globals=main_space)
    enabled = gc.isenabled()
    gc.disable()
    try:
        loops = counts["n"] or timer.autorange()[0]
        times = [time / loops for time in timer.repeat(counts["r"], loops)]
    finally:
        if enabled:
            gc.enable()
    mean = sum(times) / len(times)
    deviation = (sum((time - mean) ** 2 for time in times) / len(times)) ** 0.5
    print(
        f"{show_time(mean)} +- {show_time(deviation)} per loop "
        f"(mean and deviation of {len(times)} runs, {loops} loops each; best {show_time(min(times))})"
    )


def magic_timeit(line):
    counts, statement = take_counts(line)
    measure(statement, "", counts)


def user_names():
    own = ("_", "__builtins__", "__doc__", "__spec__", "__name__", "__loader__", "__package__")
    own += ("__annotations__",)
    return sorted(name for name in main_space if name not in own and not name.startswith("__"))


def magic_who(_line):
    print("  ".join(user_names()) or "nothing is defined")


def magic_whos(_line):
    names = user_names()
    width = max(map(len, names), default=0)
    for name in names:
        value = main_space[name]
        text = guarded_repr(value).replace("\n", " ")
        print(f"{name:{width}}  {type(value).__name__:12}  {text[:80]}")


def magic_reset(_line):
    for name in user_names():
        del main_space[name]
    main_space.pop("_", None)
    print("all names are gone; modules stay loaded (eval with reset starts a new kernel)")


def magic_load(line):
    with open(os.path.expanduser(line), encoding="utf-8") as file:
        print(file.read())


def magic_run(line):
    import shlex

    name, *args = shlex.split(line)
    name = os.path.expanduser(name)
    with open(name, "rb") as file:
        code = compile(file.read(), name, "exec")
    space = {"__name__": "__main__", "__file__": name, "__builtins__": builtins}
    before, sys.argv = sys.argv, [name, *args]
    try:
        exec(code, space)
    finally:
        sys.argv = before
        main_space.update({key: value for key, value in space.items() if key[:2] != "__"})


def accept_silently(_line):
    """%matplotlib inline, %load_ext: what notebooks need and this does not."""


LINE_MAGICS = {
    "pip": magic_pip,
    "cd": magic_cd,
    "pwd": lambda _line: os.getcwd(),
    "ls": magic_ls,
    "env": magic_env,
    "time": magic_time,
    "timeit": magic_timeit,
    "who": magic_who,
    "whos": magic_whos,
    "reset": magic_reset,
    "load": magic_load,
    "run": magic_run,
    "matplotlib": accept_silently,
    "load_ext": accept_silently,
}


# cell magics


def magic_bash(line, body, program="bash"):
    import shlex
    import subprocess

    command = [program, *shlex.split(line)]
    child = subprocess.Popen(command, stdin=subprocess.PIPE)
    try:
        child.communicate(body.encode())
    except KeyboardInterrupt:
        child.wait()
        raise
    check_interrupt(child.returncode)
    if child.returncode:
        raise subprocess.CalledProcessError(child.returncode, program)


def magic_cell_timeit(line, body):
    counts, setup = take_counts(line)
    measure(body, setup, counts)


class Captured:
    def __init__(self, stdout, stderr):
        self.stdout, self.stderr = stdout, stderr

    def show(self):
        print(self.stdout, end="")
        print(self.stderr, end="", file=sys.stderr)

    __call__ = show

    def __str__(self):
        return self.stdout


def magic_capture(line, body):
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = io.StringIO(), io.StringIO()
    try:
        run_source(body)
    finally:
        captured = Captured(sys.stdout.getvalue(), sys.stderr.getvalue())
        sys.stdout, sys.stderr = before
        names = [word for word in line.split() if not word.startswith("-")]
        if names:
            main_space[names[0]] = captured


def magic_writefile(line, body):
    words = line.split()
    mode = "a" if "-a" in words else "w"
    name = os.path.expanduser(" ".join(word for word in words if word != "-a").strip("'\""))
    existed = os.path.exists(name)
    with open(name, mode, encoding="utf-8") as file:
        file.write(body)
    print(f"{'appended to' if mode == 'a' and existed else 'wrote'} {name}")


def magic_form(mime):
    return lambda _line, body: put_forms(DISPLAY, {mime: body})


CELL_MAGICS = {
    "bash": magic_bash,
    "sh": lambda line, body: magic_bash(line, body, "sh"),
    "time": lambda line, body: magic_time(f"{line}\n{body}"),
    "timeit": magic_cell_timeit,
    "capture": magic_capture,
    "writefile": magic_writefile,
    "html": magic_form("text/html"),
    "markdown": magic_form("text/markdown"),
    "svg": magic_form("image/svg+xml"),
    "latex": magic_form("text/latex"),
}
