"""The scripted debug adapter's protocol side. The switches are in ../README.md."""

import os
import signal
import subprocess
import sys
import threading
import time

from . import wire
from .steps import Program

# Who answers launch when: (initialized comes, launch is answered).
ORDERS = {
    "early": ("initialize", "configured"),  # js-debug, Dart
    "launch_first": ("launch", "before"),  # lldb-dap up to 19
    "launch_last": ("launch", "configured"),  # debugpy, lldb-dap 22
    "launch_behind": ("launch", "after"),  # delve
}

STEPPING = ("next", "stepIn", "stepOut")


class Adapter:
    def __init__(self, scenario, journal, stream, writer, root=None):
        self.scenario = scenario
        self.root = root  # of a child session: the adapter's first connection
        self.journal = journal
        self.stream = stream
        self.writer = writer
        self.seq = 0
        self.lock = threading.RLock()
        self.program = None
        self.debuggee = None
        self.breakpoints = {}
        self.state = "idle"  # idle, running, stopped, ended
        self.pause_wanted = False
        self.configured = False
        self.launch = None
        self.verified = []

    # --- messages ---

    def next_seq(self):
        with self.lock:
            self.seq += 1
            return self.seq

    def send(self, kind, **fields):
        seq = self.scenario.get("seq", self.next_seq())
        try:
            self.writer.send({"seq": seq, "type": kind, **fields})
        except OSError:
            pass  # the client is gone; the end of the input says so

    def event(self, name, body=None):
        if name not in self.scenario.get("withhold", []):
            self.send("event", event=name, **({} if body is None else {"body": body}))

    def answer(self, request, body=None, error=None):
        command = request["command"]
        time.sleep(self.scenario.get("late_ms", {}).get(command, 0) / 1000)
        for name, event in self.scenario.get("events_on", {}).get(command, []):
            self.event(name, event)
        body = self.scenario.get("bodies", {}).get(command, body)
        if command in self.scenario.get("never_answer", []):
            return
        message = {
            "request_seq": request["seq"] + self.scenario.get("request_seq_off", 0),
            "command": "" if self.scenario.get("empty_command") else command,
            "success": error is None,
        }
        if error is not None:
            message.update(self.error_fields(error))
        elif body is not None:
            message["body"] = body
        twice = self.scenario.get("answer_twice", [])
        for _ in range(2 if command in twice or "*" in twice else 1):
            self.send("response", **message)

    def error_fields(self, text):
        """The text of an error stands in different places."""
        where = self.scenario.get("error_in", "message")
        detail = {"error": {"id": 1, "format": text}}
        if where == "message":
            return {"message": text}
        if where == "body":
            return {"message": None, "body": detail}
        return {"message": "Failed", "body": detail}

    def violation(self, what):
        self.journal.write("violation", text=what)

    # --- the loop ---

    def run(self):
        while True:
            try:
                message = wire.read_message(self.stream)
            except ValueError as error:
                self.violation(str(error))
                message = None
            if message is None:
                self.journal.write("stop", reason="end of input")
                if self.scenario.get("ignore_end_of_input"):
                    while True:
                        time.sleep(3600)
                return self.kill_debuggee()
            self.journal.write("received", message=message, child=self.root is not None)
            if message.get("type") == "request":
                self.take_request(message)

    def take_request(self, request):
        command = request["command"]
        if command == self.scenario.get("crash_on"):
            self.journal.write("stop", reason="crash")
            if "crash_status" in self.scenario:
                os._exit(self.scenario["crash_status"])
            os.kill(os.getpid(), self.scenario.get("crash_signal", signal.SIGKILL))
        corrupt = self.scenario.get("corrupt", {}).get(command)
        if corrupt:
            self.writer.write_bytes(wire.corrupt_frame(corrupt, b'{"seq":1,"type":"event"}'))
            if corrupt.startswith("eof"):
                os._exit(0)
        errors = self.scenario.get("errors", {})
        if command in errors:
            return self.answer(request, error=errors[command])
        handler = getattr(self, "on_" + command, None)
        if handler is None:
            return self.answer(request, error=f"unknown request {command}")
        handler(request, request.get("arguments") or {})

    # --- start ---

    def order(self):
        return ORDERS[self.scenario.get("order", "launch_last")]

    def on_initialize(self, request, _arguments):
        capabilities = {
            "supportsConfigurationDoneRequest": True,
            "supportsConditionalBreakpoints": True,
            "supportsSetVariable": True,
            "supportTerminateDebuggee": True,
            "exceptionBreakpointFilters": [
                {"filter": "uncaught", "label": "Uncaught", "default": True},
                {"filter": "all", "label": "All"},
            ],
        }
        for name in self.scenario.get("missing_capabilities", []):
            capabilities.pop(name, None)
        capabilities.update(self.scenario.get("capabilities", {}))
        self.answer(request, capabilities)
        if self.order()[0] == "initialize":
            self.send_initialized()

    def send_initialized(self):
        for _ in range(self.scenario.get("initialized_times", 1)):
            self.event("initialized")

    def on_launch(self, request, arguments):
        self.launch = request
        path = arguments.get("program", "")
        if not os.path.isfile(path) and "program" in arguments:
            return self.answer(request, error=f"no such program: {path}")
        for name, body in self.scenario.get("events_at_launch", []):
            self.event(name, body)
        self.ask_at_launch()
        self.start_debuggee()
        if path:
            self.program = Program(path)
        if self.scenario.get("flood_forever"):
            threading.Thread(target=self.flood, daemon=True).start()
        if self.order()[1] == "before":
            self.answer(request)
        if self.order()[0] == "launch":
            self.send_initialized()
        if self.order()[1] == "after":
            self.answer(request)

    on_attach = on_launch

    def ask_at_launch(self):
        if self.scenario.get("run_in_terminal"):
            body = {"cwd": "/", "args": ["true"], "kind": "integrated"}
            self.send("request", command="runInTerminal", arguments=body)
        for number in range(self.scenario.get("start_debugging", 0)):
            configuration = {**self.launch["arguments"], "__child": number}
            body = {"request": "launch", "configuration": configuration}
            self.send("request", command="startDebugging", arguments=body)

    def flood(self):
        """Output without end, whatever else is said."""
        while True:
            self.event("output", {"category": "stdout", "output": "flood\n" * 100})

    def start_debuggee(self):
        """A real process in a group of its own, as real adapters keep theirs."""
        if self.scenario.get("debuggee", True) and not self.scenario.get("start_debugging"):
            self.debuggee = subprocess.Popen(["sleep", "600"], process_group=0)
            self.journal.write("debuggee", debuggee=self.debuggee.pid)
            self.event("process", {"name": "steps", "systemProcessId": self.debuggee.pid})

    def on_configurationDone(self, request, _arguments):
        if self.launch is None:
            self.violation("configurationDone before launch")
        self.configured = True
        self.answer(request)
        if "capabilities_event" in self.scenario:
            self.event("capabilities", {"capabilities": self.scenario["capabilities_event"]})
        if self.order()[1] == "configured":
            self.answer(self.launch)
        self.verify_late()
        if not self.scenario.get("start_debugging"):
            self.start(None)

    # --- breakpoints ---

    def on_setBreakpoints(self, request, arguments):
        if self.launch is None:
            self.violation("setBreakpoints before launch")
        path = arguments["source"]["path"]
        wanted = arguments.get("breakpoints", [])
        found = [self.place(path, one) for one in wanted]
        self.breakpoints[path] = {one["line"] for one in found if one["verified"]}
        if self.scenario.get("verify_late") and self.state == "idle":
            self.verified += found
            found = [{**one, "verified": False} for one in found]
        self.answer(request, {"breakpoints": found})

    def place(self, path, wanted):
        line = wanted["line"]
        if line in self.scenario.get("refuse_lines", []):
            return {"id": line, "verified": False, "line": line, "message": "no code there"}
        if self.program is not None and path == self.program.path:
            line = self.program.first_step_from(line)
        if line is None:
            return {"id": wanted["line"], "verified": False, "message": "behind the file's end"}
        return {"id": wanted["line"], "verified": True, "line": line}

    def verify_late(self):
        """As Dart does: breakpoints are verified when the program has loaded its code."""
        for one in self.verified:
            self.event("breakpoint", {"reason": "changed", "breakpoint": one})
        self.verified = []

    def on_setExceptionBreakpoints(self, request, _arguments):
        self.answer(request, {})

    def on_setFunctionBreakpoints(self, request, arguments):
        found = [{"verified": True} for _ in arguments["breakpoints"]]
        self.answer(request, {"breakpoints": found})

    # --- moving ---

    def start(self, mode):
        """Lets the program run on a thread: to a stop, or for one step."""
        self.state = "running"
        self.pause_wanted = False
        threading.Thread(target=self.execute, args=(mode,), daemon=True).start()

    def execute(self, mode):
        if self.program is None:
            return
        depth = len(self.program.frames)
        first = True
        while True:
            line = self.program.next
            if self.pause_wanted:
                return self.stop("pause")
            is_moving = first and mode is not None
            if not is_moving and self.is_hit(line):
                return self.stop("breakpoint", hitBreakpointIds=[line])
            first = False
            what, operand = self.program.step()
            if what == "exit":
                return self.end(operand)
            if what == "throw":
                return self.stop("exception", text=operand, description=operand)
            if what == "spin":
                time.sleep(0.01)
            else:
                self.put(what, operand)
            if mode in STEPPING and self.is_step_done(mode, depth):
                return self.stop("step")

    def is_hit(self, line):
        return line in self.breakpoints.get(self.program.path, ())

    def is_step_done(self, mode, depth):
        now = len(self.program.frames)
        return mode == "stepIn" or (now <= depth if mode == "next" else now < depth)

    def put(self, what, operand):
        if what == "print":
            self.event("output", {"category": "stdout", "output": operand + "\n"})
        elif what == "error":
            self.event("output", {"category": "stderr", "output": operand + "\n"})
        elif what == "flood":
            line = "a line of the flood, one of very many\n"
            for _ in range(int(operand) // len(line) // 1000):
                self.event("output", {"category": "stdout", "output": line * 1000})

    def stop(self, reason, **fields):
        self.state = "stopped"
        body = {"reason": reason, "threadId": 1, "allThreadsStopped": True, **fields}
        for name in self.scenario.get("stop_lacks", []):
            body.pop(name, None)
        body.update(self.scenario.get("stop_says", {}))
        for _ in range(self.scenario.get("stopped_times", 1)):
            self.event("stopped", body)

    def end(self, status):
        self.state = "ended"
        self.kill_debuggee()
        self.event("exited", {"exitCode": status})
        for _ in range(self.scenario.get("terminated_times", 1)):
            self.event("terminated")
        if self.scenario.get("exit_at_end"):
            os._exit(0)

    def kill_debuggee(self):
        if self.debuggee is not None and self.launch["command"] == "launch":
            self.debuggee.kill()
            self.debuggee.wait()
            self.debuggee = None

    def move(self, request, mode, body=None):
        if self.state != "stopped":
            return self.answer(request, error="the program is not stopped")
        if self.scenario.get("stop_before_answer"):
            self.execute(mode)
            return self.answer(request, body)
        self.answer(request, body)
        self.start(mode)

    def on_continue(self, request, _arguments):
        self.move(request, "continue", {"allThreadsContinued": True})

    def on_next(self, request, _arguments):
        self.move(request, "next")

    def on_stepIn(self, request, _arguments):
        self.move(request, "stepIn")

    def on_stepOut(self, request, _arguments):
        self.move(request, "stepOut")

    def on_pause(self, request, _arguments):
        self.pause_wanted = True
        self.answer(request)

    # --- looking ---

    def on_threads(self, request, _arguments):
        self.answer(request, {"threads": [{"id": 1, "name": "main"}]})

    def on_stackTrace(self, request, _arguments):
        frames = [
            {
                "id": index,
                "name": frame.name,
                "line": frame.line,
                "column": 1,
                "source": {"path": self.program.path},
            }
            for index, frame in enumerate(reversed(self.program.frames))
        ]
        padding = self.scenario.get("pad_stack_bytes", 0)
        if padding:
            frames[0]["padding"] = "x" * padding
        self.answer(request, {"stackFrames": frames, "totalFrames": len(frames)})

    def on_scopes(self, request, arguments):
        """As lldb-dap does: one reference for the locals of whatever frame was asked for last."""
        self.frame = self.program.frames[-1 - arguments["frameId"]]
        body = {"scopes": [{"name": "Locals", "variablesReference": 1, "expensive": False}]}
        self.answer(request, body)

    def on_variables(self, request, arguments):
        if arguments["variablesReference"] != 1:
            return self.answer(request, {"variables": []})
        variables = [
            {
                "name": name,
                "value": str(value),
                "type": type(value).__name__,
                "variablesReference": 0,
            }
            for name, value in self.frame.variables.items()
        ]
        self.answer(request, {"variables": variables})

    def on_evaluate(self, request, arguments):
        frame = self.program.frames[-1 - arguments.get("frameId", 0)]
        name = arguments["expression"]
        if name not in frame.variables:
            return self.answer(request, error=f"{name} is not defined")
        self.answer(request, {"result": str(frame.variables[name]), "variablesReference": 0})

    def on_setVariable(self, request, arguments):
        self.frame.variables[arguments["name"]] = arguments["value"]
        self.answer(request, {"value": arguments["value"]})

    # --- the end ---

    def on_terminate(self, request, _arguments):
        self.answer(request)
        self.end(0)

    def on_disconnect(self, request, arguments):
        if self.scenario.get("ignore_disconnect"):
            return
        if arguments.get("terminateDebuggee", self.launch and self.launch["command"] == "launch"):
            self.kill_debuggee()
        self.answer(request)
        if self.root is not None:
            if self.state == "ended" and self.scenario.get("root_tells_end", True):
                self.root.event("terminated")
        elif self.scenario.get("exit_after_disconnect", True):
            self.journal.write("stop", reason="disconnect")
            sys.stdout.flush()
            os._exit(self.scenario.get("exit_status", 0))
