"""A Heeler server of its own for one measurement, spoken to over its Unix socket."""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import time
from typing import Any


class Refused(Exception):
    """The server said no, or is not there."""


class _Connection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("heeler", timeout=30)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(30)
        self.sock.connect(self._path)


class Server:
    """`heeler up` with a folder of its own."""

    def __init__(self, program: str, folder: str, up: list[str]) -> None:
        os.makedirs(folder, exist_ok=True)
        self.socket = os.path.join(folder, "heeler.sock")
        self.log = os.path.join(folder, "up.log")
        self._output = open(self.log, "ab")
        words = [program, "up", "--state", folder, *up]
        self.process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=self._output, stderr=self._output
        )
        self._wait()

    def _wait(self) -> None:
        until = time.time() + 20
        while time.time() < until:
            if self.process.poll() is not None:
                break
            try:
                self.ask("GET", "/v1/server")
                return
            except (OSError, Refused, http.client.HTTPException):
                time.sleep(0.05)
        with open(self.log, errors="replace") as file:
            said = file.read()[-2000:]
        self.stop()
        raise Refused(f"heeler up did not answer: {said}")

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        connection = _Connection(self.socket)
        try:
            data = None if body is None else json.dumps(body)
            connection.request(method, path, data, {"content-type": "application/json"})
            answer = connection.getresponse()
            text = answer.read().decode()
        finally:
            connection.close()
        if answer.status >= 300:
            raise Refused(f"{method} {path}: {answer.status} {text[:500]}")
        return json.loads(text) if text else None

    def recipe(self, name: str, knobs: dict[str, str]) -> None:
        self.ask("PUT", "/v1/recipe", {"name": name, "knobs": knobs})

    def submit(self, submission: dict[str, Any]) -> int:
        answer = self.ask("POST", "/v1/jobs", submission)
        answer = answer[0] if isinstance(answer, list) else answer
        return int(answer["job"])

    def job(self, number: int) -> dict[str, Any]:
        return self.ask("GET", f"/v1/jobs/{number}")

    def cancel(self, numbers: list[int]) -> None:
        for number in numbers:
            try:
                self.ask("POST", f"/v1/jobs/{number}/cancel", {})
            except (OSError, Refused):
                pass
        until = time.time() + 15
        over = {"completed", "failed", "cancelled", "timeout", "stopped"}
        while time.time() < until:
            if all(self.job(number)["state"] in over for number in numbers):
                return
            time.sleep(0.05)

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self._output.close()
