"""The line to the job's shepherd: JSON lines over a Unix socket, kept up by a thread of its own.

Nothing here can stop or slow down training. What cannot be sent is kept (reports: only the
latest), and a line that breaks is taken up again.
"""

import json
import select
import socket
import threading
import time
from typing import Any, Dict, List, Optional

#: A line longer than this is no request.
LINE_MAX = 64 * 1024


class Request:
    """What the shepherd asked for."""

    def __init__(self, stop: bool, grace_s: Optional[float]) -> None:
        #: Whether to end once it is saved.
        self.stop = stop
        #: Seconds that there are for it.
        self.grace_s = grace_s


class Link:
    """The line to the shepherd at a path; without a path nobody listens, and nothing is asked."""

    def __init__(self, path: Optional[str], retry_s: float = 1.0) -> None:
        self._path = path
        self._retry_s = retry_s
        self._lock = threading.Condition()
        self._report: Optional[Dict[str, Any]] = None
        self._words: List[Dict[str, Any]] = []
        self._request: Optional[Request] = None
        self._busy = False
        self._closed = False
        self._thread: Optional[threading.Thread] = None
        if path is not None:
            # The thread waits on a pipe, too, so that what is said leaves at once.
            self._wake_out, self._wake_in = socket.socketpair()
            self._wake_out.setblocking(False)
            self._wake_in.setblocking(False)
            self._thread = threading.Thread(target=self._run, name="heeler-link", daemon=True)
            self._thread.start()

    @property
    def there(self) -> bool:
        """Whether there is a shepherd to talk to."""
        return self._path is not None

    def report(self, report: Dict[str, Any]) -> None:
        """Say how things are; an older report that has not left yet is dropped."""
        with self._lock:
            self._report = {"report": report}
        self._wake()

    def say(self, word: Dict[str, Any]) -> None:
        """Say something that may not be dropped."""
        with self._lock:
            self._words.append(word)
        self._wake()

    def asked(self) -> Optional[Request]:
        """What was asked for since last time; a request to stop outweighs one to save."""
        if self._request is None:
            return None
        with self._lock:
            request, self._request = self._request, None
        return request

    def flush(self, wait_s: float) -> bool:
        """Wait until all that was said has left, but not longer than that."""
        if self._thread is None:
            return True
        until = time.monotonic() + wait_s
        with self._lock:
            while self._report is not None or self._words or self._busy:
                left = until - time.monotonic()
                if left <= 0 or self._closed:
                    return False
                self._lock.wait(left)
        return True

    def close(self, wait_s: float = 1.0) -> None:
        """Say what is left to say and hang up."""
        if self._thread is None or self._closed:
            return
        self.flush(wait_s)
        with self._lock:
            self._closed = True
            self._lock.notify_all()
        self._wake()
        self._thread.join(wait_s)
        if not self._thread.is_alive():
            self._wake_in.close()
            self._wake_out.close()

    def _wake(self) -> None:
        if self._thread is not None:
            try:
                self._wake_in.send(b".")
            except OSError:
                # Full: then it is awake already. Closed: then nobody waits.
                pass

    def _run(self) -> None:
        while not self._closed:
            try:
                with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
                    line.settimeout(self._retry_s)
                    line.connect(self._path or "")
                    self._talk(line)
            except OSError:
                pass
            if not self._closed:
                # Wakes are left unread: what is said meanwhile should not hurry the next attempt.
                time.sleep(self._retry_s)

    def _talk(self, line: socket.socket) -> None:
        """Send and receive until either side has had enough."""
        heard = b""
        while True:
            self._send(line)
            if self._closed:
                return
            ready, _, _ = select.select([line, self._wake_out], [], [], 5.0)
            if self._wake_out in ready:
                _drain(self._wake_out)
            if line in ready:
                more = line.recv(4096)
                if not more:
                    return
                *whole, heard = (heard + more).split(b"\n")
                for text in whole:
                    self._hear(text)
                if len(heard) > LINE_MAX:
                    return

    def _send(self, line: socket.socket) -> None:
        while True:
            with self._lock:
                word = self._words[0] if self._words else self._report
                first = bool(self._words)
                if word is None:
                    self._lock.notify_all()
                    return
                self._busy = True
            try:
                line.sendall(json.dumps(word, allow_nan=False).encode() + b"\n")
                with self._lock:
                    if first:
                        self._words.pop(0)
                    elif self._report is word:
                        self._report = None
            finally:
                with self._lock:
                    self._busy = False
                    self._lock.notify_all()

    def _hear(self, text: bytes) -> None:
        """Take up a request; what is not understood is left alone, it may be of a later version."""
        try:
            word = json.loads(text)
        except ValueError:
            return
        if not isinstance(word, dict) or word.get("request") not in ("save", "resize"):
            return
        grace_s = word.get("grace_s")
        grace_s = float(grace_s) if isinstance(grace_s, (int, float)) else None
        # Another size is had by saving, ending, and being started again at that size.
        stop = word["request"] == "resize" or word.get("stop") is True
        with self._lock:
            before = self._request
            self._request = Request(stop or (before is not None and before.stop), grace_s)


def _drain(pipe: socket.socket) -> None:
    try:
        while pipe.recv(4096):
            pass
    except BlockingIOError:
        pass
