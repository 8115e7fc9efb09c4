"""A terminal for the program: tmux, 80 columns, driven by keys and read as a screen."""

import shlex
import subprocess
import time
import uuid

from .program import BINARY

SECONDS = 30
# libedit keeps names of its own for good: leaks are looked for where there is no editing.
OWN = {"TERM": "xterm", "ASAN_OPTIONS": "detect_leaks=0"}


class Terminal:
    def __init__(self, env, workspace, *options, cwd=None):
        self.socket = f"werkbank-{uuid.uuid4().hex[:12]}"
        command = " ".join(shlex.quote(str(word)) for word in [BINARY, *options])
        # The exit status is seen on the screen.
        line = f"cd {shlex.quote(str(workspace))} && {command}; echo ended with $?; exec sleep 600"
        self.tmux("new-session", "-d", "-x", "80", "-y", "50", "bash", "-c", line, env=env)

    def tmux(self, *words, env=None):
        done = subprocess.run(
            ["tmux", "-L", self.socket, "-f", "/dev/null", *words],
            env={**env, **OWN} if env else None,
            capture_output=True,
            text=True,
        )
        return done.stdout

    def screen(self):
        return self.tmux("capture-pane", "-p", "-J", "-S", "-200")

    def type(self, text, enter=True):
        self.tmux("send-keys", "-l", text)
        if enter:
            self.tmux("send-keys", "Enter")

    def key(self, name):
        self.tmux("send-keys", name)

    def see(self, *texts, times=1):
        """Waits until the screen shows all of these; gives it."""
        deadline = time.monotonic() + SECONDS
        while True:
            screen = self.screen()
            if all(screen.count(text) >= times for text in texts):
                return screen
            if time.monotonic() > deadline:
                raise AssertionError(f"the screen lacks {texts} ({times} times):\n{screen}")
            time.sleep(0.05)

    def close(self):
        self.tmux("kill-server")
