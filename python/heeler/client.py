"""Talking to a Heeler server from Python: hand in jobs, look at them, wait for them, read logs.

Over the server's Unix socket, where it knows its users, or over the network with a token::

    from heeler.client import Client

    heeler = Client()
    job = heeler.submit(command=["python3", "train.py"], gpus=2, name="train")
    print(heeler.wait(job)["state"])
    print(heeler.logs(job).decode())
"""

import http.client
import json
import os
import socket
import ssl
import time
import urllib.parse
from pathlib import Path
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Union

#: What jobs do that will not run again.
OVER = frozenset(["completed", "failed", "cancelled", "timeout", "stopped"])

#: What a server's socket is called in its state folder.
SOCKET = "heeler.sock"

#: A job's number, or what names jobs: ``17``, ``"17_3"``, ``"1-10"``, ``"last"``.
Jobs = Union[int, str]


class Problem(Exception):
    """A mistake or a refusal, as the server says it."""

    def __init__(self, status: int, said: Mapping[str, Any]) -> None:
        #: The HTTP status.
        self.status = status
        #: What kind of problem, such as ``not-found``.
        self.code = str(said.get("code", "internal"))
        #: What is wrong, in a sentence.
        self.message = str(said.get("message", f"the server answered {status}"))
        #: The field it is about.
        self.field: Optional[str] = said.get("field")
        #: What to do.
        self.hint: Optional[str] = said.get("hint")
        super().__init__(self.message + (f" ({self.hint})" if self.hint else ""))


class Unreachable(ConnectionError):
    """No server answers."""


class _OverUnix(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: str, timeout: Optional[float]) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        if self.timeout is not None:
            self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class Client:
    """A Heeler server.

    ``server`` is the path of its Unix socket, or ``https://host:port`` with a ``token``; else the
    variables ``HEELER_SERVER`` and ``HEELER_TOKEN`` say it, else it is where the command line finds
    it, too. Whom to trust over TLS, ``tls`` says, or the PEM file that ``HEELER_CA`` names.
    """

    def __init__(
        self,
        server: Union[str, Path, None] = None,
        token: Optional[str] = None,
        timeout_s: Optional[float] = 30.0,
        tls: Optional[ssl.SSLContext] = None,
    ) -> None:
        where = str(server or os.environ.get("HEELER_SERVER") or usual_socket())
        for scheme in ("unix://", "unix:"):
            if where.startswith(scheme):
                where = where[len(scheme) :]
        self._where = where
        self._token = token or os.environ.get("HEELER_TOKEN")
        self._timeout_s = timeout_s
        trusted = os.environ.get("HEELER_CA")
        if tls is None and trusted and where.startswith("https://"):
            tls = ssl.create_default_context(cafile=trusted)
        self._tls = tls

    # Jobs.

    def submit(
        self,
        submission: Optional[Mapping[str, Any]] = None,
        /,
        *,
        command: Optional[Sequence[str]] = None,
        script: Optional[str] = None,
        gpus: Union[int, Mapping[str, Any], None] = None,
        dir: Union[str, Path, None] = None,
        **fields: Any,
    ) -> int:
        """Hand in a job and say its number.

        Fields are those of the API, with ``_`` for ``-``: ``name``, ``tenant``, ``env``,
        ``time_limit_s``, ``priority``, ``retries`` and so on. It runs in the present folder unless
        ``dir`` says otherwise.
        """
        job: Dict[str, Any] = dict(submission or {})
        if command is not None:
            job["command"] = [command] if isinstance(command, str) else list(command)
        if script is not None:
            job["script"] = script
        if gpus is not None:
            job["gpus"] = {"count": gpus} if isinstance(gpus, int) else dict(gpus)
        job.update({name.replace("_", "-"): value for name, value in fields.items()})
        job["dir"] = str(dir) if dir is not None else job.get("dir", os.getcwd())
        return int(self.submit_all([job])[0]["job"])

    def submit_all(self, submissions: Sequence[Mapping[str, Any]]) -> List[Dict[str, Any]]:
        """Hand in several jobs, all or none, as the API describes them."""
        answer = self._ask("POST", "/v1/jobs", list(submissions))
        return list(answer) if isinstance(answer, list) else [answer]

    def jobs(
        self,
        ids: Optional[str] = None,
        state: Optional[str] = None,
        user: Optional[str] = None,
        tenant: Optional[str] = None,
        limit: Optional[int] = None,
    ) -> List[Dict[str, Any]]:
        """Jobs that are as asked."""
        asked = {"ids": ids, "state": state, "user": user, "tenant": tenant, "limit": limit}
        return list(self._ask("GET", "/v1/jobs", query=asked))

    def job(self, job: Jobs) -> Dict[str, Any]:
        """All about one job."""
        return dict(self._ask("GET", f"/v1/jobs/{_quoted(job)}"))

    def wait(
        self, job: Jobs, timeout_s: Optional[float] = None, every_s: float = 0.5
    ) -> Dict[str, Any]:
        """Wait until a job is over, and say all about it. ``TimeoutError`` if that takes longer.

        A server that is being started again is waited for, too, for a minute.
        """
        until = None if timeout_s is None else time.monotonic() + timeout_s
        heard = time.monotonic()
        while True:
            try:
                seen = self.job(job)
                heard = time.monotonic()
                if seen["state"] in OVER:
                    return seen
            except Unreachable:
                if time.monotonic() - heard > 60.0:
                    raise
            if until is not None and time.monotonic() >= until:
                raise TimeoutError(f"job {job} is not over after {timeout_s} s")
            time.sleep(every_s)

    def logs(self, job: Jobs, stream: str = "out", start: int = 0) -> bytes:
        """What a job has printed, from a byte on."""
        return b"".join(self._logs(job, stream, start, follow=False))

    def follow(self, job: Jobs, stream: str = "out", start: int = 0) -> Iterator[bytes]:
        """What a job prints, as it comes, until it is over."""
        return self._logs(job, stream, start, follow=True)

    def cancel(self, jobs: Jobs) -> Any:
        """Take jobs back."""
        return self.act(jobs, "cancel")

    def act(self, jobs: Jobs, what: str, value: Any = None) -> Any:
        """Do something to jobs: ``cancel``, ``hold``, ``release``, ``suspend``, ``resume``,
        ``requeue``, or with a value ``signal``, ``priority``, ``time-limit``.
        """
        body = None if value is None else {"value": value}
        return self._ask("POST", f"/v1/jobs/{_quoted(jobs)}/{_quoted(what)}", body)

    def why(self, job: Jobs) -> Dict[str, Any]:
        """Why a job waits, and what would help."""
        return dict(self._ask("GET", f"/v1/jobs/{_quoted(job)}/why"))

    def when(self, job: Jobs) -> Dict[str, Any]:
        """When a job will start."""
        return dict(self._ask("GET", f"/v1/jobs/{_quoted(job)}/when"))

    def nodes(self) -> List[Dict[str, Any]]:
        """The nodes and what is free there."""
        return list(self._ask("GET", "/v1/nodes"))

    # How.

    def _connection(self, timeout_s: Optional[float]) -> http.client.HTTPConnection:
        if not self._where.startswith(("http://", "https://")):
            return _OverUnix(self._where, timeout_s)
        url = urllib.parse.urlsplit(self._where)
        host = url.hostname or "localhost"
        if url.scheme == "https":
            return http.client.HTTPSConnection(host, url.port, timeout=timeout_s, context=self._tls)
        return http.client.HTTPConnection(host, url.port, timeout=timeout_s)

    def _send(
        self, connection: http.client.HTTPConnection, method: str, path: str, body: Any
    ) -> http.client.HTTPResponse:
        headers = {"Accept": "application/json"}
        data = None
        if body is not None:
            data = json.dumps(body).encode()
            headers["Content-Type"] = "application/json"
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        try:
            connection.request(method, path, body=data, headers=headers)
            answer = connection.getresponse()
        except (OSError, http.client.HTTPException) as why:
            raise Unreachable(f"no server answers at {self._where}: {why}") from why
        if answer.status >= 400:
            raise Problem(answer.status, _said(answer.read()))
        return answer

    def _ask(
        self, method: str, path: str, body: Any = None, query: Optional[Mapping[str, Any]] = None
    ) -> Any:
        given = {name: value for name, value in (query or {}).items() if value is not None}
        if given:
            path += "?" + urllib.parse.urlencode(given)
        connection = self._connection(self._timeout_s)
        try:
            text = self._send(connection, method, path, body).read()
            return json.loads(text) if text else None
        finally:
            connection.close()

    def _logs(self, job: Jobs, stream: str, start: int, follow: bool) -> Iterator[bytes]:
        asked: Dict[str, Any] = {"stream": stream, "from": start}
        if follow:
            asked["follow"] = 1
        path = f"/v1/jobs/{_quoted(job)}/logs?{urllib.parse.urlencode(asked)}"
        # A job may be silent for hours; that is no reason to hang up.
        connection = self._connection(None if follow else self._timeout_s)
        try:
            answer = self._send(connection, "GET", path, None)
            while data := answer.read1(65536):
                yield data
        finally:
            connection.close()


def usual_socket() -> Path:
    """Where a socket is if nobody says: in one's own state folder, else in the machine's."""
    shared = Path("/var/lib/heeler")
    state = os.environ.get("HEELER_STATE")
    if state:
        return Path(state) / SOCKET
    if os.geteuid() == 0:
        return shared / SOCKET
    states = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    own = Path(states) / "heeler" / SOCKET
    return shared / SOCKET if not own.exists() and (shared / SOCKET).exists() else own


def _quoted(jobs: Jobs) -> str:
    return urllib.parse.quote(str(jobs), safe="")


def _said(text: bytes) -> Mapping[str, Any]:
    try:
        said = json.loads(text)
    except ValueError:
        said = None
    return said if isinstance(said, dict) else {"message": text.decode(errors="replace").strip()}
