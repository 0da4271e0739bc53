"""What several tests need: the package itself, a shepherd to talk to, and scripts run for real."""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"
sys.path.insert(0, str(ROOT))

#: How long anything may take before a test gives up on it.
PATIENCE_S = 60.0


class Shepherd:
    """The other end of a job's socket: hears what is said, and asks."""

    def __init__(self, path):
        self.path = str(path)
        self.heard = []
        self._changed = threading.Condition()
        self._lines = []
        self._closed = False
        self._listen()

    def _listen(self):
        self._server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._server.bind(self.path)
        self._server.listen()
        threading.Thread(target=self._accept, args=(self._server,), daemon=True).start()

    def _accept(self, server):
        while True:
            try:
                line, _ = server.accept()
            except OSError:
                return
            with self._changed:
                self._lines.append(line)
                self._changed.notify_all()
            threading.Thread(target=self._read, args=(line,), daemon=True).start()

    def _read(self, line):
        with contextlib.suppress(OSError), line.makefile("rb") as file:
            for text in file:
                with self._changed:
                    self.heard.append(json.loads(text))
                    self._changed.notify_all()

    def wait_for(self, found):
        """Wait until something heard is as described, and give it."""
        return self._until(lambda: next((word for word in self.heard if found(word)), None))

    def ask(self, **request):
        """Send a request to whoever is connected."""
        self.send(json.dumps(request).encode() + b"\n")

    def send(self, data):
        line = self._until(lambda: self._lines[-1] if self._lines else None)
        line.sendall(data)

    def _until(self, look):
        until = time.monotonic() + PATIENCE_S
        with self._changed:
            while True:
                found = look()
                if found is not None:
                    return found
                if time.monotonic() > until:
                    raise AssertionError(f"not heard in {PATIENCE_S} s; heard {self.heard[-5:]}")
                self._changed.wait(1.0)

    def hang_up(self):
        """Go away, as a shepherd does that is killed."""
        self._server.close()
        with self._changed:
            for line in self._lines:
                with contextlib.suppress(OSError):
                    line.shutdown(socket.SHUT_RDWR)
                line.close()
            self._lines = []
        os.unlink(self.path)

    def come_back(self):
        self._listen()

    def close(self):
        with contextlib.suppress(OSError):
            self.hang_up()


class Case(unittest.TestCase):
    """A test with a folder of its own and none of the variables that jobs look at."""

    def setUp(self):
        # Paths of Unix sockets are short, so not below the working folder.
        self.folder = Path(tempfile.mkdtemp(prefix="heeler-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        kept = dict(os.environ)
        self.addCleanup(lambda: (os.environ.clear(), os.environ.update(kept)))
        for name in list(os.environ):
            if name.startswith("HEELER_") or name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"):
                del os.environ[name]
        self.started = []
        self.addCleanup(self._end_all)

    def _end_all(self):
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.wait()
            process.stdout.close()
            process.stderr.close()

    def shepherd(self):
        shepherd = Shepherd(self.folder / "sock")
        self.addCleanup(shepherd.close)
        return shepherd

    def start(self, script, *arguments, **env):
        """Start an example or a script's text with the package at hand."""
        known = EXAMPLES / script if script.endswith(".py") else None
        program = [str(known)] if known else ["-c", script]
        process = subprocess.Popen(
            [sys.executable, *program, *arguments],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(ROOT), **env},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.started.append(process)
        return process

    def finish(self, process, code=0):
        """Wait for a process, and give what it printed."""
        impatience = threading.Timer(PATIENCE_S, process.kill)
        impatience.start()
        # Not communicate(): that would lose what a test has made Python read ahead.
        out, err = process.stdout.read(), process.stderr.read()
        process.wait()
        impatience.cancel()
        self.assertEqual(process.returncode, code, err)
        return out

    def run_whole(self, script, *arguments, code=0, **env):
        return self.finish(self.start(script, *arguments, **env), code)
