"""kernel.js: what its cells may do, and what they get (kernel/frame.h is the protocol)."""

import itertools
import json
import os
import signal
import time

import pytest

from driver import Kernel

# --- the value of a cell ---

VALUES = {
    "1 + 1": "2",
    "1 + 1;": "2",
    "const a = 1": None,
    "const a = 2; a": "2",
    "let b = 3": None,
    "let b = 4\nb": "4",
    "class C {}": None,
    "class C { x = 1 }\nnew C().x": "1",
    "function f() { return 5 }": None,
    "function f() { return 6 }\nf()": "6",
    "{x: 1}": "{ x: 1 }",
    "{}": "{}",
    "{ let q = 1; q }": None,
    "({x: 1})": "{ x: 1 }",
    "[1, 2]": "[ 1, 2 ]",
    "undefined": None,
    "null": "null",
    "": None,
    "// only a comment": None,
    "5 // a comment": "5",
    "5 /* a comment */": "5",
    "for (let i = 0; i < 3; i += 1) i": None,
    "if (true) { 5 }": None,
    "var v = 7": None,
    "v": "7",
    "v = 8": "8",
    "const {p, q: [r]} = {p: 1, q: [2]}; p + r": "3",
    "const {p} = {p: 9}; p": "9",
    "'text'": "'text'",
    "`a${1 + 1}b`": "'a2b'",
    "`${`in ${{x: 1}.x}`}`": "'in 1'",
    "/[/]`'\"/.test('/')": "false",
    "10 / 2 / 5": "1",
    "10n ** 20n": "100000000000000000000n",
    "Symbol('s')": "Symbol(s)",
    "-0": "-0",
    "NaN": "NaN",
    "Infinity": "Infinity",
    "await 5": "5",
    "await Promise.resolve(6)": "6",
    "Promise.resolve(7)": "7",
    "const w = await Promise.resolve(8)": None,
    "w": "8",
    "for await (const x of [Promise.resolve(1)]) { globalThis.last = x }": None,
    "last": "1",
    "(function () { return typeof this })()": "'object'",
    "async () => 1": "[AsyncFunction (anonymous)]",
    "\ufeff5": "5",
    "const t = 1\r\nt\r\n": "1",
    "new Map([[1, {a: 2}]])": "Map(1) { 1 => { a: 2 } }",
    "throw_ = 1": "1",
    "async function g() { return 1 }": None,
    "await g()": "1",
    "typeof nothing": "'undefined'",
    "void 0": None,
    "(() => {})()": None,
    "'use strict'; 5": "5",
}


def test_values(javascript):
    for code, value in VALUES.items():
        outcome = javascript.run(code)
        assert outcome.status == "ok" and outcome.value == value, (code, outcome)


def test_the_last_value_has_a_name(javascript):
    javascript.ok("40")
    assert javascript.value("_ + 2") == "42"


def test_names_are_declared_again(javascript):
    forms = (
        "const N = %d",
        "let N = %d",
        "class N { static v = %d }",
        "const {N} = {N: %d}",
        "const [N] = [%d]",
    )
    for number, (before, after) in enumerate(itertools.product(forms, forms)):
        javascript.ok(before % number)
        javascript.ok(after % (number + 100))
        assert javascript.value("N.v ?? N") == str(number + 100), (before, after)
    javascript.ok("function f() {}")
    assert "another name" in javascript.error("const f = 1")["message"]


def test_a_failed_initialiser_leaves_the_name_usable(javascript):
    for word in ("const", "let"):
        assert (
            javascript.error(f"{word} broken_{word} = (() => {{ throw new Error('no') }})()")[
                "message"
            ]
            == "no"
        )
        assert javascript.value(f"{word} broken_{word} = 5; broken_{word}") == "5"
    javascript.error("const late = await Promise.reject(new Error('no'))")
    assert javascript.value("const late = 6; late") == "6"


def test_names_of_the_platform_may_be_shadowed(javascript):
    """For cells; what libraries see stays."""
    javascript.ok("const fetch = 5; const URL = 6")
    assert javascript.value("[fetch, URL, typeof globalThis.fetch, typeof globalThis.URL]") == (
        "[ 5, 6, 'function', 'function' ]"
    )
    javascript.ok("const process = 1; const console = 2; const require = 3")
    assert javascript.value("40 + 2") == "42"


@pytest.mark.parametrize("name", ["tool", "display"])
def test_the_kernels_own_names_may_not(javascript, name):
    assert "kernel's own names" in javascript.error(f"const {name} = 1")["message"]
    assert javascript.error(f"{name} = 1")["name"] == "TypeError"
    assert javascript.value(f"typeof {name}") == "'function'"


# --- errors ---


@pytest.mark.parametrize(
    "code, name, part",
    [
        ("throw new Error('no')", "Error", "no"),
        ("throw 5", "Uncaught", "5"),
        ("throw null", "Uncaught", "null"),
        ("throw undefined", "Uncaught", "undefined"),
        ("throw {a: 1}", "Uncaught", "{ a: 1 }"),
        ("throw '\\ud800'", "Uncaught", ""),
        ("undefinedName", "ReferenceError", "undefinedName is not defined"),
        ("const = 5", "SyntaxError", "Unexpected token"),
        ("return 5", "SyntaxError", "Illegal return"),
        ("function f() { await 5 }", "SyntaxError", "await"),
        ("let x: number = 5", "SyntaxError", ""),
        ("`unclosed", "SyntaxError", ""),
        ("{", "SyntaxError", ""),
        ("await Promise.reject(new RangeError('r'))", "RangeError", "r"),
        ("Promise.reject(new RangeError('r'))", "RangeError", "r"),
        ("(function f() { f() })()", "RangeError", "call stack"),
        ("process.exit(3)", "Error", "process.exit(3) in a cell"),
        ("import nothing from 'no-such-package'", "Error", "no-such-package"),
        ("require('no-such-package')", "Error", "no-such-package"),
        ("await import('./nothing.mjs')", "Error", "nothing.mjs"),
        ("import('no-such-package')", "Error", "no-such-package"),
        (
            "import {nothing} from 'node:fs'",
            "SyntaxError",
            "does not provide an export named 'nothing'",
        ),
        ("JSON.parse('{')", "SyntaxError", ""),
        (
            "Object.defineProperty(new Error('m'), 'message', {get() { throw 5 }}); throw Object.defineProperty(new Error('m'), 'message', {get() { throw 5 }})",
            None,
            "",
        ),
        ("throw new Proxy({}, {get() { throw 1 }, ownKeys() { throw 2 }})", "Uncaught", ""),
        ("throw Object.create(null)", "Uncaught", ""),
        ("class E extends Error { get name() { throw 1 } }; throw new E('q')", None, ""),
        (
            "new AggregateError([new Error('a')], 'several').errors[0].message; throw new AggregateError([new Error('a')], 'several')",
            "AggregateError",
            "several",
        ),
    ],
)
def test_errors(javascript, code, name, part):
    outcome = javascript.run(code)
    assert outcome.status == "error", outcome
    if name is not None:
        assert outcome.error["name"] == name and part in outcome.error["message"], outcome
    assert javascript.value("1 + 1") == "2"


def test_a_traceback_shows_the_cell(javascript):
    javascript.ok("function f() {\n  throw new Error('deep')\n}")
    trace = javascript.error("1\nf()")["traceback"]
    assert "Error: deep" in trace and "cell-1.js:2" in trace and "cell-2.js:2" in trace
    assert "werkbank" not in trace and "node:internal" not in trace


def test_a_printed_error_has_no_frames_of_the_kernel(javascript):
    code = "try { null.x } catch (e) { console.log(e); console.error('%s', e.stack); display(e) }"
    outcome = javascript.ok(code + "\nnew Error('value')")
    assert outcome.text.count("cell-1.js:1") == 2 and "werkbank" not in outcome.text
    assert "werkbank" not in outcome.displays[0].text + outcome.value
    assert "node:" not in outcome.text


def test_a_syntax_error_points(javascript):
    trace = javascript.error("const a = 1\nconst b = = 2")["traceback"]
    assert "const b = = 2\n" in trace and "^" in trace


def test_rejections_belong_to_the_cell_that_runs(javascript):
    error = javascript.error(
        "Promise.reject(new Error('nobody')); await new Promise((r) => setTimeout(r, 200))"
    )
    assert error["message"] == "nobody"
    assert javascript.error("Promise.reject(new Error('at once')); 5")["message"] == "at once"
    assert (
        javascript.error(
            "setTimeout(() => { throw new Error('timer') }, 1); await new Promise(() => {})"
        )["message"]
        == "timer"
    )
    assert javascript.value("1 + 1") == "2"


def test_rejections_after_a_cell_are_background(javascript):
    javascript.ok(
        "setTimeout(() => Promise.reject(new Error('later')), 100); setTimeout(() => { throw 5 }, 120); 1"
    )
    javascript.background("later")
    javascript.background("Uncaught in the background: 5")
    outcome = javascript.ok("1 + 1")
    assert "Uncaught in the background: Error: later" in outcome.background and outcome.value == "2"


# --- what is shown ---

SHOWN = [
    "const cyclic = {}; cyclic.self = cyclic; cyclic",
    "new Proxy({}, { get() { throw new Error('trap') }, ownKeys() { throw new Error('trap') } })",
    "new Proxy(function () {}, { apply() { throw 1 }, get() { throw 1 } })",
    "({ get bad() { throw new Error('getter') } })",
    "Object.create(null)",
    "({ [Symbol.toStringTag]: 5 })",
    "({ toString() { throw 1 }, valueOf() { throw 1 } })",
    "({ [Symbol.for('nodejs.util.inspect.custom')]() { throw new Error('inspect') } })",
    "({ [Symbol.for('Jupyter.display')]() { throw new Error('display') } })",
    "({ [Symbol.for('Jupyter.display')]() { return { 'text/plain': 5, 'application/json': 10n } } })",
    "({ [Symbol.for('Jupyter.display')]() { return 5 } })",
    "({ get [Symbol.for('Jupyter.display')]() { throw 1 } })",
    "({ get then() { throw 1 } })",
    "new Array(1e6).fill(0)",
    "'x'.repeat(5e6)",
    "new Uint8Array(1e7)",
    "globalThis",
    "process",
    "new WeakMap()",
    "(function* () {})()",
    "new (class extends Map { get size() { throw 1 } })()",
    "revoked = Proxy.revocable({}, {}); revoked.revoke(); revoked.proxy",
    "new Error('shown, not thrown')",
    "document_ = new DataView(new ArrayBuffer(8))",
]


@pytest.mark.parametrize("code", SHOWN)
def test_every_value_can_be_shown(javascript, code):
    outcome = javascript.ok(code)
    assert outcome.value is not None and len(outcome.value) < 2 << 20
    javascript.ok("display(_)")
    assert javascript.value("1 + 1") == "2"


def test_getters_are_not_invoked(javascript):
    assert (
        javascript.value("globalThis.n = 0; ({ get g() { n += 1; return 1 } })")
        == "{ g: [Getter] }"
    )
    assert javascript.value("n") == "0"


def test_displays(javascript):
    code = """\
        console.log('one')
        display({a: 1})
        console.log('two')
        display.html('<b>')
        display.markdown('*m*', {id: 'm'})
        display('*n*', {id: 'm', mime: 'text/markdown', update: true})
        display.clear()
        display.json({a: [1]})
        """
    outcome = javascript.ok(code)
    assert outcome.story == "one\n[display]two\n[display][display][display][display][display]"
    plain, html, mark, update, clear, data = outcome.displays
    assert plain.text == "{ a: 1 }" and html.mimes["text/html"] == "<b>"
    assert mark.id == update.id == "m" and update.update and clear.clear
    assert json.loads(data.mimes["application/json"]) == {"a": [1]}


def test_pictures(javascript):
    png = "Buffer.from('89504e470d0a1a0a', 'hex')"
    assert javascript.ok(png).result.blobs["image/png"] == b"\x89PNG\r\n\x1a\n"
    assert javascript.ok(f"display.png({png})").displays[0].blobs["image/png"][:4] == b"\x89PNG"
    assert (
        javascript.ok(f"display.png({png}.toString('base64'))").displays[0].blobs["image/png"][:4]
        == b"\x89PNG"
    )
    large = "Buffer.concat([%s, Buffer.alloc(20e6)])" % png
    assert len(javascript.ok(large).result.blobs["image/png"]) == 20_000_008


# --- output ---


def test_streams_and_children_keep_their_order(javascript):
    code = """\
        console.log('1'); console.error('2'); process.stdout.write('3\\n')
        require('child_process').execSync('echo 4; echo 5 >&2', {stdio: 'inherit'})
        console.log('6')
        require('fs').writeSync(1, '7\\n'); require('fs').writeSync(2, '8\\n')
        console.log('9')
        require('child_process').spawnSync('echo', ['10'], {stdio: [0, 1, 2]})
        console.log('11')
        """
    assert javascript.text(code).split() == [str(i) for i in range(1, 12)]


def test_a_large_output_is_whole(javascript):
    text = javascript.text(
        "for (let i = 0; i < 100; i += 1) console.log('x'.repeat(100000)); console.log('end')"
    )
    assert len(text) == 100 * 100001 + 4 and text.endswith("end\n")


def test_timers_live_between_cells(javascript):
    javascript.ok("setTimeout(() => console.log('from behind'), 150); 1")
    javascript.background("from behind\n")
    outcome = javascript.ok("console.log('mine')")
    assert outcome.background == "from behind\n" and outcome.text == "mine\n"


def test_a_late_display_is_text(javascript):
    javascript.ok("setTimeout(() => display({late: 1}), 100); 1")
    javascript.background("{ late: 1 }\n")


@pytest.mark.parametrize(
    "code",
    [
        "process.stdout.end(); process.stderr.destroy()",
        "require('fs').closeSync(1)",
        "require('fs').closeSync(2)",
        "require('fs').closeSync(1); require('fs').closeSync(2); require('fs').closeSync(0)",
        "console.log = null; console = null",
        "Object.defineProperty(process, 'stdout', {value: null}); 1",
        "JSON.stringify = null; JSON.parse = null",
        "Promise = null",
        "Buffer = null; Object.entries = null",
        "globalThis.process = undefined",
        "Object.prototype.polluted = 5; Object.prototype.mime = 'x'",
        "setImmediate = setTimeout = null",
        "process.chdir('/'); require('fs').writeSync = null; require('fs').readSync = null",
        "Atomics.wait = null; Atomics.load = null; Atomics.store = null",
        "['uncaughtException', 'SIGINT'].forEach((name) => process.removeAllListeners(name))",
        "for (const k of Object.keys(globalThis)) delete globalThis[k]",
        "Error.stackTraceLimit = 0; Error.prepareStackTrace = () => { throw 1 }",
        "process.env = null",
        "require('util').inspect = null",
        "Symbol.for = null",
    ],
)
def test_hostile_cells(javascript, code):
    """The cell hurts itself, and the kernel goes on."""
    javascript.run(code)
    assert javascript.value("40 + 2") == "42"
    assert javascript.run("throw 5").status == "error"
    javascript.answers["echo"] = lambda args: args
    assert javascript.run("await tool('echo', {a: 1})").status in ("ok", "error")
    javascript.begin("while (true) {}")
    time.sleep(0.2)
    javascript.interrupt()
    assert javascript.finish(20).status == "interrupted"
    assert javascript.value("40 + 2") == "42"


@pytest.mark.parametrize(
    "code",
    [
        "Array.prototype.map = null; String.prototype.replace = null",
        "Promise.prototype.then = null",
    ],
)
def test_what_cannot_be_mended_is_told(javascript, code):
    javascript.run(code)
    assert "is not a function" in javascript.error("40 + 2")["message"]


def test_no_input(javascript):
    assert javascript.value("require('fs').readFileSync(0, 'utf8')") == "''"
    assert (
        javascript.value("require('child_process').spawnSync('cat', {stdio: 'inherit'}).status")
        == "0"
    )


def test_a_question_is_refused(javascript):
    streams = "{input: process.stdin, output: process.stdout}"
    for code in (
        f"await require('readline/promises').createInterface({streams}).question('name? ')",
        f"require('readline').createInterface({streams}).question('name? ', () => {{}})",
        "import rl from 'node:readline/promises'\n"
        f"await rl.createInterface({streams}).question('name? ')",
    ):
        assert "no standard input" in javascript.error(code)["message"]
    answered = """\
        const { PassThrough } = require("stream");
        const input = new PassThrough();
        const asked = require("readline/promises").createInterface({ input }).question("name? ");
        input.write("Ada\\n");
        await asked
        """
    assert javascript.value(answered) == "'Ada'"


def test_a_deleted_folder(javascript, tmp_path):
    javascript.ok("await new Promise((done) => setTimeout(done, 300))")  # its thread has begun
    javascript.ok(
        "require('fs').mkdirSync('gone'); process.chdir('gone'); require('fs').rmdirSync('../gone')"
    )
    outcome = javascript.run("1 + 1")
    assert outcome.value == "2" and outcome.done["cwd"] == "(deleted)"
    assert javascript.run("require('fs').existsSync('x')").status in ("ok", "error")
    assert javascript.run("import 'node:fs'").status in ("ok", "error")
    javascript.ok(f"%cd {tmp_path}")
    assert javascript.value("process.cwd()") == repr(str(tmp_path))


# --- interrupts ---

LOOPS = {
    "loop": "while (true) {}",
    "catching": "while (true) { try { while (true) {} } catch {} finally {} }",
    "microtasks": "(function again() { Promise.resolve().then(again) })(); await new Promise(() => {})",
    "ticks": "(function again() { process.nextTick(again) })(); await new Promise(() => {})",
    "async loop": "while (true) await null",
    "never": "await new Promise(() => {})",
    "value never": "new Promise(() => {})",
    "timer": "await new Promise((r) => setTimeout(r, 1e6))",
    "generator": "function* g() { while (true) yield 1 }\nfor (const x of g());",
    "regex": "/^(a+)+$/.test('a'.repeat(40) + 'b')",
    "sleep": "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)",
    "exec": "await new Promise((done) => require('child_process').exec('sleep 100', done))",
    "tool": "await tool('slow')",
    "sync": "tool.sync('slow')",
    "inspect": "({ [Symbol.for('nodejs.util.inspect.custom')]() { while (true) {} } })",
    "getter": "({ get [Symbol.for('Jupyter.display')]() { while (true) {} } })",
}


@pytest.mark.parametrize("name", LOOPS)
def test_interrupts(javascript, name):
    javascript.answers["slow"] = lambda _args: Kernel.NOT_YET
    javascript.ok("const kept = 7")
    javascript.interrupted(f"console.log('ready');\n{LOOPS[name]}")
    outcome = javascript.ok("kept")
    assert outcome.value == "7"


@pytest.mark.parametrize(
    "loop",
    [
        "setTimeout(() => { while (true) {} }, 50)",
        "setTimeout(function again() { process.nextTick(again) }, 50)",
        "setTimeout(function again() { Promise.resolve().then(again) }, 50)",
    ],
)
def test_a_loop_behind_a_cell_is_ended_by_the_next_interrupt(javascript, loop):
    javascript.ok(f"const kept = 7; {loop}; 1")
    time.sleep(0.3)
    javascript.begin("kept")
    time.sleep(0.1)
    javascript.interrupt()
    assert javascript.finish(20).status == "interrupted"
    assert javascript.value("kept") == "7"


def test_loops_that_go_on_after_their_interrupt(javascript):
    for _ in range(10):
        javascript.interrupted(
            "console.log('ready'); (function again() { process.nextTick(again) })(); await new Promise(() => {})"
        )
        assert javascript.value("40 + 2") == "42"
    javascript.interrupted("console.log('ready'); while (true) { try { tool.sync('x') } catch {} }")
    assert javascript.value("40 + 2") == "42"


def test_a_cell_that_nobody_can_settle_is_not_collected(javascript):
    code = """\
        console.log('ready')
        setInterval(() => { const a = []; for (let i = 0; i < 2e5; i += 1) a.push({i}) }, 1)
        await new Promise(() => {})
        """
    javascript.begin(code)
    javascript.printed("ready")
    time.sleep(1)
    assert javascript.outcome.done is None
    javascript.interrupt()
    assert javascript.finish(20).status == "interrupted"
    time.sleep(0.5)
    assert javascript.value("40 + 2") == "42"


def test_a_child_is_waited_for_synchronously(javascript):
    """Node waits for it inside C++: the second interrupt comes with a signal, which the child hears."""
    javascript.ok("const kept = 7")
    javascript.begin("console.log('ready'); require('child_process').execSync('sleep 100')")
    javascript.printed("ready")
    time.sleep(0.2)
    javascript.interrupt()
    outcome = javascript.finish(20)
    assert outcome.status == "interrupted"
    assert javascript.value("kept") == "7"


def test_interrupts_that_come_late_do_nothing(javascript):
    javascript.ok("var x = 1")
    javascript.interrupt()
    os.kill(javascript.process.pid, signal.SIGINT)
    javascript.begin("await new Promise((r) => setTimeout(r, 300)); x")
    javascript.interrupt(cell=javascript.cell - 1)
    outcome = javascript.finish()
    assert outcome.status == "ok" and outcome.value == "1"


def test_interrupts_at_every_moment(javascript):
    for i in range(100):
        javascript.begin(f"for (let i = 0; i < {(i % 10) * 1e7:.0f}; i += 1) {{}}\n'end'")
        javascript.interrupt()
        assert javascript.finish(20).status in ("ok", "interrupted")
    assert javascript.value("40 + 2") == "42"


# --- modules ---


@pytest.fixture
def modules(tmp_path):
    for path, text in {
        "lib.mjs": "export const one = 1; export default 'standard'; export const two = 2; export const from = 3",
        "plain.cjs": "exports.value = 5",
        "data.json": '{"key": "value"}',
        "side.mjs": "globalThis.side = 'effect'",
        "package.json": "{}",
        "node_modules/pack/package.json": '{"name": "pack", "main": "main.js"}',
        "node_modules/pack/main.js": "module.exports = {name: 'pack', where: __filename}",
        "node_modules/esm/package.json": '{"name": "esm", "type": "module", "exports": "./m.js"}',
        "node_modules/esm/m.js": "export const name = 'esm'; export { name as 'a-b' }",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)


IMPORTS = {
    "import fs from 'node:fs'; typeof fs.readFileSync": "'function'",
    "import { readFileSync } from 'fs'\ntypeof readFileSync": "'function'",
    "import standard, { one, two as zwei } from './lib.mjs'; [standard, one, zwei]": "[ 'standard', 1, 2 ]",
    "import * as all from './lib.mjs'; all.two": "2",
    "import standard, * as all from './lib.mjs'; [standard, all.one]": "[ 'standard', 1 ]",
    "import {\n  one, // the first\n  two,\n} from './lib.mjs'\none + two": "3",
    "import { from } from './lib.mjs'; from": "3",
    "import {default as d} from './lib.mjs'; d": "'standard'",
    "import './side.mjs'\nside": "'effect'",
    "import plain from './plain.cjs'; plain.value": "5",
    "import data from './data.json' with { type: 'json' }; data.key": "'value'",
    "import { name } from 'esm'; name": "'esm'",
    "import { 'a-b' as ab } from 'esm'; ab": "'esm'",
    "import pack from 'pack'; pack.name": "'pack'",
    "(await import('./lib.mjs')).one": "1",
    "const { two } = await import('./lib.mjs'); two": "2",
    "await import('esm').then((m) => m.name)": "'esm'",
    "const f = () => import('./lib.mjs'); (await f()).default": "'standard'",
    "require('./plain.cjs').value": "5",
    "require('pack').name": "'pack'",
    "require('./data.json')": "{ key: 'value' }",
    "typeof require.resolve('pack')": "'string'",
    "typeof require.cache": "'object'",
    "'import x from \"y\"'": "'import x from \"y\"'",
    "`import x from 'y'`": "\"import x from 'y'\"",
    "// import x from 'y'\n5": "5",
    "/* \nimport x from 'y'\n*/ 6": "6",
    "({import: 7}).import": "7",
    "const o = {import(x) { return x }}; o.import(8)": "8",
    "/import x/.test('import x')": "true",
    "import.meta.dirname === process.cwd()": "true",
    "import.meta.url.endsWith('cell.mjs')": "true",
    "`${(await import('./lib.mjs')).one}`": "'1'",
    "import os from 'os';import path from 'path'; typeof path.join": "'function'",
    "let a1 = 1; import { one as b1 } from './lib.mjs'; a1 + b1": "2",
}


def test_modules(javascript, modules):
    for code, value in IMPORTS.items():
        outcome = javascript.run(code)
        assert outcome.status == "ok" and outcome.value == value, (code, outcome)
        assert "Warning" not in outcome.text, outcome


def test_a_changed_file_is_imported_anew(javascript, tmp_path):
    (tmp_path / "m.mjs").write_text("export const v = 1")
    assert javascript.value("import { v } from './m.mjs'; v") == "1"
    (tmp_path / "m.mjs").write_text("export const v = 2")
    os.utime(tmp_path / "m.mjs", (1, 1))
    assert javascript.value("import { v } from './m.mjs'; v") == "2"


def test_modules_are_found_from_the_folder_of_the_cell(javascript, tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "m.cjs").write_text("module.exports = 'sub'")
    assert javascript.error("require('./m.cjs')")["name"] == "Error"
    javascript.ok("%cd sub")
    assert javascript.value("require('./m.cjs')") == "'sub'"


def test_an_import_keeps_line_numbers(javascript, modules):
    trace = javascript.error("import {\n  one,\n} from './lib.mjs'\nthrow new Error('here')")[
        "traceback"
    ]
    assert "cell-1.js:4" in trace


# --- magics ---


def test_npm(javascript, tmp_path):
    (tmp_path / "package.json").write_text('{"name": "x", "version": "1.0.0"}')
    (tmp_path / "local-pack").mkdir()
    (tmp_path / "local-pack" / "package.json").write_text(
        '{"name": "local-pack", "version": "1.0.0"}'
    )
    (tmp_path / "local-pack" / "index.js").write_text("module.exports = 'installed'")
    assert javascript.error("require('local-pack')")["name"] == "Error"
    assert javascript.error("import p from 'local-pack'")["name"] == "Error"
    javascript.ok("%npm install --offline --no-audit --no-fund ./local-pack")
    assert javascript.value("require('local-pack')") == "'installed'"
    assert javascript.value("import p from 'local-pack'; p") == "'installed'"
    assert "ended with" in javascript.error("%npm no-such-command")["message"]


def test_magics(javascript, tmp_path):
    (tmp_path / "sub").mkdir()
    assert javascript.text("%cd sub") == f"{tmp_path}/sub\n"
    assert javascript.text("%cd -\n%ls\n") == f"{tmp_path}\nsub\n"
    assert javascript.value("%pwd") == repr(str(tmp_path))
    assert javascript.value("%env WB_TEST=5\nprocess.env.WB_TEST") == "'5'"
    assert javascript.value("`\n%cd /\n`") == "'\\n%cd /\\n'"
    assert javascript.value("[10\n%ls_(3)]; function ls_(x) { return x }") in ("[ 1 ]", None)


# --- the bridge ---


def test_the_ways_to_call_a_tool(javascript):
    javascript.answers["add"] = lambda args: args["a"] + args["b"]
    assert javascript.value("await tool('add', {a: 1, b: 2})") == "3"
    assert javascript.value("tool('add', {a: 1, b: 2})") == "3"
    assert javascript.value("tool.sync('add', {a: 1, b: 2})") == "3"
    assert javascript.value("await tool.add({a: 1, b: 2})") == "3"
    assert javascript.value("const s = await tool.add({a: 1, b: 2}); s * 2") == "6"
    code = "await Promise.all([...Array(50).keys()].map((i) => tool('add', {a: i, b: i})))"
    assert javascript.value(f"({code.replace('await ', 'await ')}).join()") == repr(
        ",".join(str(2 * i) for i in range(50))
    )
    assert javascript.value("tool('add', {a: 1, b: 2}).then((x) => x + 1)") == "4"
    assert (
        javascript.value("[tool.sync('add', {a: 1, b: 2}), await tool.add({a: 2, b: 2})].join()")
        == "'3,4'"
    )


def test_sync_among_others(javascript):
    """The answers of others that come while one waits are not lost."""
    order = []

    def answer(args):
        order.append(args["i"])
        if len(order) == 3:
            for number in (1, 2, 3):
                javascript.succeed(number, order[number - 1])
        return Kernel.NOT_YET

    javascript.answers["later"] = answer
    code = "const a = tool('later', {i: 1}); const b = tool('later', {i: 2}); const c = tool.sync('later', {i: 3}); [await a, await b, c].join()"
    assert javascript.value(code) == "'1,2,3'"


def test_a_tools_error(javascript):
    code = "let e; try { await tool('raed', {}) } catch (error) { e = error }; [e.name, e.tool, e.kind, e.message].join()"
    assert javascript.value(code) == "'ToolError,raed,not_found,there is no tool raed'"
    assert javascript.error("tool.sync('raed')")["message"] == "there is no tool raed"
    assert javascript.error("await tool('raed')")["name"] == "ToolError"


@pytest.mark.parametrize(
    "use",
    [
        "'' + tool('x')",
        "`${tool('x')}`",
        "JSON.stringify(tool('x'))",
        "tool('x').split('\\n')",
        "const t = tool('x'); t.length",
    ],
)
def test_a_forgotten_await_is_told(javascript, use):
    javascript.answers["x"] = lambda _args: "text"
    assert "did you forget await?" in javascript.error(use)["message"]
    assert javascript.value("await tool('x')") == "'text'"


@pytest.mark.parametrize(
    "args, part",
    [
        ("{a: NaN}", "NaN"),
        ("{a: 10n}", "BigInt"),
        ("{a: () => 1}", "function"),
        ("5", "object"),
        ("[1]", "object"),
        ("null", "object"),
        ("{a: 'x'.repeat(17 << 20)}", "16 MiB"),
        ("(() => { const c = {}; c.c = c; return c })()", "circular"),
    ],
)
def test_arguments_that_json_cannot_carry(javascript, args, part):
    outcome = javascript.run(f"await tool('x', {args})")
    assert outcome.error["name"] == "TypeError" and part in outcome.error["message"], outcome
    assert outcome.calls == []


def test_large_arguments_and_results(javascript):
    javascript.answers["echo"] = lambda args: args["a"]
    assert javascript.value("(await tool('echo', {a: 'x'.repeat(10 << 20)})).length") == str(
        10 << 20
    )
    assert javascript.value("tool.sync('echo', {a: '\\ud800ä'})") == "'\ufffdä'"


def test_an_interrupt_cancels_calls(javascript):
    javascript.answers["slow"] = lambda _args: Kernel.NOT_YET
    for code in (
        "await tool('slow')",
        "tool.sync('slow')",
        "await Promise.all([tool('slow'), tool('slow')])",
    ):
        javascript.begin(code)
        javascript.wait_for(lambda: len(javascript.outcome.calls) == code.count("slow"))
        javascript.interrupt()
        outcome = javascript.finish(20)
        assert outcome.status == "interrupted" and len(outcome.cancelled) == code.count("slow")
    javascript.begin("40 + 2")
    javascript.succeed(1, "late")
    assert javascript.finish().value == "42"


def test_calls_that_nobody_awaits_are_done_before_the_cell_ends(javascript):
    javascript.answers["note"] = lambda args: args
    outcome = javascript.ok("tool('note', {i: 1}); tool('note', {i: 2}); 5")
    assert len(outcome.calls) == 2 and outcome.value == "5" and outcome.cancelled == []


def test_a_call_after_the_cell(javascript):
    javascript.ok("setTimeout(() => tool('x').catch((e) => console.log(e.kind)), 50); 1")
    javascript.background("no_cell")


# --- processes ---


def test_a_forked_node_is_no_second_kernel(javascript, tmp_path):
    (tmp_path / "child.cjs").write_text(
        "process.on('message', (m) => { process.send(m + 1); process.disconnect() })"
    )
    code = """\
        const child = require('child_process').fork('./child.cjs')
        child.send(4)
        await new Promise((done) => child.on('message', done))
        """
    assert javascript.value(code) == "5"
    (tmp_path / "says.cjs").write_text("console.log('child says', process.argv.length)")
    code = "await new Promise((done) => require('child_process').fork('./says.cjs', ['a']).on('exit', done))"
    outcome = javascript.ok(code)
    assert outcome.text == "child says 3\n" and outcome.value == "0"


def test_workers(javascript):
    code = """\
        const { Worker } = require('worker_threads')
        await new Promise((done) => new Worker('require("worker_threads").parentPort.postMessage(6)', {eval: true}).on('message', done))
        """
    assert javascript.value(code) == "6"


def test_async_local_storage(javascript):
    code = """\
        const { AsyncLocalStorage } = require('async_hooks')
        const storage = new AsyncLocalStorage()
        await storage.run('mine', async () => { await null; return storage.getStore() })
        """
    assert javascript.value(code) == "'mine'"


def test_the_end_of_the_host_ends_a_busy_kernel(javascript):
    javascript.begin(
        "require('child_process').spawn('sleep', ['300']); console.log('ready'); while (true) {}"
    )
    javascript.printed("ready")
    javascript.process.stdin.close()
    javascript.process.wait(20)
    javascript.ended = True


def test_the_end_in_order(javascript):
    javascript.ok("setInterval(() => {}, 1000); 1")
    assert javascript.close() == 0
