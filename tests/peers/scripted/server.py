"""The scripted server: an honest little language server, bent by the scenario's switches.

A reader thread takes messages off the pipe; the main thread handles them one by one, so a handler
may wait for the client's answer to a request of its own. Delayed messages come from timers.
"""

import os
import queue
import signal
import sys
import threading

from . import wire
from .answers import Answers, RequestError
from .language import Document, Workspace, uri_to_path

CLIENT_ANSWER_SECONDS = 10
FIRST_OWN_ID = 1000

# Requests of the server that every client has to answer, each with parameters that are in order.
STANDARD_REQUESTS = [
    ["workspace/configuration", {"items": [{"section": "scripted"}, {"section": "nothing"}]}],
    ["workspace/workspaceFolders", None],
    ["window/workDoneProgress/create", {"token": "standard"}],
    [
        "client/registerCapability",
        {
            "registrations": [
                {
                    "id": "watch",
                    "method": "workspace/didChangeWatchedFiles",
                    "registerOptions": {"watchers": [{"globPattern": "**/*.scr"}]},
                }
            ]
        },
    ],
    ["window/showMessageRequest", {"type": 3, "message": "Go on?", "actions": [{"title": "Yes"}]}],
    ["window/showDocument", {"uri": "file:///nowhere.scr"}],
    ["workspace/applyEdit", {"edit": {"changes": {}}}],
    ["workspace/diagnostic/refresh", None],
    ["workspace/semanticTokens/refresh", None],
    ["scripted/unknownMethod", {"what": "is this"}],
]

# What a server that has not loaded its project answers.
EMPTY_WHILE_LOADING = {
    "textDocument/definition": [],
    "textDocument/typeDefinition": [],
    "textDocument/implementation": [],
    "textDocument/references": [],
    "textDocument/hover": None,
    "textDocument/documentSymbol": [],
    "workspace/symbol": [],
    "textDocument/codeAction": [],
    "textDocument/rename": None,
    "textDocument/prepareRename": None,
    "textDocument/diagnostic": {"kind": "full", "items": []},
}


class Server(Answers):
    def __init__(self, scenario, journal, stdin, writer):
        self.scenario = scenario
        self.journal = journal
        self.stdin = stdin
        self.writer = writer
        self.inbox = queue.Queue()
        self.workspace = Workspace()
        self.encoding = "utf-16"
        self.state = "started"
        self.requests = 0
        self.next_id = FIRST_OWN_ID
        self.waiting = {}
        self.lock = threading.Lock()
        self.errors = {method: dict(error) for method, error in scenario.get("errors", {}).items()}
        self.loading = False
        self.seen_ids = set()
        self.last_request_id = 0
        self.pull_on = bool(scenario.get("pull"))
        self.pulls_are_empty = "pull_refresh_ms" in scenario
        self.checks = 0
        self.check_runs = False
        self.changes = 0
        self.handlers = HANDLERS

    # --- the pipe ---

    def run(self):
        threading.Thread(target=self.read_all, daemon=True).start()
        while True:
            message = self.inbox.get()
            if message is None:
                self.at_end_of_input()
                return
            self.handle(message)

    def read_all(self):
        try:
            while True:
                message = wire.read_message(self.stdin)
                if message is None:
                    break
                self.journal.write("received", message=message)
                if "method" in message:
                    self.inbox.put(message)
                else:
                    self.take_answer(message)
        except ValueError as error:
            self.violation(f"unreadable input: {error}")
        self.inbox.put(None)

    def at_end_of_input(self):
        if self.scenario.get("ignore_end_of_input"):
            threading.Event().wait()
        if self.state != "exited":
            self.journal.write("stop", reason="end of input")

    def violation(self, text):
        self.journal.write("violation", text=text)

    def notify(self, method, params):
        self.writer.send({"jsonrpc": "2.0", "method": method, "params": params})

    def take_answer(self, message):
        if message.get("id") is None and "error" in message:
            # What JSON-RPC answers to something that is no message.
            self.journal.write("complaint", error=message["error"])
            return
        with self.lock:
            waiting = self.waiting.pop(message.get("id"), None)
        if waiting is None:
            self.violation(f"an answer to no request: {message.get('id')!r}")
            return
        waiting["message"] = message
        fields = {key: message[key] for key in ("result", "error") if key in message}
        self.journal.write("answered", method=waiting["method"], **fields)
        waiting["done"].set()

    def own_id(self):
        if self.scenario.get("colliding_ids"):
            # The id of the client's own request that is under way, or of its next one.
            candidate = self.last_request_id
            while candidate in self.waiting:
                candidate += 1
            return candidate
        self.next_id += 1
        return f"scripted-{self.next_id}" if self.scenario.get("string_ids") else self.next_id

    def send_request(self, method, params):
        waiting = {"method": method, "done": threading.Event(), "message": None}
        with self.lock:
            own_id = self.own_id()
            self.waiting[own_id] = waiting
        message = {"jsonrpc": "2.0", "id": own_id, "method": method}
        if params is not None:
            message["params"] = params
        self.writer.send(message)
        return waiting

    def ask(self, method, params):
        """Sends a request to the client and waits for the answer."""
        waiting = self.send_request(method, params)
        if not waiting["done"].wait(CLIENT_ANSWER_SECONDS):
            self.violation(f"no answer to {method}")
            return None
        return waiting["message"].get("result")

    def ask_all(self, requests):
        for method, params in STANDARD_REQUESTS if requests == "standard" else requests:
            self.ask(method, params)

    # --- one message ---

    def handle(self, message):
        method = message["method"]
        self.check_order(message)
        if "id" in message:
            self.handle_request(message)
        else:
            if self.scenario.get("crash_on") == method:
                self.crash()
            handler = NOTIFICATIONS.get(method)
            if handler:
                handler(self, message.get("params") or {})

    def check_order(self, message):
        method = message["method"]
        if message.get("jsonrpc") != "2.0":
            self.violation("a message without jsonrpc 2.0")
        if self.state == "started" and method not in ("initialize", "exit"):
            self.violation(f"{method} before initialize")
        if self.state == "initialized" and method not in (
            "initialized",
            "$/cancelRequest",
            "exit",
            "shutdown",
        ):
            self.violation(f"{method} before initialized")
        if self.state == "shut down" and method != "exit":
            self.violation(f"{method} after shutdown")
        if "id" in message:
            if message["id"] in self.seen_ids:
                self.violation(f"request id {message['id']!r} was used before")
            self.seen_ids.add(message["id"])
            if isinstance(message["id"], int):
                self.last_request_id = message["id"]

    def handle_request(self, message):
        method = message["method"]
        if method != "initialize":
            self.requests += 1
        if self.must_crash(method):
            self.crash()
        self.ask_all(self.scenario.get("requests_on", {}).get(method, []))
        self.progress_on(method)
        if method in self.scenario.get("never_answer", []):
            return
        reply = {"jsonrpc": "2.0", "id": message["id"]}
        try:
            reply["result"] = self.result_of(method, message.get("params") or {})
        except RequestError as error:
            reply["error"] = {"code": error.code, "message": str(error)}
            if error.data is not None:
                reply["error"]["data"] = error.data
        self.reply(method, reply)

    def must_crash(self, method):
        scenario = self.scenario
        if method == "initialize":
            return scenario.get("crash_during_initialize", False)
        if scenario.get("crash_on") == method:
            return True
        return "crash_after" in scenario and self.requests > scenario["crash_after"]

    def crash(self):
        sys.stderr.write(self.scenario.get("crash_stderr", ""))
        sys.stderr.flush()
        self.journal.write("stop", reason="crash")
        if "crash_signal" in self.scenario:
            os.kill(os.getpid(), self.scenario["crash_signal"])
        os._exit(self.scenario.get("crash_status", 1))

    def result_of(self, method, params):
        error = self.errors.get(method)
        if error and error.get("times", 1):
            if "times" in error:
                error["times"] -= 1
            raise RequestError(error["code"], error.get("message", "scripted"), error.get("data"))
        if method in self.scenario.get("results", {}):
            return self.scenario["results"][method]
        if self.loading and method in EMPTY_WHILE_LOADING:
            return EMPTY_WHILE_LOADING[method]
        handler = self.handlers.get(method)
        if handler is None:
            raise RequestError(-32601, f"method not found: {method}")
        result = handler(self, params)
        if method in self.scenario.get("big_reply", {}):
            result = {"contents": "x" * self.scenario["big_reply"][method]}
        return result

    def reply(self, method, reply):
        corrupt = self.scenario.get("corrupt", {}).get(method)
        late_ms = self.scenario.get("late_ms", {}).get(method, 0)

        def send():
            if corrupt:
                self.send_corrupt(corrupt, reply)
            else:
                self.writer.send(reply)

        if late_ms:
            later(late_ms, send)
        else:
            send()

    def send_corrupt(self, kind, reply):
        body = wire.json.dumps(reply).encode()
        self.writer.write_bytes(wire.corrupt_frame(kind, body))
        if kind.startswith("eof"):
            self.journal.write("stop", reason=kind)
            os._exit(0)

    # --- life ---

    def initialize(self, params):
        if self.state != "started":
            self.violation("initialize twice")
        self.workspace.root = uri_to_path(params.get("rootUri") or "file:///")
        self.ask_all(self.scenario.get("requests_during_initialize", []))
        self.state = "initialized"
        result = {
            "capabilities": self.capabilities(params.get("capabilities", {})),
            "serverInfo": {"name": "scripted", "version": "1.0"},
        }
        if self.encoding_choice() == "clangd":
            result["offsetEncoding"] = "utf-8"
        return result

    def encoding_choice(self):
        return self.scenario.get("position_encoding", "utf-8")

    def capabilities(self, client):
        sync = {
            "openClose": True,
            "change": self.scenario.get("sync_kind", 2),
            "save": {"includeText": self.scenario.get("save_include_text", False)},
        }
        offered = {
            "textDocumentSync": sync,
            "definitionProvider": True,
            "typeDefinitionProvider": True,
            "implementationProvider": True,
            "referencesProvider": True,
            "hoverProvider": True,
            "documentSymbolProvider": True,
            "workspaceSymbolProvider": True,
            "codeActionProvider": {"resolveProvider": True, "codeActionKinds": ["quickfix"]},
            "executeCommandProvider": {"commands": ["scripted.apply"]},
            "renameProvider": {"prepareProvider": True},
        }
        self.choose_encoding(client, offered)
        if self.pull_on and not self.scenario.get("dynamic_pull"):
            offered["diagnosticProvider"] = self.pull_options()
        for name in self.scenario.get("missing_capabilities", []):
            offered.pop(name, None)
        return offered

    def choose_encoding(self, client, offered):
        choice = self.encoding_choice()
        if choice == "clangd":
            if "utf-8" not in client.get("offsetEncoding", []):
                self.violation("clangd's offsetEncoding was not offered")
            self.encoding = "utf-8"
        elif choice != "none":
            general = client.get("general", {}).get("positionEncodings", [])
            if choice not in general:
                self.violation(f"position encoding {choice} was not offered")
            self.encoding = choice
            offered["positionEncoding"] = choice

    def pull_options(self):
        return {
            "identifier": "scripted",
            "interFileDependencies": self.scenario.get("inter_file_dependencies", False),
            "workspaceDiagnostics": False,
        }

    def initialized(self, _params):
        self.state = "running"
        if self.scenario.get("loading_ms"):
            self.loading = True
            later(self.scenario["loading_ms"], self.finish_loading)
        if self.scenario.get("server_status"):
            self.send_status()
        if self.scenario.get("dynamic_pull"):
            self.register_pull()
        if self.pulls_are_empty:
            later(self.scenario["pull_refresh_ms"], self.refresh_pulls)
        self.progress_on("initialized")
        self.ask_all(self.scenario.get("requests_after_initialized", []))

    def finish_loading(self):
        self.loading = False
        if self.scenario.get("loaded_log"):
            found = {"type": 3, "message": self.scenario["loaded_log"]}
            self.notify("window/logMessage", found)
        if self.scenario.get("server_status"):
            self.send_status()

    def send_status(self):
        status = {"health": "ok", "quiescent": not self.loading}
        self.notify("experimental/serverStatus", status)

    def register_pull(self):
        self.pull_on = True
        options = {**self.pull_options(), "documentSelector": None}
        registration = {
            "id": "pull",
            "method": "textDocument/diagnostic",
            "registerOptions": options,
        }
        later(
            self.scenario["dynamic_pull"].get("delay_ms", 0),
            lambda: self.send_request(
                "client/registerCapability", {"registrations": [registration]}
            ),
        )

    def unregister_pull(self):
        self.pull_on = False
        # The protocol's own spelling.
        gone = {"unregisterations": [{"id": "pull", "method": "textDocument/diagnostic"}]}
        self.ask("client/unregisterCapability", gone)

    def refresh_pulls(self):
        self.pulls_are_empty = False
        self.send_request("workspace/diagnostic/refresh", None)

    def progress_on(self, moment):
        for entry in self.scenario.get("progress", []):
            if entry.get("on", "initialized") != moment:
                continue
            token = entry["token"]
            if entry.get("create", True):
                self.ask("window/workDoneProgress/create", {"token": token})
            begin = {"kind": "begin", "title": "Loading", "percentage": 0}
            self.notify("$/progress", {"token": token, "value": begin})
            if entry.get("end_after_ms") is not None:
                end = {"token": token, "value": {"kind": "end"}}
                later(entry["end_after_ms"], lambda end=end: self.notify("$/progress", end))

    def shutdown(self, _params):
        self.state = "shut down"

    def exit(self, _params):
        if self.scenario.get("ignore_exit"):
            return
        self.journal.write("stop", reason="exit")
        os._exit(0 if self.state == "shut down" else 1)

    # --- documents ---

    def did_open(self, params):
        item = params["textDocument"]
        if item["uri"] in self.workspace.open:
            self.violation(f"didOpen twice: {item['uri']}")
        document = Document(item["uri"], item["text"], item["version"])
        self.workspace.open[item["uri"]] = document
        self.publish_after_change(document)

    def did_change(self, params):
        document = self.opened_or_violation(params, "didChange")
        if document is None:
            return
        version = params["textDocument"]["version"]
        if version <= document.version:
            self.violation(f"version {version} after {document.version}")
        text = document.text
        for change in params["contentChanges"]:
            self.apply_change(document, change)
        document.version = version
        if document.text == text:
            self.violation("a didChange that changes nothing")
        self.changes += 1
        if self.changes == self.scenario.get("dynamic_pull", {}).get("unregister_after_changes"):
            self.unregister_pull()
        self.publish_after_change(document)

    def apply_change(self, document, change):
        if "range" not in change:
            document.set_text(change["text"])
            return
        if self.scenario.get("sync_kind", 2) != 2:
            self.violation("an incremental change to a server that wants whole texts")
        start = document.offset(change["range"]["start"], self.encoding)
        end = document.offset(change["range"]["end"], self.encoding)
        if start is None or end is None or end < start:
            self.violation(f"a change out of range: {change['range']}")
            return
        document.set_text(document.text[:start] + change["text"] + document.text[end:])

    def did_save(self, params):
        document = self.opened_or_violation(params, "didSave")
        if document and self.scenario.get("publish_on_save"):
            self.publish(document)
        if document and "check" in self.scenario:
            self.begin_check(document)
        if "text" in params and not self.scenario.get("save_include_text"):
            self.violation("didSave with a text that was not asked for")

    def begin_check(self, document):
        """As rust-analyzer's: saves are gathered, and a new one cancels the check that runs."""
        self.checks += 1
        number = self.checks
        if self.check_runs:
            self.tell_check("end")
        later(self.scenario["check"]["begin_ms"], lambda: self.run_check(document, number))

    def run_check(self, document, number):
        if number == self.checks:
            self.tell_check("begin")
            run_ms = self.scenario["check"]["run_ms"]
            run_ms = run_ms[min(number, len(run_ms)) - 1] if isinstance(run_ms, list) else run_ms
            later(run_ms, lambda: self.end_check(document, number))

    def end_check(self, document, number):
        if number == self.checks:
            found = {"uri": document.uri, "diagnostics": self.findings(document)}
            self.notify("textDocument/publishDiagnostics", {**found, "version": document.version})
            self.tell_check("end")

    def tell_check(self, kind):
        self.check_runs = kind == "begin"
        value = {"kind": kind, "title": "check"} if self.check_runs else {"kind": kind}
        self.notify("$/progress", {"token": "scripted/check/0", "value": value})

    def did_close(self, params):
        if self.opened_or_violation(params, "didClose"):
            del self.workspace.open[params["textDocument"]["uri"]]

    def did_change_watched_files(self, _params):
        if self.scenario.get("push_for_other_files"):
            self.publish_others(None)

    def opened_or_violation(self, params, what):
        uri = params["textDocument"]["uri"]
        if uri not in self.workspace.open:
            self.violation(f"{what} of a file that is not open: {uri}")
        return self.workspace.open.get(uri)

    # --- diagnostics ---

    def findings(self, document):
        return document.findings(self.workspace.names(), self.encoding)

    def publish_after_change(self, document):
        if not self.scenario.get("publish_only_on_save"):
            self.publish(document)
        if self.scenario.get("push_for_other_files"):
            self.publish_others(document)

    def publish_others(self, changed):
        for document in self.workspace.documents():
            if changed is None or document.uri != changed.uri:
                self.publish(document)

    def publish(self, document):
        how = self.scenario.get("push_version", "right")
        if how == "never" or self.scenario.get("pull_only"):
            return
        version = document.version
        items = [] if "check" in self.scenario else self.findings(document)
        found = {"uri": document.uri, "diagnostics": items}
        if how in ("right", "twice") and version is not None:
            found["version"] = version
        elif how == "wrong":
            found["version"] = (version or 0) + self.scenario.get("wrong_by", -1)

        def send():
            if document.version == version:
                self.notify("textDocument/publishDiagnostics", found)
                if how == "twice":
                    self.notify("textDocument/publishDiagnostics", found)

        if self.scenario.get("empty_push_first"):
            self.notify("textDocument/publishDiagnostics", {**found, "diagnostics": []})
        if self.scenario.get("push_delay_ms"):
            later(self.scenario["push_delay_ms"], send)
        else:
            send()

    def diagnostic(self, params):
        if not self.pull_on:
            raise RequestError(-32601, "method not found: textDocument/diagnostic")
        document = self.document(params)
        if self.pulls_are_empty or "check" in self.scenario:
            return {"kind": "full", "items": []}
        result_id = f"{document.uri}@{hash(document.text)}"
        if self.scenario.get("pull_unchanged") and params.get("previousResultId") == result_id:
            return {"kind": "unchanged", "resultId": result_id}
        return {"kind": "full", "resultId": result_id, "items": self.findings(document)}


HANDLERS = {
    "initialize": Server.initialize,
    "shutdown": Server.shutdown,
    "textDocument/diagnostic": Server.diagnostic,
    "textDocument/definition": Server.definition,
    "textDocument/typeDefinition": Server.definition,
    "textDocument/implementation": Server.implementation,
    "textDocument/references": Server.references,
    "textDocument/hover": Server.hover,
    "textDocument/documentSymbol": Server.document_symbol,
    "workspace/symbol": Server.workspace_symbol,
    "textDocument/prepareRename": Server.prepare_rename,
    "textDocument/rename": Server.rename,
    "textDocument/codeAction": Server.code_action,
    "codeAction/resolve": Server.resolve_code_action,
    "workspace/executeCommand": Server.execute_command,
}

NOTIFICATIONS = {
    "initialized": Server.initialized,
    "exit": Server.exit,
    "textDocument/didOpen": Server.did_open,
    "textDocument/didChange": Server.did_change,
    "textDocument/didSave": Server.did_save,
    "textDocument/didClose": Server.did_close,
    "workspace/didChangeWatchedFiles": Server.did_change_watched_files,
}


def later(delay_ms, action):
    timer = threading.Timer(delay_ms / 1000, action)
    timer.daemon = True
    timer.start()


def handle_sigterm(journal):
    def stop(_number, _frame):
        journal.write("stop", reason="sigterm")
        os._exit(143)

    signal.signal(signal.SIGTERM, stop)
