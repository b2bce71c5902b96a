"""A small server for tests: it answers as a test tells it to, also wrongly, slowly or not to the end."""
from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

TOKEN = "f00dfeed"


class Request(NamedTuple):
    """What a client has sent."""

    method: str
    path: str
    headers: Dict[str, str]  # by names in small letters
    body: bytes
    connection: int          # the client's port: one for each connection

    def json(self) -> Any:
        return json.loads(self.body)


class Reply(NamedTuple):
    """An answer. `length` and `cut` make it a wrong one."""

    status: int = 200
    body: bytes = b""
    headers: Tuple[Tuple[str, str], ...] = ()
    content_type: str = "application/json"
    length: Optional[int] = None           # of Content-Length, where it differs
    pieces: Tuple[bytes, ...] = ()         # a body without Content-Length, piece by piece; the connection ends with it
    hold: Optional[threading.Event] = None  # the connection stays open behind the pieces until this is set


def reply_json(value: Any, status: int = 200, **headers: str) -> Reply:
    return Reply(status, json.dumps(value).encode(),
                 tuple((name.replace("_", "-"), text) for name, text in headers.items()))


def problem(status: int, code: str, message: str, **headers: str) -> Reply:
    return reply_json({"error": {"code": code, "message": message}}, status, **headers)


def event(name: str, value: Any) -> bytes:
    return f"event: {name}\ndata: {json.dumps(value)}\n\n".encode()


def stream(*pieces: bytes, hold: Optional[threading.Event] = None) -> Reply:
    return Reply(content_type="text/event-stream", pieces=pieces, hold=hold)


Answer = Callable[[Request], Reply]


class FakeServer:
    """Listens on a free port of 127.0.0.1. Of several answers for a call each is given once, the last one for ever."""

    def __init__(self) -> None:
        self.requests: List[Request] = []
        self._answers: Dict[Tuple[str, str], List[Answer]] = {}
        self._lock = threading.Lock()
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_GET(self) -> None:
                self._answer()

            def do_POST(self) -> None:
                self._answer()

            def _answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
                request = Request(self.command, self.path, {k.lower(): v for k, v in self.headers.items()}, body,
                                  self.client_address[1])
                try:
                    self._send(fake.answer(request))
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True

            def _send(self, reply: Reply) -> None:
                self.send_response(reply.status)
                self.send_header("Content-Type", reply.content_type)
                for name, value in reply.headers:
                    self.send_header(name, value)
                if reply.content_type == "text/event-stream" or reply.pieces:
                    self.send_header("Connection", "close")
                else:
                    length = len(reply.body) if reply.length is None else reply.length
                    self.send_header("Content-Length", str(length))
                    self.close_connection = length != len(reply.body)
                self.end_headers()
                self.wfile.write(reply.body)
                for piece in reply.pieces:
                    self.wfile.write(piece)
                    self.wfile.flush()
                if reply.hold is not None:
                    reply.hold.wait(30)

            def log_message(self, format: str, *arguments: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request: Any, client_address: Any) -> None:
                pass  # clients hang up in these tests

        self._server = Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def on(self, call: str, *answers: Any) -> None:
        """call: "GET /path". answers: Reply, functions of a Request, or values that become JSON."""
        method, path = call.split(" ", 1)
        self._answers[method, path] = [self._as_answer(one) for one in answers]

    def answer(self, request: Request) -> Reply:
        with self._lock:
            self.requests.append(request)
            answers = self._answers.get((request.method, request.path))
            if not answers:
                return problem(404, "not_found", f"no such call: {request.method} {request.path}")
            answer = answers.pop(0) if len(answers) > 1 else answers[0]
        return answer(request)

    def calls(self, path: str) -> List[Request]:
        return [one for one in self.requests if one.path == path]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @staticmethod
    def _as_answer(value: Any) -> Answer:
        if callable(value):
            return value  # type: ignore[no-any-return]
        reply = value if isinstance(value, Reply) else reply_json(value)
        return lambda request: reply
