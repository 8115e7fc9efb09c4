"""A raw client of `werkbank serve`: newline-delimited JSON-RPC in MCP's wire format, both eras."""

import json
import queue
import threading

from .program import ANSWER_SECONDS, Pipe, Result

LEGACY = "2025-11-25"
MODERN = "2026-07-28"
META = "io.modelcontextprotocol/"


class RpcError(Exception):
    def __init__(self, error):
        super().__init__(error["message"])
        self.code = error["code"]
        self.data = error.get("data")


class Serve(Pipe):
    """Requests may be under way at once, from several threads."""

    def __init__(self, argv, env, cwd=None):
        self.pending = {}
        self.next_id = 0
        self.lock = threading.Lock()
        self.notifications = queue.Queue()
        self.requests = []
        self.on_request = None
        self.bad_lines = []
        super().__init__(argv, env, cwd)

    def on_line(self, line):
        if line is None:
            with self.lock:
                pending, self.pending = self.pending, {}
            for waiting in pending.values():
                waiting.put(None)
            self.lines.put(None)
            return
        try:
            message = json.loads(line)
        except ValueError:
            self.bad_lines.append(line)
            return
        if "method" in message and "id" in message:
            self.requests.append(message)
            self.answer(message)
        elif "method" in message:
            self.notifications.put(message)
        else:
            with self.lock:
                waiting = self.pending.pop(message.get("id"), None)
            (waiting or self.lines).put(message)

    def answer(self, message):
        if self.on_request:
            reply = {"result": self.on_request(message)}
        else:
            reply = {"error": {"code": -32601, "message": "not offered by this client"}}
        try:
            self.send({"id": message["id"], **reply})
        except BrokenPipeError:
            pass  # it has ended meanwhile, which the reader will see

    def send(self, message):
        text = json.dumps({"jsonrpc": "2.0", **message}) + "\n"
        with self.lock:
            self.write(text)

    def notify(self, method, params=None):
        self.send({"method": method, "params": params or {}})

    def post(self, method, params=None):
        """Sends a request; returns its id and the queue that its answer comes to."""
        waiting = queue.Queue()
        with self.lock:
            self.next_id += 1
            number = self.next_id
            self.pending[number] = waiting
        self.send({"id": number, "method": method, "params": params or {}})
        return number, waiting

    def wait(self, waiting, seconds=ANSWER_SECONDS):
        try:
            message = waiting.get(timeout=seconds)
        except queue.Empty:
            raise AssertionError(f"no answer in {seconds} s; stderr: {self.stderr()}") from None
        assert message is not None, f"the program ended; stderr: {self.stderr()}"
        if "error" in message:
            raise RpcError(message["error"])
        return message["result"]

    def request(self, method, params=None, seconds=ANSWER_SECONDS):
        return self.wait(self.post(method, params)[1], seconds)

    def initialize(self, version=LEGACY, capabilities=None):
        result = self.request(
            "initialize",
            {
                "protocolVersion": version,
                "capabilities": capabilities or {},
                "clientInfo": {"name": "test", "version": "1"},
            },
        )
        self.notify("notifications/initialized")
        return result

    def params(self, **params):
        """What every request carries besides: nothing in the legacy era."""
        return params

    def tools(self):
        return self.request("tools/list", self.params())["tools"]

    def call_raw(self, tool, args):
        return self.request("tools/call", self.params(name=tool, arguments=args))

    def call(self, tool, **args):
        return to_result(tool, self.call_raw(tool, args))

    def ok(self, tool, **args):
        result = self.call(tool, **args)
        assert not result.is_error, result
        return result


class ModernServe(Serve):
    """The stateless era: no handshake, everything in `_meta` of each request."""

    version = MODERN
    capabilities = {}

    def params(self, **params):
        meta = {
            META + "protocolVersion": self.version,
            META + "clientCapabilities": self.capabilities,
            META + "clientInfo": {"name": "test", "version": "1"},
        }
        meta.update(params.pop("_meta", {}))
        return {**params, "_meta": meta}


def to_result(tool, answer):
    text = "".join(item["text"] for item in answer["content"] if item["type"] == "text")
    return Result(tool, text, answer.get("structuredContent"), [], answer.get("isError", False))
