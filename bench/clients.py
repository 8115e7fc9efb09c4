"""Small clients for the benchmarks: a language server's, and an MCP server's, over their pipes.

Blocking and on one thread: what is read while waiting for something else is answered or kept.
"""

import json
import os
import select
import subprocess
import time

REPLY_SECONDS = 120


class Pipe:
    """A child process; messages go to its stdin and come from its stdout."""

    def __init__(self, argv, env, cwd=None):
        self.child = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=env,
            cwd=cwd,
        )
        self.name = os.path.basename(argv[0])
        self.buffer = b""
        self.last_id = 0

    def fill(self, deadline):
        """Reads what is there, or waits for something; TimeoutError at the deadline."""
        left = max(0, deadline - time.perf_counter())
        if not select.select([self.child.stdout], [], [], left)[0]:
            raise TimeoutError(f"{self.name} says nothing")
        data = os.read(self.child.stdout.fileno(), 1 << 20)
        if not data:
            raise SystemExit(f"{self.name} has ended")
        self.buffer += data

    def notify(self, method, params=None):
        self.put({"method": method, "params": params or {}})

    def ask(self, method, params, seconds=REPLY_SECONDS):
        """The result; SystemExit if there is none."""
        self.last_id += 1
        self.put({"id": self.last_id, "method": method, "params": params})
        deadline = time.perf_counter() + seconds
        while True:
            message = self.get(deadline)
            if message.get("id") == self.last_id and "method" not in message:
                if "result" not in message:
                    raise SystemExit(f"{self.name}: {method} failed: {message}")
                return message["result"]
            self.handle(message)

    def handle(self, message):
        if "id" in message and "method" in message:
            self.put({"id": message["id"], **self.reply(message)})

    def reply(self, message):
        return {"error": {"code": -32601, "message": "not offered by this client"}}

    def close(self):
        """By the end of its input; killed where that is not enough."""
        self.child.stdin.close()
        try:
            self.child.wait(10)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
        self.child.stdout.close()


class Lsp(Pipe):
    """A bare client of a language server, which pushes its diagnostics."""

    def __init__(self, argv, env, root, options=None):
        super().__init__(argv, env, root)
        self.published = []  # (uri, diagnostics), since the last look
        document = {
            "synchronization": {"didSave": True},
            "publishDiagnostics": {"versionSupport": True, "relatedInformation": True},
        }
        self.ask(
            "initialize",
            {
                "processId": os.getpid(),
                "rootUri": root.as_uri(),
                "workspaceFolders": [{"uri": root.as_uri(), "name": root.name}],
                "initializationOptions": options or {},
                "capabilities": {
                    "textDocument": document,
                    "workspace": {"configuration": True, "workspaceFolders": True},
                    "window": {"workDoneProgress": True},
                },
            },
        )
        self.notify("initialized")

    def put(self, message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.child.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.child.stdin.flush()

    def get(self, deadline):
        while b"\r\n\r\n" not in self.buffer:
            self.fill(deadline)
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        while len(self.buffer) < length:
            self.fill(deadline)
        body, self.buffer = self.buffer[:length], self.buffer[length:]
        return json.loads(body)

    def handle(self, message):
        if message.get("method") == "textDocument/publishDiagnostics":
            params = message["params"]
            self.published.append((params["uri"], params["diagnostics"]))
        super().handle(message)

    def reply(self, message):
        if message["method"] == "workspace/configuration":
            return {"result": [None] * len(message["params"]["items"])}
        return {"result": None}

    def wait_for_publish(self, uri, wanted, seconds=REPLY_SECONDS):
        """Until diagnostics of this file are published that `wanted` accepts."""
        deadline = time.perf_counter() + seconds
        while True:
            for published_uri, diagnostics in self.published:
                if published_uri == uri and wanted(diagnostics):
                    self.published.clear()
                    return
            self.published.clear()
            self.handle(self.get(deadline))


class Mcp(Pipe):
    """A client of an MCP server."""

    def __init__(self, argv, env, cwd=None):
        super().__init__(argv, env, cwd)
        self.ask(
            "initialize",
            {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "bench", "version": "1"},
            },
        )
        self.notify("notifications/initialized")

    def put(self, message):
        self.child.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.child.stdin.flush()

    def get(self, deadline):
        while b"\n" not in self.buffer:
            self.fill(deadline)
        line, self.buffer = self.buffer.split(b"\n", 1)
        return json.loads(line)

    def call(self, tool, **arguments):
        """The text, and whether it is an error."""
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})
        text = "".join(item.get("text", "") for item in result["content"])
        return text, result.get("isError", False)
