"""The client against a server of the same shape, over a real Unix socket and over TCP."""

import http.server
import json
import os
import socketserver
import ssl
import threading
import unittest
import urllib.parse

from support import Case

from heeler.client import Client, Problem, Unreachable


class Answers(http.server.BaseHTTPRequestHandler):
    """Answers as Heeler does; remembers what was asked."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.answer(None)

    def do_POST(self):
        length = int(self.headers.get("Content-Length", 0))
        self.answer(json.loads(self.rfile.read(length)) if length else None)

    def answer(self, body):
        url = urllib.parse.urlsplit(self.path)
        asked = (self.command, url.path, dict(urllib.parse.parse_qsl(url.query)), body)
        self.server.asked.append((*asked, self.headers.get("Authorization")))
        if url.path.endswith("/logs"):
            return self.chunks([b"first\n", b"second\n"])
        status, said = self.server.said.pop(0)
        text = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def chunks(self, parts):
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for part in [*parts, b""]:
            self.wfile.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")

    def log_message(self, *_):
        pass


class OverUnix(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


class Clients(Case):
    def test_whom_to_trust_is_read_from_the_environment(self):
        trusted = self.folder / "ca.pem"
        trusted.write_text("no certificate")
        os.environ["HEELER_CA"] = str(trusted)
        self.addCleanup(os.environ.pop, "HEELER_CA")
        with self.assertRaises(ssl.SSLError):
            Client("https://localhost:1")
        Client("http://localhost:1")

    def server(self, said, over=None):
        server = over or OverUnix(str(self.folder / "heeler.sock"), Answers)
        server.asked, server.said = [], list(said)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return server

    def client(self, *said):
        self.heard = self.server(said).asked
        return Client(self.folder / "heeler.sock")

    def test_a_job_is_handed_in(self):
        client = self.client((200, [{"job": 17, "tasks": 1, "again": False}]))
        job = client.submit(command=["python3", "a.py"], gpus=2, time_limit_s=60, name="a")
        self.assertEqual(job, 17)
        ((method, path, _, (body,), _),) = self.heard
        self.assertEqual((method, path), ("POST", "/v1/jobs"))
        expected = {
            "command": ["python3", "a.py"],
            "gpus": {"count": 2},
            "time-limit-s": 60,
            "name": "a",
            "dir": os.getcwd(),
        }
        self.assertEqual(body, expected)

    def test_it_waits_until_a_job_is_over(self):
        client = self.client(
            (200, {"state": "pending"}), (200, {"state": "running"}), (200, {"state": "failed"})
        )
        self.assertEqual(client.wait(17, every_s=0.001)["state"], "failed")
        self.assertEqual(len(self.heard), 3)

    def test_it_does_not_wait_for_ever(self):
        client = self.client((200, {"state": "pending"}))
        with self.assertRaisesRegex(TimeoutError, "job 17 is not over"):
            client.wait(17, timeout_s=0.0)

    def test_jobs_are_listed_and_acted_upon(self):
        client = self.client((200, []), (200, [1, 2]), (200, {}))
        self.assertEqual(client.jobs(state="running", limit=5), [])
        client.cancel("1-10")
        client.act("last", "priority", 7)
        self.assertEqual(self.heard[0][2], {"state": "running", "limit": "5"})
        self.assertEqual(self.heard[1][1], "/v1/jobs/1-10/cancel")
        self.assertEqual(self.heard[2][1:4:2], ("/v1/jobs/last/priority", {"value": 7}))

    def test_names_cannot_leave_their_place_in_a_path(self):
        client = self.client((200, {}))
        client.job("../nodes?x=1")
        self.assertEqual(self.heard[0][1], "/v1/jobs/..%2Fnodes%3Fx%3D1")

    def test_logs(self):
        client = self.client()
        self.assertEqual(client.logs(17), b"first\nsecond\n")
        self.assertEqual(b"".join(client.follow(17, start=3)), b"first\nsecond\n")
        self.assertEqual(self.heard[1][2], {"stream": "out", "from": "3", "follow": "1"})

    def test_a_refusal_is_said_as_the_server_says_it(self):
        said = {"code": "forbidden", "message": "it is not yours", "hint": "ask ann"}
        client = self.client((403, said), (500, "no"))
        with self.assertRaises(Problem) as refused:
            client.job(17)
        problem = refused.exception
        self.assertEqual((problem.status, problem.code), (403, "forbidden"))
        self.assertEqual(str(problem), "it is not yours (ask ann)")
        with self.assertRaises(Problem):
            client.job(17)

    def test_a_server_that_is_not_there(self):
        with self.assertRaisesRegex(Unreachable, "no server answers at"):
            Client(self.folder / "nobody").nodes()
        os.environ["HEELER_STATE"] = str(self.folder)
        with self.assertRaisesRegex(Unreachable, f"{self.folder}/heeler.sock"):
            Client().nodes()

    def test_over_the_network_with_a_token(self):
        over = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
        server = self.server([(200, [])], over)
        os.environ["HEELER_SERVER"] = f"http://127.0.0.1:{over.server_port}"
        Client(token="secret").nodes()
        self.assertEqual(server.asked[0][4], "Bearer secret")


if __name__ == "__main__":
    unittest.main()
