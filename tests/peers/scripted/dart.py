"""The scripted adapter as `dart debug_adapter [--test]` is documented to be, since no Dart SDK can
be had for tests. What it follows: the adapter's page in the SDK (launch and attach arguments,
custom events, format specifiers) and the way of its messages:

- `initialized` comes right behind the answer to `initialize`; a launch waits for configurationDone,
  starts the program and is answered before the debugger is connected to it;
- breakpoints are unverified with an id, and verified by events once the VM has resolved them;
- a `stopped` event has a reason, the isolate's thread, and for an exception its text; nothing else;
- frame ids and references count up and die when the isolate goes on; stacks have frames of the
  SDK and gaps between asynchronous parts;
- there is no `exited` and no `process` event: the end is "Exited (3)." on the console, `terminated`;
- an error's text is its `message`; the body is a stack trace, as text;
- the test adapter passes on package:test's own messages, and says them in words too.
"""

import json
import os
import re
import subprocess
import threading

from .adapter import Adapter
from .steps import Program

# What may be asked of a launch and of an attach, and its type.
COMMON = {
    "debugExternalPackageLibraries": bool,
    "debugSdkLibraries": bool,
    "showGettersInDebugViews": bool,
    "evaluateGettersInDebugViews": bool,
    "evaluateToStringInDebugViews": bool,
    "sendLogsToClient": bool,
    "vmServicePort": int,
    "additionalProjectPaths": list,
    "cwd": str,
    "env": dict,
    "sendCustomProgressEvents": bool,
    "allowAnsiColorOutput": bool,
}
LAUNCH = {
    **COMMON,
    "noDebug": bool,
    "program": str,
    "args": list,
    "toolArgs": list,
    "vmAdditionalArgs": list,
    "console": str,
    "customTool": str,
    "customToolReplacesArgs": int,
}
ATTACH = {**COMMON, "vmServiceInfoFile": str, "vmServiceUri": str}

STACK = "#0      DartDebugAdapter.handle (package:dds/src/dap/base_debug_adapter.dart:150:7)\n"


class DartAdapter(Adapter):
    def __init__(self, scenario, journal, stream, writer, is_test):
        super().__init__({"order": "early", **scenario}, journal, stream, writer)
        self.is_test = is_test
        self.stored = {}  # ids of this pause
        self.next_id = 1
        self.wanted = {}  # path to the breakpoints asked for, with our ids
        self.thrown = None

    def error_fields(self, text):
        return {"message": text, "body": STACK}

    def console(self, text):
        self.event("output", {"output": text + "\n"})

    def store(self, value):
        self.next_id += 1
        self.stored[self.next_id] = value
        return self.next_id

    # --- start ---

    def on_initialize(self, request, _arguments):
        capabilities = {
            "exceptionBreakpointFilters": [
                {"filter": "All", "label": "All Exceptions", "default": False},
                {"filter": "Unhandled", "label": "Uncaught Exceptions", "default": True},
            ],
            "supportsClipboardContext": True,
            "supportsConditionalBreakpoints": True,
            "supportsConfigurationDoneRequest": True,
            "supportsDelayedStackTraceLoading": True,
            "supportsEvaluateForHovers": True,
            "supportsLogPoints": True,
            "supportsRestartFrame": True,
            "supportsRestartRequest": False,
            "supportsTerminateRequest": True,
            "supportsValueFormattingOptions": True,
        }
        self.answer(request, capabilities)
        self.event("initialized")

    def check(self, arguments, known):
        for name, value in arguments.items():
            if not isinstance(value, known.get(name, ())):
                self.violation(f"argument {name}: {value!r}")

    def on_launch(self, request, arguments):
        self.check(arguments, LAUNCH)
        self.launch = request

    def on_attach(self, request, arguments):
        self.check(arguments, ATTACH)
        if ("vmServiceUri" in arguments) == ("vmServiceInfoFile" in arguments):
            self.violation("an attach takes one of vmServiceUri and vmServiceInfoFile")
        self.launch = request

    def on_configurationDone(self, request, _arguments):
        if self.launch is None:
            self.violation("configurationDone before launch")
        self.answer(request)
        threading.Thread(target=self.begin, daemon=True).start()

    def begin(self):
        arguments = self.launch["arguments"]
        is_attach = self.launch["command"] == "attach"
        uri = arguments.get("vmServiceUri", "ws://127.0.0.1:8181/uH7ZPKx5ZQA=/ws")
        if not is_attach:
            self.debuggee = subprocess.Popen(["sleep", "600"], process_group=0)
            self.journal.write("debuggee", debuggee=self.debuggee.pid)
        self.answer(self.launch)
        if not is_attach and not os.path.isfile(arguments["program"]):
            self.put("error", f"Error: Error when reading '{arguments['program']}'")
            return self.end(254)
        self.console(f"Connecting to VM Service at {uri}")
        if is_attach and "auth" in self.scenario and self.scenario["auth"] not in uri:
            self.console(f"Failed to connect/initialize debugger for {uri}:\nWebSocketException")
            return self.finish("")
        self.program = Program(self.scenario.get("target") or arguments["program"])
        self.event("dart.debuggerUris", {"vmServiceUri": uri})
        self.event("dart.serviceRegistered", {"service": "Extension", "method": "s0.reloadSources"})
        self.event("thread", {"reason": "started", "threadId": 1})
        for path in self.wanted:
            self.resolve(path)
        extension = {"extensionRPC": "ext.dart.io.getVersion", "isolateId": "isolates/1"}
        self.event("dart.serviceExtensionAdded", extension)
        if arguments.get("sendLogsToClient"):
            self.event("dart.log", {"message": "<== getVM"})
        if self.is_test:
            self.tell_test("testStart", test={"id": 1, "name": "adds"})
        if is_attach:
            self.state = "stopped"
            return self.stop("entry")
        self.start(None)

    # --- breakpoints ---

    def on_setBreakpoints(self, request, arguments):
        path = arguments["source"]["path"]
        self.wanted[path] = [(self.store(None), one) for one in arguments.get("breakpoints", [])]
        found = [{"id": number, "verified": False} for number, _ in self.wanted[path]]
        self.answer(request, {"breakpoints": found})
        if self.program is not None:
            self.resolve(path)

    def resolve(self, path):
        """As the VM does when it has loaded the file: to the next line with code."""
        lines = self.breakpoints[path] = {}
        for number, wanted in self.wanted[path]:
            line = self.program.first_step_from(wanted["line"])
            if path == self.program.path and line is not None:
                lines[line] = wanted
                found = {"id": number, "verified": True, "line": line, "column": 3}
                self.event("breakpoint", {"reason": "changed", "breakpoint": found})

    def is_hit(self, line):
        """The VM's breakpoint stops; whether the client hears of it is decided here."""
        wanted = self.breakpoints.get(self.program.path, {}).get(line)
        if wanted is None:
            return False
        if wanted.get("logMessage"):
            text = re.sub(r"\{(\w+)\}", self.value_in_text, wanted["logMessage"])
            self.console(text)
            return False
        return not wanted.get("condition") or self.holds(wanted["condition"])

    def value_in_text(self, match):
        return str(self.program.frames[-1].variables.get(match.group(1), match.group(0)))

    def holds(self, condition):
        name, _, value = condition.partition(" == ")
        variables = self.program.frames[-1].variables
        if name not in variables:
            what = f"Undefined name '{name}'."
            self.console(f'Debugger failed to evaluate breakpoint condition "{condition}": {what}')
            return False
        return str(variables[name]) == value

    # --- moving ---

    def stop(self, reason, **fields):
        self.state = "stopped"
        self.thrown = fields.get("text") if reason == "exception" else None
        body = {"reason": reason, "threadId": 1}
        if self.thrown is not None:
            body["text"] = f"Exception: {self.thrown}"
        self.event("stopped", body)

    def move(self, request, mode, body=None):
        if self.state != "stopped":
            return self.answer(request, error="Bad state: Thread 1 is not paused")
        self.stored = {}
        if self.thrown is not None:
            self.answer(request, body)
            self.put("error", f"Unhandled exception:\nException: {self.thrown}\n#0      main")
            return self.end(255)
        super().move(request, mode, body)

    def on_continue(self, request, _arguments):
        self.move(request, "continue", {"allThreadsContinued": False})

    def end(self, status):
        if self.is_test:
            self.tell_test("testDone", testID=1, result="success" if status == 0 else "failure")
            self.tell_test("done", success=status == 0)
        self.event("thread", {"reason": "exited", "threadId": 1})
        self.finish("" if status == 0 else f" ({status})")

    def finish(self, suffix, word="Exited"):
        if self.state == "ended":
            return
        self.state = "ended"
        self.kill_debuggee()
        self.console(f"\n{word}{suffix}.")
        self.event("terminated", {})

    def put(self, what, operand):
        if self.is_test and what == "print":
            return self.tell_test("print", testID=1, message=operand)
        super().put(what, operand)

    def tell_test(self, kind, **fields):
        """A message of package:test, and its words."""
        self.event("dart.testNotification", {"type": kind, "time": 7, **fields})
        if kind == "print":
            self.event("output", {"category": "stdout", "output": fields["message"] + "\n"})
        if kind == "testDone":
            mark = "\u2713" if fields["result"] == "success" else "\u2716"
            self.event("output", {"category": "console", "output": f"{mark} adds\n"})

    # --- looking ---

    def on_stackTrace(self, request, arguments):
        if arguments["threadId"] != 1:
            return self.answer(request, error=f"Thread {arguments['threadId']} was not found")
        if self.state != "stopped":
            return self.answer(request, error="Thread 1 is not paused")
        frames = [
            {
                "id": self.store(("frame", frame)),
                "name": frame.name,
                "source": {"name": os.path.basename(self.program.path), "path": self.program.path},
                "line": frame.line,
                "column": 3,
                "canRestart": index > 0,
            }
            for index, frame in enumerate(reversed(self.program.frames))
        ]
        gap = {"name": "<asynchronous gap>", "presentationHint": "label", "line": 0, "column": 0}
        sdk = {
            "name": "dart:isolate-patch/isolate_patch.dart",
            "sourceReference": self.store(("script", None)),
            "origin": "from the SDK",
            "presentationHint": "deemphasize",
        }
        frames += [
            {"id": self.store(("gap", None)), **gap},
            {"id": self.store(("sdk", None)), "name": "_startIsolate", "line": 283, "column": 19},
        ]
        frames[-1]["source"] = sdk
        levels = arguments.get("levels") or len(frames)
        start = arguments.get("startFrame", 0)
        total = len(frames) if start + levels >= len(frames) else start + levels + 20
        shown = frames[start : start + levels]
        self.answer(request, {"stackFrames": shown, "totalFrames": total})

    def on_scopes(self, request, arguments):
        kind, frame = self.stored.get(arguments["frameId"], (None, None))
        scopes = []
        if kind == "frame":
            for name in ("Locals", "Globals"):
                reference = self.store((name, frame))
                scope = {"name": name, "presentationHint": name.lower(), "expensive": False}
                scopes.append({**scope, "variablesReference": reference})
            if self.thrown is not None:
                reference = self.store(("exception", None))
                scope = {"name": "Exceptions", "expensive": False}
                scopes.append({**scope, "variablesReference": reference})
        self.answer(request, {"scopes": scopes})

    def variable(self, name, value):
        shown = value if isinstance(value, int) else json.dumps(value)
        found = {"name": name, "evaluateName": name, "value": str(shown), "variablesReference": 0}
        if isinstance(value, str) and value.startswith("["):
            items = value.strip("[]").split(", ")
            found["value"] = f"List ({len(items)} items)"
            found["indexedVariables"] = len(items)
            found["variablesReference"] = self.store(("list", items))
        return found

    def on_variables(self, request, arguments):
        kind, data = self.stored.get(arguments["variablesReference"], (None, None))
        if kind is None:
            return self.answer(request, error="Bad state: variablesReference is no longer valid")
        found = []
        if kind == "Locals":
            found = [self.variable(name, data.variables[name]) for name in sorted(data.variables)]
        elif kind == "list":
            start = arguments.get("start") or 0
            end = start + (arguments.get("count") or len(data))
            found = [self.variable(f"[{n}]", int(data[n])) for n in range(len(data))[start:end]]
        self.answer(request, {"variables": found})

    def on_evaluate(self, request, arguments):
        kind, frame = self.stored.get(arguments.get("frameId"), (None, None))
        if kind != "frame":
            text = "Evaluation is only supported when the debugger is paused unless you have a Dart"
            return self.answer(request, error=text + " file active in the editor")
        expression, _, form = arguments["expression"].strip().rstrip(";").partition(",")
        if expression not in frame.variables:
            return self.answer(request, error=f"Undefined name '{expression}'.")
        found = self.variable(expression, frame.variables[expression])
        if form == "h":
            found["value"] = hex(frame.variables[expression])
        body = {"result": found["value"], "variablesReference": found["variablesReference"]}
        self.answer(request, body)

    # --- the end ---

    def on_terminate(self, request, _arguments):
        self.answer(request)
        self.finish("")

    def on_disconnect(self, request, _arguments):
        word = "Detached" if self.launch and self.launch["command"] == "attach" else "Exited"
        self.kill_debuggee()
        self.answer(request)
        self.finish("", word)
        # Not at once, so that the client can read it all.
        threading.Timer(0.5, os._exit, (0,)).start()
