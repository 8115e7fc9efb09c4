/* kernel.js: the JavaScript interpreter's side of eval. kernel/frame.h has the protocol.
 *
 * Cells are evaluated by V8's own REPL mode (inspector, Runtime.evaluate): declarations may be made
 * again, await works at the top level, and the value of the last expression comes back, without a
 * parser of ours. A worker thread reads the host's frames, so that a cell in an endless loop can be
 * interrupted. Nothing here but Node.js 20's own modules. */
"use strict";

const { existsSync, readSync, statSync, writeSync } = require("node:fs");
const inspector = require("node:inspector");
const { createRequire, Module } = require("node:module");
const path = require("node:path");
const { Writable } = require("node:stream");
const { fileURLToPath, pathToFileURL } = require("node:url");
const util = require("node:util");
const { promiseHooks } = require("node:v8");
const vm = require("node:vm");
const { MessageChannel, Worker, receiveMessageOnPort } = require("node:worker_threads");

/* A cell may declare its own, or overwrite them and what they have. */
const copyOf = (object) => Object.create(null, Object.getOwnPropertyDescriptors(object));
const [Atomics, JSON, Reflect] = [globalThis.Atomics, globalThis.JSON, globalThis.Reflect].map(copyOf);
const { Buffer, Error, Map, Number, Promise, Proxy, Set, String, Symbol } = globalThis;
const { SyntaxError, TypeError, process, setImmediate } = globalThis;
const { assign, defineProperty, entries, keys, setPrototypeOf } = Object;
const { inspect } = util;
const environment = process.env;

const FRAMES_IN = 8; /* descriptors: the shell that starts node has made them */
const FRAMES_OUT = 9;
const RAW = 7; /* 2 as well, which a cell may close */

const EXEC = 1;
const TOOL_RESULT = 2;
const INTERRUPT = 3;
const SHUTDOWN = 4;
const HELLO = 16;
const DISPLAY = 17;
const RESULT = 18;
const ERROR = 19;
const TOOL_CALL = 20;
const TOOL_CANCELLED = 21;
const DONE = 22;

const MORE = 1;
const HEADER_BYTES = 16;
const FRAME_BYTES_MAX = 8 * 1024 * 1024;
const ARGUMENT_BYTES_MAX = 16 * 1024 * 1024;
const TEXT_CHARS_MAX = 1024 * 1024; /* of one form of a display */

/* ---- bytes out ---- */

/* A child that shares the stream may have made it non-blocking: then it is waited for. */
const nap = new Int32Array(new SharedArrayBuffer(4));

function writeAll(fd, bytes) {
    for (let at = 0; at < bytes.length; ) {
        try {
            at += writeSync(fd, bytes, at);
        } catch (error) {
            if (error.code !== "EAGAIN") {
                throw error;
            }
            Atomics.wait(nap, 0, 0, 1);
        }
    }
}

let held = null; /* a RESULT, which goes out with the frame that follows it soon: DONE */

function frameOf(type, more, cell, call, part) {
    const frame = Buffer.allocUnsafe(HEADER_BYTES + part.length);
    frame.writeUInt32LE(part.length, 0);
    frame.writeUInt32LE(type | (more << 8), 4);
    frame.writeUInt32LE(cell, 8);
    frame.writeUInt32LE(call, 12);
    part.copy(frame, HEADER_BYTES);
    return frame;
}

function putFrame(type, cell, call, payload) {
    let at = 0;
    do {
        const part = payload.subarray(at, at + FRAME_BYTES_MAX);
        at += part.length;
        const more = at < payload.length ? MORE : 0;
        const frame = frameOf(type, more, cell, call, part);
        const bytes = held === null ? frame : Buffer.concat([held, frame]);
        held = type === RESULT && more === 0 ? bytes : null;
        if (held === null) {
            writeAll(FRAMES_OUT, bytes);
        }
    } while (at < payload.length);
}

/* JSON.stringify escapes lone surrogates, which strict parsers refuse: they are replaced first. */
function jsonBytes(value) {
    const clean = (_key, part) => (typeof part === "string" ? part.toWellFormed() : part);
    return Buffer.from(JSON.stringify(value, clean));
}

function putJson(type, cell, call, value) {
    putFrame(type, cell, call, jsonBytes(value));
}

let lastMark = 0;

function putMark() {
    lastMark += 1;
    writeAll(RAW, Buffer.from(`\x1eWB${nonce}:${lastMark}\x1e`));
    return lastMark;
}

/* Node's own streams on a pipe write behind the program's back: these write at once. */
function replaceStream(name, fd) {
    const stream = new Writable({
        decodeStrings: false,
        write(chunk, encoding, done) {
            const isText = typeof chunk === "string";
            writeAll(RAW, isText ? Buffer.from(withoutOwnFrames(chunk), encoding) : chunk);
            done();
        },
    });
    stream.fd = fd;
    stream.isTTY = false;
    stream.destroy = () => stream;
    defineProperty(process, name, {
        configurable: true,
        enumerable: true,
        get: () => stream,
    });
}

/* ---- bytes in: a thread ---- */

/* What both threads look at. GO: the main thread has taken its first cell and reads no more.
 * MESSAGES: rises with each message. ACK: rises twice with each interrupt that was taken. RUNNING: the
 * cell that runs, or 0, or -cell: V8 has been told to leave what it executes. INTERRUPTED: the cell
 * that was last to be interrupted. */
const GO = 0;
const MESSAGES = 1;
const ACK = 2;
const RUNNING = 3;
const INTERRUPTED = 4;
const state = new Int32Array(new SharedArrayBuffer(20));

/* Both threads read frames with this, at least so many bytes at a time. null: end of file. */
function makeReader(readSync, fd, chunkBytes) {
    let unread = Buffer.alloc(0);
    const read = (size) => {
        if (unread.length < size) {
            const bytes = Buffer.allocUnsafeSlow(size > chunkBytes ? size : chunkBytes);
            let end = unread.copy(bytes);
            while (end < size) {
                const n = readSync(fd, bytes, end, bytes.length - end, null);
                if (n === 0) {
                    return null;
                }
                end += n;
            }
            unread = bytes.subarray(0, end);
        }
        const taken = unread.subarray(0, size);
        unread = unread.subarray(size);
        return taken;
    };
    return () => {
        const parts = [];
        for (;;) {
            const header = read(16);
            const payload = header && read(header.readUInt32LE(0));
            if (payload === null) {
                return null;
            }
            parts.push(payload);
            if ((header[5] & 1) === 0) {
                return {
                    type: header[4],
                    cell: header.readUInt32LE(8),
                    call: header.readUInt32LE(12),
                    text: (parts.length === 1 ? payload : Buffer.concat(parts)).toString(),
                };
            }
        }
    };
}

/* Runs in the worker. An interrupt is for the kernel's children too, as from a terminal. One that the
 * main thread does not take soon finds it in a loop: then V8 is told to leave what it executes. */
function readFrames(port, state, makeReader, signalGroup) {
    const { readFileSync, readSync } = require("node:fs");
    const inspector = require("node:inspector");
    const [GO, MESSAGES, ACK, RUNNING, INTERRUPTED] = [0, 1, 2, 3, 4];
    const [INTERRUPT, SHUTDOWN] = [3, 4];
    const ATTEMPTS = 50;
    let session = null;
    /* Until it has taken the interrupt (one ACK), and turns its event loop again (the next): a chain
     * of ticks goes on when it is left in the wrong moment. */
    const freeMainThread = (cell, acknowledged) => {
        for (let i = 0; i < ATTEMPTS && Atomics.load(state, ACK) - acknowledged < 2; i += 1) {
            const seen = Atomics.load(state, ACK);
            const patience = seen === acknowledged ? 40 : 100;
            if (Atomics.wait(state, ACK, seen, patience) === "timed-out") {
                if (session === null) {
                    session = new inspector.Session();
                    session.connectToMainThread();
                }
                Atomics.compareExchange(state, RUNNING, cell, -cell);
                session.post("Runtime.terminateExecution");
            }
        }
    };
    Atomics.wait(state, GO, 0);
    const next = makeReader(readSync, 8, 4096);
    for (;;) {
        const frame = next();
        if (frame === null) {
            signalGroup(readFileSync, "SIGKILL"); /* the host is gone */
        }
        if (frame.type === SHUTDOWN) {
            return port.postMessage(frame);
        }
        if (frame.type === INTERRUPT && Atomics.load(state, RUNNING) === frame.cell) {
            Atomics.store(state, INTERRUPTED, frame.cell);
            signalGroup(readFileSync, "SIGINT");
        }
        const acknowledged = Atomics.load(state, ACK);
        port.postMessage(frame);
        Atomics.add(state, MESSAGES, 1);
        Atomics.notify(state, MESSAGES);
        if (frame.type === INTERRUPT) {
            freeMainThread(frame.cell, acknowledged);
        }
    }
}

/* To the kernel and all that it has started, if it leads its group. */
function signalGroup(readFileSync, signal) {
    const stat = readFileSync("/proc/self/stat", "latin1");
    const group = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[2]);
    process.kill(group === process.pid ? -group : process.pid, signal);
}

function startReader(port) {
    const source =
        `const { port, state } = require("node:worker_threads").workerData;\n` +
        `(${readFrames})(port, state, ${makeReader}, ${signalGroup});`;
    const worker = new Worker(source, {
        eval: true,
        execArgv: [],
        workerData: { port, state },
        transferList: [port],
        trackUnmanagedFds: false,
    });
    worker.on("error", giveUp); /* its folder may be gone already */
    worker.unref();
}

/* ---- what is shown ---- */

const DISPLAY_METHOD = Symbol.for("Jupyter.display");
const BINARY = /^(image\/(png|jpeg|gif|webp)|application\/pdf)$/;
const SHOW = { depth: 4, maxArrayLength: 100, maxStringLength: 100000, breakLength: 100 };

/* Stacks without the kernel's own frames: those among the cell's, and all below it. */
function withoutOwnFrames(text) {
    if (!text.includes("werkbank-kernel.js") && !text.includes("node:in")) {
        return text;
    }
    const lines = [];
    let below = false;
    for (const line of text.split("\n")) {
        const frame = /^\s+at /.test(line);
        below = frame && (below || /werkbank-kernel\.js/.test(line));
        if (!frame || /\bcell-\d+\.js/.test(line)) {
            below = false;
        }
        if (!below && !/^\s+at .*node:(internal|inspector)/.test(line)) {
            lines.push(line);
        } else if (line.endsWith(" {")) {
            lines.push(`${lines.pop()} {`); /* the error's own properties follow */
        }
    }
    return lines.join("\n");
}

function describe(value) {
    try {
        return withoutOwnFrames(inspect(value, SHOW));
    } catch (error) {
        return `[${typeof value} that cannot be shown: ${error?.message ?? "its inspection failed"}]`;
    }
}

function cutText(text) {
    if (text.length <= TEXT_CHARS_MAX) {
        return text;
    }
    return `${text.slice(0, TEXT_CHARS_MAX)}\n[... ${text.length - TEXT_CHARS_MAX} characters left out]`;
}

function pictureType(value) {
    if (!(value instanceof Uint8Array)) {
        return null;
    }
    const head = Buffer.from(value.buffer, value.byteOffset, Math.min(value.length, 4));
    if (head.toString("latin1") === "\x89PNG") {
        return "image/png";
    }
    return head.length >= 3 && head[0] === 0xff && head[1] === 0xd8 && head[2] === 0xff
        ? "image/jpeg"
        : null;
}

/* {mime: string, object for JSON, or bytes} of a value. */
function formsOf(value) {
    if (value !== null && typeof value === "object" && !util.types.isProxy(value)) {
        try {
            if (typeof value[DISPLAY_METHOD] === "function") {
                return value[DISPLAY_METHOD]();
            }
            const type = pictureType(value);
            if (type !== null) {
                return { [type]: value, "text/plain": `[${type}, ${value.length} bytes]` };
            }
        } catch (error) {
            return { "text/plain": `[display failed: ${describe(error)}]` };
        }
    }
    return { "text/plain": describe(value) };
}

function jsonOr(otherwise, form) {
    try {
        return JSON.stringify(form) ?? otherwise(form);
    } catch {
        return otherwise(form);
    }
}

function splitForms(forms) {
    const mimes = {};
    const blobs = [];
    for (const [mime, form] of entries(forms ?? {})) {
        if (BINARY.test(mime)) {
            blobs.push({
                mime,
                bytes: typeof form === "string" ? Buffer.from(form, "base64") : Buffer.from(form),
            });
        } else if (form !== undefined && form !== null) {
            mimes[mime] = cutText(typeof form === "string" ? form : jsonOr(describe, form));
        }
    }
    mimes["text/plain"] ??= `[${[...keys(mimes), ...blobs.map((blob) => blob.mime)]}]`;
    return { mimes, blobs };
}

function putForms(type, forms, options) {
    const { mimes, blobs } = splitForms(forms);
    const json = jsonBytes({
        mark: putMark(),
        mimes,
        blobs: blobs.map(({ mime, bytes }) => ({ mime, bytes: bytes.length })),
        id: options.id === undefined ? null : String(options.id),
        update: Boolean(options.update),
        ...(options.clear ? { clear: true } : {}),
    });
    const size = Buffer.alloc(4);
    size.writeUInt32LE(json.length, 0);
    putFrame(type, current.id, 0, Buffer.concat([size, json, ...blobs.map((blob) => blob.bytes)]));
}

function display(value, options = {}) {
    if (current === null) {
        writeAll(RAW, Buffer.from(`${describe(value)}\n`));
    } else {
        putForms(DISPLAY, options.mime ? { [options.mime]: value } : formsOf(value), options);
    }
}

for (const [name, mime] of entries({
    html: "text/html",
    markdown: "text/markdown",
    svg: "image/svg+xml",
    latex: "text/latex",
    json: "application/json",
    png: "image/png",
    jpeg: "image/jpeg",
})) {
    display[name] = (value, options = {}) => display(value, { ...options, mime });
}
display.clear = () => current && putForms(DISPLAY, {}, { clear: true });

/* ---- reading source, as far as V8 does not do it ---- */

const WORD = /[\p{ID_Start}$_#][\p{ID_Continue}$\u200c\u200d]*/uy;
const BEFORE_REGEX =
    /^(return|typeof|instanceof|in|of|new|delete|void|throw|case|do|else|await|yield)$/;

function endOfString(source, at, quote) {
    for (at += 1; at < source.length && source[at] !== quote; at += 1) {
        at += source[at] === "\\" ? 1 : 0;
    }
    return at + 1;
}

function endOfRegex(source, at) {
    let inClass = false;
    for (at += 1; at < source.length && source[at] !== "\n"; at += 1) {
        if (source[at] === "\\") {
            at += 1;
        } else if (source[at] === "[") {
            inClass = true;
        } else if (source[at] === "]") {
            inClass = false;
        } else if (source[at] === "/" && !inClass) {
            return at + 1;
        }
    }
    return at;
}

/* The tokens of a cell: {text, start, end, depth, first (of its line), string}. Comments are left
 * out. Good enough to find `import`, magics and ends of statements; V8 judges the rest. */
function tokensOf(source) {
    const tokens = [];
    const templates = []; /* depths at which a template goes on after } */
    let depth = 0;
    let line = true;
    let at = 0;
    const add = (end, string = false) => {
        const text = source.slice(at, end);
        tokens.push({ text, start: at, end, depth, first: line, string });
        line = false;
        at = end;
    };
    const addTemplate = () => {
        let end = at + 1;
        while (end < source.length && source[end] !== "`") {
            if (source[end] === "$" && source[end + 1] === "{") {
                add(end + 2, true);
                templates.push(depth);
                depth += 1;
                return;
            }
            end += source[end] === "\\" ? 2 : 1;
        }
        add(end + 1, true);
    };
    const regexMayStart = () => {
        const last = tokens.at(-1);
        return (
            last === undefined ||
            (!last.string && (/[^\w$)\]}]$/.test(last.text) || BEFORE_REGEX.test(last.text)))
        );
    };
    while (at < source.length) {
        const char = source[at];
        WORD.lastIndex = at;
        if (char === "\n") {
            line = true;
            at += 1;
        } else if (/\s/.test(char)) {
            at += 1;
        } else if (source.startsWith("//", at)) {
            const end = source.indexOf("\n", at);
            at = end < 0 ? source.length : end;
        } else if (source.startsWith("/*", at)) {
            const end = source.indexOf("*/", at + 2);
            at = end < 0 ? source.length : end + 2;
        } else if (char === '"' || char === "'") {
            add(endOfString(source, at, char), true);
        } else if (char === "`") {
            addTemplate();
        } else if (char === "/" && regexMayStart()) {
            add(endOfRegex(source, at), true);
        } else if (WORD.test(source)) {
            add(WORD.lastIndex);
        } else if (char === "%" && line && depth === 0 && MAGIC.test(source.slice(at))) {
            const end = source.indexOf("\n", at);
            add(end < 0 ? source.length : end);
        } else if (char === "}" && templates.at(-1) === depth - 1) {
            depth = templates.pop();
            addTemplate();
        } else {
            depth -= /[)\]}]/.test(char) ? 1 : 0;
            add(at + 1);
            depth += /[([{]/.test(char) ? 1 : 0;
        }
    }
    return tokens;
}

function compiles(source) {
    try {
        new vm.Script(`(async () => {${source}\n})`);
        return true;
    } catch {
        return false;
    }
}

/* One line that can be nothing else, as many cells are. */
const EXPRESSION = /^(?!\s*(var|let|if|for|while|do|throw|debugger|with)\b)[^{};:/\n]+$/;

/* Is the cell's last statement an expression? V8 is asked about each place where it could begin. */
function endsInExpression(source) {
    if (EXPRESSION.test(source)) {
        return true;
    }
    const CANDIDATES_MAX = 200;
    let left = CANDIDATES_MAX;
    for (const token of tokensOf(source).reverse()) {
        const before = source.slice(0, token.start);
        if (token.depth === 0 && (token.first || /[;}]\s*$/.test(before) || before === "")) {
            left -= 1;
            const expression = source.slice(token.start).replace(/;\s*$/, "");
            if (compiles(`(${expression}\n)`) && (before.trim() === "" || compiles(before))) {
                return !/^(function|class|async\s+function)\b/.test(expression);
            }
            if (left === 0) {
                return true;
            }
        }
    }
    return false;
}

/* "d, {a as b}" of an import statement, as a pattern for let, and the names that must exist. */
function importPattern(clause) {
    const names = [];
    const parts = [];
    let rest = clause.replace(/\/\*[\s\S]*?\*\/|\/\/[^\n]*/g, " ");
    const space = /\*\s*as\s+([\p{ID_Continue}$]+)/u.exec(rest);
    const braces = /\{([\s\S]*)\}/.exec(rest);
    rest = rest.replace(space?.[0] ?? braces?.[0] ?? "", "");
    const alone = rest.replace(/,/g, "").trim();
    if (alone !== "") {
        names.push("default");
        parts.push(`default: ${alone}`);
    }
    for (const item of (braces?.[1] ?? "").split(",").filter((part) => part.trim() !== "")) {
        const [name, local] = item.trim().split(/\s+as\s+/);
        names.push(name.replace(/^["']|["']$/g, ""));
        parts.push(local === undefined ? name : `${name}: ${local}`);
    }
    return { names, pattern: `{${parts.join(", ")}}`, space: space?.[1] };
}

/* The statement that does what an import statement of a module does. */
function importStatement(clause, specifier, options, lines) {
    const call = (names) =>
        `await __werkbank.import(${specifier}, ${options || "undefined"}, ${JSON.stringify(names)})`;
    const end = ";" + "\n".repeat(lines);
    if (clause.trim() === "") {
        return call([]) + end;
    }
    const { names, pattern, space } = importPattern(clause.replace(/\bfrom\s*$/, ""));
    if (space === undefined) {
        return `let ${pattern} = ${call(names)}${end}`;
    }
    return `let ${space} = ${call(names)}${names.length ? `, ${pattern} = ${space}` : ""}${end}`;
}

/* The end of `with {...}` behind an import's specifier at index i, or i. */
function endOfAttributes(tokens, i) {
    if (!/^(with|assert)$/.test(tokens[i + 1]?.text) || tokens[i + 2]?.text !== "{") {
        return i;
    }
    const end = tokens.findIndex((token, j) => j > i + 2 && token.text === "}");
    return end < 0 ? i : end;
}

/* Rewrites import statement tokens[i...]; returns the index of its last token, or i. */
function rewriteImport(source, tokens, i, edits) {
    const from = tokens.findIndex((token, j) => j > i && token.string && token.depth === 0);
    if (from < 0 || tokens.slice(i + 1, from).some((token) => token.text === ";")) {
        return i;
    }
    const end = endOfAttributes(tokens, from);
    const whole = source.slice(tokens[i].start, tokens[end].end);
    const attributes = end > from ? source.slice(tokens[from + 2].start, tokens[end].end) : "";
    edits.push({
        start: tokens[i].start,
        end: tokens[end].end,
        text: importStatement(
            source.slice(tokens[i].end, tokens[from].start),
            tokens[from].text,
            attributes && `{with: ${attributes}}`,
            whole.split("\n").length - 1,
        ),
    });
    return end;
}

/* `import(x) {...}` in a class or an object. */
function isMethod(tokens, i) {
    const { depth } = tokens[i];
    const close = tokens.findIndex((token, j) => j > i && token.text === ")" && token.depth === depth);
    return /^[{},;*]$|^(async|static|get|set)$/.test(tokens[i - 1]?.text) && tokens[close + 1]?.text === "{";
}

/* Magics and imports become calls, and `const` of the top level becomes `let`, which V8 lets be
 * declared again as `let`, `const` or `class`. Line numbers stay. */
function rewrite(source) {
    if (!/\bimport\b|\bconst\b|^\s*%/m.test(source)) {
        return source;
    }
    const tokens = tokensOf(source);
    const edits = [];
    for (let i = 0; i < tokens.length; i += 1) {
        const { text, start, end, depth, first, string } = tokens[i];
        const next = tokens[i + 1]?.text;
        const magic = string ? null : MAGIC.exec(text);
        if (magic !== null) {
            const call = `await __werkbank.magic(${JSON.stringify(magic[1])}, ${JSON.stringify(magic[2].trim())});`;
            edits.push({ start, end, text: call });
        } else if (text === "const" && depth === 0 && /^[\p{ID_Start}$_{[]/u.test(next)) {
            edits.push({ start, end, text: "let  " });
        } else if (text === "import" && !string && tokens[i - 1]?.text !== ".") {
            if (next === "(" && !isMethod(tokens, i)) {
                edits.push({ start, end, text: "__werkbank.import" });
            } else if (next === "." && tokens[i + 2]?.text === "meta") {
                edits.push({ start, end: tokens[i + 2].end, text: "__werkbank.meta()" });
            } else if (depth === 0 && (first || /^[;}]$/.test(tokens[i - 1]?.text))) {
                i = rewriteImport(source, tokens, i, edits);
            }
        }
    }
    for (const { start, end, text } of edits.reverse()) {
        source = source.slice(0, start) + text + source.slice(end);
    }
    return source;
}

/* {x: 1} alone is meant as an object, as other consoles read it. */
function prepare(code) {
    const source = rewrite(code.replace(/^\ufeff/, "").replace(/\r\n?/g, "\n"));
    const bare = source.trim();
    return bare.startsWith("{") && bare.endsWith("}") && compiles(`return (${bare}\n)`)
        ? `(${source}\n)`
        : source;
}

/* ---- modules ---- */

let requireFor = { cwd: null, require: null, load: null };

/* Modules are found from the folder that the kernel is in now. */
function modules() {
    const cwd = process.cwd();
    if (requireFor.cwd !== cwd) {
        const file = path.join(cwd, "cell.mjs");
        const loader = vm.constants?.USE_MAIN_CONTEXT_DEFAULT_LOADER;
        requireFor = {
            cwd,
            require: createRequire(file),
            load: loader && compileLoader(file, loader),
        };
    }
    return requireFor;
}

/* import() as a module in file would do it. Node.js 20 calls that experimental at its first use. */
function compileLoader(file, loader) {
    const load = vm.compileFunction(
        "return options === undefined ? import(specifier) : import(specifier, options)",
        ["specifier", "options"],
        { filename: file, importModuleDynamically: loader },
    );
    return (specifier, options) => {
        const { emitWarning } = process;
        process.emitWarning = (warning, ...rest) => {
            if (rest[0] !== "ExperimentalWarning" && rest[0]?.type !== "ExperimentalWarning") {
                emitWarning.call(process, warning, ...rest);
            }
        };
        try {
            return load(specifier, options);
        } finally {
            process.emitWarning = emitWarning;
        }
    };
}

/* A project's file that has changed since it was imported is imported anew: V8 forgets no module. */
const imported = new Map(); /* file: time of change when first imported */

function freshSpecifier(specifier) {
    if (!/^(\.{1,2}\/|\/|file:)/.test(specifier)) {
        return specifier;
    }
    const file = specifier.startsWith("file:")
        ? fileURLToPath(specifier)
        : path.resolve(process.cwd(), specifier);
    const time = statSync(file, { throwIfNoEntry: false })?.mtimeMs;
    if (time === undefined) {
        return specifier;
    }
    if (!imported.has(file)) {
        imported.set(file, time);
    }
    const url = pathToFileURL(file).href;
    return imported.get(file) === time ? url : `${url}?v=${time}`;
}

async function importModule(specifier, options, names = []) {
    const { require, load } = modules();
    const fresh = freshSpecifier(String(specifier));
    const module = await (load === undefined
        ? import(/^(file|node|data):/.test(fresh) ? fresh : pathToFileURL(require.resolve(fresh)).href)
        : load(fresh, options));
    const missing = names.find((name) => !(name in module));
    if (missing !== undefined) {
        throw new SyntaxError(
            `The requested module '${specifier}' does not provide an export named '${missing}'`,
        );
    }
    return module;
}

function meta() {
    const file = path.join(process.cwd(), "cell.mjs");
    return {
        url: pathToFileURL(file).href,
        dirname: process.cwd(),
        filename: file,
        resolve: (specifier) => pathToFileURL(modules().require.resolve(specifier)).href,
    };
}

function defineRequire() {
    const cellRequire = (name) => modules().require(name);
    for (const key of ["resolve", "cache", "extensions", "main"]) {
        defineProperty(cellRequire, key, { get: () => modules().require[key] });
    }
    defineProperty(globalThis, "require", {
        value: cellRequire,
        configurable: true,
        writable: true,
    });
}

/* ---- magics ---- */

const MAGIC = /^%(npm|cd|pwd|ls|env)\b([^\n]*)/;
let lastFolder = process.cwd();

/* Runs a command line; its output goes where the cell's goes. */
function shell(command) {
    const { spawn } = require("node:child_process");
    return new Promise((resolve, reject) => {
        const child = spawn(command, { shell: true, stdio: ["ignore", RAW, RAW] });
        child.on("error", reject);
        child.on("exit", (status, signal) => resolve(signal ?? status));
    });
}

const magics = {
    async npm(line) {
        const status = await shell(`npm ${line}`);
        Module._pathCache = Object.create(null);
        requireFor = { cwd: null };
        if (status !== 0) {
            throw new Error(`npm ${line} ended with ${status}: see its output above`);
        }
    },
    async ls(line) {
        await shell(`ls ${line}`);
    },
    cd(line) {
        const name = line.replace(/^(["'])(.*)\1$/, "$2");
        const home = require("node:os").homedir();
        const target = name === "-" ? lastFolder : name.replace(/^(~(?=\/|$)|$)/, home);
        lastFolder = process.cwd();
        process.chdir(target);
        process.stdout.write(`${process.cwd()}\n`);
    },
    pwd: () => process.cwd(),
    env(line) {
        const [name, ...value] = line.split(/[ =]/);
        if (name === "") {
            return { ...process.env };
        }
        if (value.length > 0) {
            process.env[name] = value.join("=");
        }
        return process.env[name];
    },
};

/* ---- the bridge: tools of the run ---- */

const pending = new Map(); /* number of the call: {resolve, reject} */
let lastCall = 0;

class ToolError extends Error {
    constructor(tool, kind, message) {
        super(message);
        assign(this, { name: "ToolError", tool, kind });
    }
}

function forgotAwait() {
    throw new TypeError("tool(...) gives a promise: did you forget await? (or use tool.sync)");
}

/* A promise that tells him who takes it for the result. */
class ToolPromise extends Promise {
    static get [Symbol.species]() {
        return Promise;
    }

    [Symbol.toPrimitive]() {
        return forgotAwait();
    }

    toString() {
        return forgotAwait();
    }

    toJSON() {
        return forgotAwait();
    }
}
for (const name of ["then", "catch", "finally"]) {
    defineProperty(ToolPromise.prototype, name, { value: Promise.prototype[name] });
}
setPrototypeOf(
    ToolPromise.prototype,
    new Proxy(Promise.prototype, {
        get(target, key, receiver) {
            const known = typeof key === "symbol" || key in target;
            return known ? Reflect.get(target, key, receiver) : forgotAwait();
        },
    }),
);

function checkNumbers(key, value) {
    if (typeof value === "number" && !Number.isFinite(value)) {
        throw new TypeError(`Argument ${key || "value"} is ${value}, which JSON cannot carry`);
    }
    if (typeof value === "function" || typeof value === "symbol") {
        throw new TypeError(`Argument ${key} is a ${typeof value}, which JSON cannot carry`);
    }
    return typeof value === "string" ? value.toWellFormed() : value;
}

/* Sends the call; the outcome goes to resolve or reject. Returns its number. */
function request(name, args, resolve, reject) {
    if (current === null) {
        throw new ToolError(String(name), "no_cell", "No cell is running: tools are called by cells");
    }
    if (args === null || typeof args !== "object" || Array.isArray(args)) {
        throw new TypeError(`The arguments of ${name} are an object: tool("${name}", {...})`);
    }
    const json = JSON.stringify({ tool: String(name), args }, checkNumbers);
    if (json.length > ARGUMENT_BYTES_MAX) {
        throw new TypeError(`The arguments of ${name} take ${json.length} bytes, 16 MiB is the limit`);
    }
    lastCall += 1;
    pending.set(lastCall, { name: String(name), resolve, reject });
    putFrame(TOOL_CALL, current.id, lastCall, Buffer.from(json));
    return lastCall;
}

function tool(name, args = {}) {
    const promise = new ToolPromise((resolve, reject) => request(name, args, resolve, reject));
    current?.calls.add(promise);
    return promise;
}

/* The same, and nothing else runs until the result is there. */
tool.sync = (name, args = {}) => {
    let outcome = null;
    const call = request(
        name,
        args,
        (value) => (outcome = { value }),
        (error) => (outcome = { error }),
    );
    while (outcome === null) {
        const seen = Atomics.load(state, MESSAGES);
        const message = receiveMessageOnPort(input);
        if (message !== undefined) {
            take(message.message);
        } else {
            Atomics.wait(state, MESSAGES, seen, 1000);
        }
    }
    pending.delete(call);
    if ("error" in outcome) {
        throw outcome.error;
    }
    return outcome.value;
};

/* tool.read({path}) is tool("read", {path}). */
const toolWithNames = new Proxy(tool, {
    get(target, key, receiver) {
        const known = typeof key === "symbol" || key in target || key === "then";
        return known ? Reflect.get(target, key, receiver) : (args) => tool(key, args);
    },
});

function takeToolResult(call, { ok, text, data, kind }) {
    const entry = pending.get(call);
    if (entry !== undefined) {
        pending.delete(call);
        if (ok) {
            entry.resolve(data ?? text);
        } else {
            entry.reject(new ToolError(entry.name, kind ?? "error", text));
        }
    }
}

/* ---- one cell ---- */

const session = new inspector.Session();
let current = null; /* the cell that runs: {id, end(outcome), calls} */
let taken;
let hasObjects = false; /* the inspector holds some for us */

function takeValue(value) {
    taken = value;
}

/* The value behind what the inspector says of it. */
function valueOf(remote) {
    if (remote.objectId !== undefined) {
        hasObjects = true;
        taken = undefined;
        session.post("Runtime.callFunctionOn", {
            objectId: remote.objectId,
            functionDeclaration: "function (value) { __werkbank.take(value); }",
            arguments: [{ objectId: remote.objectId }],
        });
        return taken;
    }
    if (remote.type === "bigint") {
        return BigInt(remote.unserializableValue.slice(0, -1));
    }
    return "unserializableValue" in remote ? Number(remote.unserializableValue) : remote.value;
}

/* The promises of cells that have not ended. Node.js 24 aborts when it collects one (of a cell that
 * awaits what nobody else has), since the inspector wants to tell. */
const unsettled = new Set();

/* Calls start(), whose first new promise is the cell's. Returns that, or undefined. */
function catchPromise(start) {
    let first;
    const stop = promiseHooks.onInit((promise) => {
        first ??= promise;
    });
    try {
        start();
    } finally {
        stop();
    }
    return first;
}

function outcomeOf(error, reply) {
    if (error !== null) {
        return { interrupted: true, terminated: true };
    }
    if (reply.exceptionDetails !== undefined) {
        const { exception, lineNumber, columnNumber } = reply.exceptionDetails;
        const thrown = exception === undefined ? undefined : valueOf(exception);
        return { error: thrown, at: { line: lineNumber, column: columnNumber } };
    }
    return { value: valueOf(reply.result) };
}

/* Evaluates; settles with {value} or {error, at}, or with {interrupted}. */
function evaluate(id, source) {
    const expression = `${source}\n//# sourceURL=cell-${id}.js`;
    const params = { expression, replMode: true, awaitPromise: true, objectGroup: "cell" };
    return new Promise((resolve) => {
        let ended = false;
        let promise;
        const end = (error, reply) => {
            ended = true;
            unsettled.delete(promise);
            resolve(outcomeOf(error, reply));
        };
        promise = catchPromise(() => session.post("Runtime.evaluate", params, end));
        if (!ended) {
            unsettled.add(promise);
        }
    });
}

/* "  const a = ;" and a caret, for an error that has no place of its own. */
function sourceLine(source, at) {
    const line = source.split("\n")[at.line];
    return line === undefined ? "" : `${line}\n${" ".repeat(at.column)}^\n`;
}

function traceback(error, source, at) {
    const text = describe(error);
    return error instanceof SyntaxError && at !== undefined && !/^\s+at /m.test(text)
        ? sourceLine(source, at) + text
        : text;
}

/* A property of an error, whatever its getter does. */
function textOf(error, key) {
    try {
        return String(error[key]);
    } catch {
        return `(its ${key} cannot be read)`;
    }
}

function explain(message) {
    if (/^Identifier '(tool|display|__werkbank)' has already been declared$/.test(message)) {
        return `${message}: the kernel's own names cannot be declared again`;
    }
    return /^Identifier '.*' has already been declared$/.test(message)
        ? `${message} in another way (var or function): assign to it, or take another name`
        : message;
}

function putError(id, { error, at }, source) {
    const isError = util.types.isNativeError(error);
    const message = isError ? explain(textOf(error, "message")) : describe(error);
    putJson(ERROR, id, 0, {
        name: isError ? textOf(error, "name") : "Uncaught",
        message: cutText(message),
        traceback: cutText(isError ? traceback(error, source, at) : `Uncaught ${message}`),
    });
}

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

/* The value, awaited if it is a promise; then whatever the cell has asked of tools. */
async function settle(cell, outcome) {
    if (util.types.isPromise(outcome.value)) {
        try {
            outcome = { value: await outcome.value, awaited: true };
        } catch (error) {
            outcome = { error };
        }
    }
    if (cell.calls.size > 0) {
        await Promise.allSettled(cell.calls);
    }
    await nextTurn();
    return outcome;
}

function show(source, { value, awaited }) {
    if (value !== undefined && (awaited || endsInExpression(source))) {
        globalThis._ = value;
        putForms(RESULT, formsOf(value), {});
    }
}

async function run(id, code) {
    let end;
    const ended = new Promise((resolve) => (end = resolve));
    const cell = { id, end, calls: new Set() };
    current = cell;
    Atomics.store(state, RUNNING, id);
    let outcome;
    let source = code;
    try {
        source = prepare(code);
        const evaluated = evaluate(id, source).then((first) => settle(cell, first));
        outcome = await Promise.race([evaluated, ended]);
        if (current !== cell) {
            return; /* it was interrupted */
        }
        outcome.interrupted ||= Atomics.load(state, INTERRUPTED) === id;
        if (!("error" in outcome) && !outcome.interrupted) {
            show(source, outcome);
        }
    } catch (error) {
        outcome = { error };
    }
    finish(cell, outcome, code);
}

/* V8 has been told to leave what it executes. If that was not the cell, it would be the kernel: a
 * loop of ours is there for it. It may have been the cell all the same, hence the limit. */
function absorbTermination() {
    const expression = "for (const end = Date.now() + 20; Date.now() < end; ) {}";
    session.post("Runtime.evaluate", { expression }, () => {});
}

function dropCalls() {
    for (const [call, { name, reject }] of pending) {
        putJson(TOOL_CANCELLED, current.id, call, {});
        reject(new ToolError(name, "interrupted", "The cell was interrupted"));
    }
    pending.clear();
}

function finish(cell, outcome, source) {
    if (current !== cell) {
        return;
    }
    const running = Atomics.compareExchange(state, RUNNING, cell.id, 0);
    if (running !== cell.id && !outcome.terminated) {
        absorbTermination();
    }
    Atomics.store(state, RUNNING, 0);
    cell.calls.forEach((promise) => promise.catch(() => {}));
    dropCalls();
    let status = "ok";
    if (outcome.interrupted) {
        status = "interrupted";
    } else if ("error" in outcome) {
        status = "error";
        putError(cell.id, outcome, source);
    }
    keepListeners();
    const mark = held !== null ? lastMark : putMark();
    const done = { mark, status, cwd: folder(), ending: false };
    current = null;
    putJson(DONE, cell.id, 0, done);
    if (hasObjects) {
        hasObjects = false;
        session.post("Runtime.releaseObjectGroup", { objectGroup: "cell" });
    }
    if (cell.id % 50 === 0) {
        session.post("Runtime.discardConsoleEntries");
    }
}

function folder() {
    try {
        const name = process.cwd(); /* Node.js remembers it */
        return existsSync(name) ? name : "(deleted)";
    } catch {
        return "(deleted)";
    }
}

/* ---- the process ---- */

function acknowledge() {
    Atomics.add(state, ACK, 1);
    Atomics.notify(state, ACK);
}

/* The cell ends here and now: what it left behind may keep all promises from being settled. */
function interrupt(id) {
    acknowledge();
    if (current !== null && current.id === id) {
        const cell = current;
        finish(cell, { interrupted: true }, "");
        cell.end({ interrupted: true });
    }
    setImmediate(acknowledge);
}

function take({ type, cell, call, text }) {
    if (type === INTERRUPT) {
        interrupt(cell);
    } else if (type === TOOL_RESULT) {
        takeToolResult(call, JSON.parse(text));
    } else if (type === EXEC) {
        const { code, env } = JSON.parse(text);
        assign(environment, env);
        run(cell, code).catch(giveUp);
    } else if (type === SHUTDOWN) {
        exit(0);
    }
}

/* What nobody caught: the running cell's, else told among the next cell's output. */
function uncaught(error) {
    if (current !== null) {
        current.end({ error });
    } else {
        writeAll(RAW, Buffer.from(`Uncaught in the background: ${traceback(error, "")}\n`));
    }
}

const exit = process.exit.bind(process);

/* A cell has broken what the kernel itself needs. */
function giveUp(error) {
    writeAll(RAW, Buffer.from(`The kernel cannot go on: ${describe(error)}\n`));
    exit(70);
}

function ignore() {}

/* SIGINT: interrupts come as frames; the signal is for children. */
const listeners = { uncaughtException: uncaught, unhandledRejection: uncaught, SIGINT: ignore };

function keepListeners() {
    for (const [name, listener] of entries(listeners)) {
        if (!process.listeners(name).includes(listener)) {
            process.on(name, listener);
        }
    }
}

/* Standard input is empty, and a question would wait for ever. Whoever asks one touches the stream. */
function refuseQuestions() {
    const { get } = Object.getOwnPropertyDescriptor(process, "stdin");
    const refuse = (prototype, stdin) => {
        const { question } = prototype;
        prototype.question = function (...args) {
            if (this.input === stdin) {
                throw new Error(
                    "a cell has no standard input: pass the value in the code, or use ask_user",
                );
            }
            return Reflect.apply(question, this, args);
        };
    };
    let stdin = null;
    defineProperty(process, "stdin", {
        configurable: true,
        enumerable: true,
        get: () => {
            if (stdin === null) {
                stdin = Reflect.apply(get, process, []);
                const readline = require("node:readline");
                refuse(readline.Interface.prototype, stdin);
                refuse(readline.promises.Interface.prototype, stdin);
            }
            return stdin;
        },
    });
}

function guardProcess() {
    process.exit = (status) => {
        throw new Error(
            `process.exit(${status ?? ""}) in a cell: the kernel goes on. Call eval with reset to drop it`,
        );
    };
    keepListeners();
    process.argv = [process.execPath];
    process.execArgv = []; /* else a forked child would be a second kernel */
    replaceStream("stdout", 1);
    replaceStream("stderr", 2);
    refuseQuestions();
}

/* Names that cells use. Constants of a script, so that a cell cannot declare them again. */
function defineNames() {
    globalThis.__werkbankNames = {
        tool: toolWithNames,
        display,
        __werkbank: {
            import: importModule,
            meta,
            magic: (name, line) => magics[name](line),
            take: takeValue,
        },
    };
    vm.runInThisContext("const { tool, display, __werkbank } = globalThis.__werkbankNames;");
    delete globalThis.__werkbankNames;
    defineRequire();
}

/* The first cell is read here, while the thread starts; not a byte behind it. */
function takeFirstCell() {
    const next = makeReader(readSync, FRAMES_IN, 1);
    for (;;) {
        const frame = next();
        if (frame === null) {
            exit(0);
        }
        if (frame.type === EXEC || frame.type === SHUTDOWN) {
            Atomics.store(state, GO, 1);
            Atomics.notify(state, GO);
            return take(frame);
        }
    }
}

const { port1: input, port2: output } = new MessageChannel();
guardProcess();
startReader(output);
session.connect();
defineNames();
input.on("message", take);
writeAll(FRAMES_OUT, Buffer.from(`werkbank-kernel ${nonce}\n`));
putJson(HELLO, 0, 0, {
    protocol: 1,
    language: "javascript",
    version: process.version.slice(1),
    executable: process.execPath,
    pid: process.pid,
    cwd: folder(),
});
takeFirstCell();
