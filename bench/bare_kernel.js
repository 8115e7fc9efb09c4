/* The least that a Node.js child with JSON lines can be: a cell in, its value out, by the inspector's
 * REPL mode if the argument is "inspector", else by vm. A call of `tool` is a line out, a line in. */
"use strict";
const inspector = require("node:inspector");
const vm = require("node:vm");

const put = (value) => process.stdout.write(JSON.stringify(value) + "\n");
const session = new inspector.Session();
let settle = null;

globalThis.tool = (name, args = {}) =>
    new Promise((resolve) => {
        settle = resolve;
        put({ tool: name, args });
    });

const byInspector = (code) =>
    new Promise((resolve) =>
        session.post(
            "Runtime.evaluate",
            { expression: code, replMode: true, awaitPromise: true },
            (_error, reply) => resolve(reply.result.value),
        ),
    );
const byVm = async (code) => vm.runInThisContext(code);
const evaluate = process.argv[2] === "inspector" ? (session.connect(), byInspector) : byVm;

let rest = "";
process.stdin.setEncoding("utf8").on("data", async (text) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop();
    for (const line of lines) {
        const message = JSON.parse(line);
        if ("code" in message) {
            evaluate(message.code).then((value) => put({ value: String(value) }));
        } else {
            settle(message.data);
        }
    }
});
