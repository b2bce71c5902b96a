"""HTTP/1.1 over one connection for each thread: bounded bodies, time-outs, retries of what may be repeated."""
from __future__ import annotations

import http.client
import json
import random
import socket
import ssl
import threading
import time
import weakref
from contextlib import closing
from dataclasses import dataclass
from typing import Any, BinaryIO, Dict, Iterator, Mapping, Optional, Tuple, Union

from ._address import Address
from ._events import EventParser, ServerEvent
from ._fields import parse_json
from .errors import Error, InvalidArgument, Refused, Unavailable, error_of

CLUSTER_NAME = "mangrove"  # that all certificates of a cluster have: boards move, so these name no host
_CHUNK = 1 << 20           # bytes that are read at once
_ERROR_BODY = 1 << 20      # bytes of the longest explanation that is read


@dataclass(frozen=True)
class Limits:
    """How long things may take, and how much memory they may have."""

    timeout_s: float = 60.0        # for a connection, and until an answer has come
    silence_s: float = 60.0        # of a stream; the server gives a sign of life every five seconds
    retry_s: float = 10.0          # all waiting together that Retry-After may ask for
    patience_s: float = 60.0       # how long a lost stream is tried again
    first_pause_s: float = 0.5     # before the first of these tries
    longest_json: int = 64 << 20   # bytes
    longest_tensors: int = 1 << 30
    longest_model: int = 2 << 30   # no ONNX file is longer


@dataclass(frozen=True)
class Response:
    """An answer, read completely."""

    status: int
    headers: Mapping[str, str]  # by names in small letters
    body: bytes


class _Connection(http.client.HTTPConnection):
    """Over TLS where there is a context: the certificate must have the name `server_name`."""

    def __init__(self, address: Address, timeout_s: float, context: Optional[ssl.SSLContext], server_name: str) -> None:
        super().__init__(address.host, address.port, timeout=timeout_s)
        self._context, self._server_name = context, server_name

    def connect(self) -> None:
        super().connect()
        if self._context is not None:
            self.sock = self._context.wrap_socket(self.sock, server_hostname=self._server_name)

    def __del__(self) -> None:
        self.close()  # of a thread that has ended


class HttpClient:
    """Asks one server. Any thread may call any method: each has a connection of its own."""

    def __init__(self, address: Address, *, ca: Optional[str], server_name: Optional[str], insecure: bool,
                 limits: Limits, advice: Mapping[int, str]) -> None:
        """advice: what to do about an HTTP status, put behind the server's own message."""
        if address.token is not None and not (address.is_secure or address.is_loopback or insecure):
            raise InvalidArgument(f"{address}: others could read the token on the way. Use https, or an SSH tunnel to "
                                  "127.0.0.1; insecure=True sends it all the same")
        self.address, self.limits = address, limits
        self._advice = advice
        self._context = _tls_context(ca) if address.is_secure else None
        self._server_name = server_name or (CLUSTER_NAME if ca is not None else address.host)
        self._local = threading.local()
        self._connections: "weakref.WeakSet[_Connection]" = weakref.WeakSet()
        self._lock = threading.Lock()

    def get_json(self, path: str) -> Any:
        """errors: those of request(); data_loss (no JSON)."""
        return parse_json(self.request("GET", path, safe=True).body, f"the answer of {self.address}{path}")

    def post_json(self, path: str, body: Mapping[str, Any], *, safe: bool = False,
                  timeout_s: Optional[float] = None) -> Any:
        """safe: asking twice does what asking once does."""
        answer = self.request("POST", path, body=json.dumps(body).encode(), safe=safe, timeout_s=timeout_s,
                              headers={"Content-Type": "application/json"})
        return parse_json(answer.body, f"the answer of {self.address}{path}")

    def request(self, method: str, path: str, *, safe: bool, body: Optional[bytes] = None,
                headers: Optional[Mapping[str, str]] = None, longest: Optional[int] = None,
                timeout_s: Optional[float] = None, waits: bool = True) -> Response:
        """An answer with a status below 300.

        safe       it may be sent again where a connection breaks, or where the server says Retry-After
        longest    bytes that the body may have
        waits      as long as the server asks for, if that is not too long; else what it says is an error at once
        errors     by the status, see errors.py; Unavailable: nobody answers, or not in time
        """
        longest = self.limits.longest_json if longest is None else longest
        give_up = time.monotonic() + self.limits.retry_s
        while True:
            answer = self._exchange(method, path, body, dict(headers or {}), safe, longest, timeout_s)
            if answer.status < 300:
                return answer
            error = self._explain(answer)
            pause = _retry_after(answer)
            if not (safe and waits) or pause is None or time.monotonic() + pause > give_up:
                raise error
            time.sleep(pause * random.uniform(1.0, 1.5))  # those that were turned away together come back one by one

    def download(self, path: str, file: BinaryIO, longest: int) -> int:
        """Writes a body into a file, piece by piece. Gives back its length in bytes."""
        with closing(self._connect(self.limits.timeout_s)) as connection, \
                closing(self._send(connection, "GET", path, None, {})) as response:
            if response.status >= 300:
                raise self._explain(self._read(response, _ERROR_BODY, path, self.limits.timeout_s))
            length = 0
            for piece in self._pieces(response, longest, path, None):
                file.write(piece)
                length += len(piece)
            return length

    def events(self, path: str) -> Iterator[Optional[ServerEvent]]:
        """The events of a stream until it ends, on a connection of its own; None for a sign of life.

        errors  Unavailable: nobody answers, or the stream breaks or is silent for too long.
        """
        with closing(self._connect(self.limits.silence_s)) as connection, \
                closing(self._send(connection, "GET", path, None, {"Accept": "text/event-stream"})) as response:
            if response.status >= 300:
                raise self._explain(self._read(response, _ERROR_BODY, path, self.limits.timeout_s))
            if (response.getheader("Content-Type") or "").split(";")[0].strip() != "text/event-stream":
                raise Error(f"{self.address}{path} is no stream of events; is this the address of a dashboard?",
                            code="data_loss", status=response.status)
            parser = EventParser(self.limits.longest_json)
            while True:
                try:
                    data = response.read1(_CHUNK)
                except (OSError, http.client.HTTPException, ValueError) as error:
                    raise self._unreachable(error) from None
                if not data:
                    return
                yield from parser.feed(data)
                yield None

    def close(self) -> None:
        """Closes all connections. A later call opens new ones."""
        with self._lock:
            connections = list(self._connections)
        for connection in connections:
            connection.close()

    def _exchange(self, method: str, path: str, body: Optional[bytes], headers: Dict[str, str], safe: bool,
                  longest: int, timeout_s: Optional[float]) -> Response:
        """One request and its answer. A kept connection that the server has closed meanwhile is replaced, once."""
        timeout_s = self.limits.timeout_s if timeout_s is None else timeout_s
        connection = self._kept_connection()
        if not safe:
            connection.close()  # so that nobody has to guess whether a broken one has delivered it
        for is_reused in (connection.sock is not None, False):
            connection.timeout = timeout_s
            if connection.sock is not None:
                connection.sock.settimeout(timeout_s)
            try:
                response = self._send(connection, method, path, body, headers)
            except Unavailable as error:
                connection.close()
                if not is_reused or error.code != "unavailable":
                    raise
                continue
            try:
                with closing(response):
                    return self._read(response, longest if response.status < 300 else _ERROR_BODY, path, timeout_s)
            except BaseException:
                connection.close()  # the rest of this answer must not become the next one
                raise
        raise AssertionError("the second try returns or raises")

    def _send(self, connection: _Connection, method: str, path: str, body: Optional[bytes],
              headers: Dict[str, str]) -> http.client.HTTPResponse:
        if self.address.token is not None:
            headers["Authorization"] = "Bearer " + self.address.token
        broken: Optional[Exception] = None
        try:
            try:
                connection.request(method, self.address.prefix + path, body, headers)
            except (BrokenPipeError, ConnectionResetError) as error:
                broken = error  # the server may have refused a long body before its end, and says so
            return connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            raise self._unreachable(broken or error) from None

    def _read(self, response: http.client.HTTPResponse, longest: int, path: str, timeout_s: float) -> Response:
        body = b"".join(self._pieces(response, longest, path, time.monotonic() + timeout_s))
        return Response(response.status, {name.lower(): value for name, value in response.getheaders()}, body)

    def _pieces(self, response: http.client.HTTPResponse, longest: int, path: str,
                deadline: Optional[float]) -> Iterator[bytes]:
        """The body in pieces, of which none is made before its bytes have come."""
        expected, length = response.length, 0
        while True:
            if max(length, expected or 0) > longest:
                raise Error(f"the answer of {self.address}{path} has more than {longest} bytes; it is not read",
                            code="resource_exhausted", status=response.status)
            if deadline is not None and time.monotonic() > deadline:
                raise Unavailable(f"{self.address} sends its answer too slowly", code="deadline_exceeded")
            try:
                piece = response.read1(_CHUNK)
            except (OSError, http.client.HTTPException, ValueError) as error:
                raise self._unreachable(error) from None
            if not piece:
                break
            length += len(piece)
            yield piece
        if expected is not None and length != expected:
            raise Unavailable(f"the answer of {self.address}{path} ends after {length} of {expected} bytes; try again",
                              code="data_loss", status=response.status)

    def _connect(self, timeout_s: float) -> _Connection:
        return _Connection(self.address, timeout_s, self._context, self._server_name)

    def _kept_connection(self) -> _Connection:
        kept: Optional[_Connection] = getattr(self._local, "connection", None)
        if kept is None:
            kept = self._local.connection = self._connect(self.limits.timeout_s)
            with self._lock:
                self._connections.add(kept)
        return kept

    def _explain(self, answer: Response) -> Error:
        message, code = _message_in(answer)
        advice = self._advice.get(answer.status)
        return error_of(answer.status, f"{message} ({advice})" if advice else message, code)

    def _unreachable(self, error: Exception) -> Error:
        if isinstance(error, ssl.SSLCertVerificationError):
            return Refused(f"{self.address}: the server's certificate is not accepted: {error.verify_message}. Give the "
                           "authority of the cluster as ca=FILE")
        if isinstance(error, ssl.SSLError):
            return Unavailable(f"{self.address}: no TLS: {error.reason or error}; does the address need http?")
        if isinstance(error, socket.timeout):
            return Unavailable(f"{self.address} has not answered in time; try again, or give more time",
                               code="deadline_exceeded")
        if isinstance(error, ConnectionRefusedError):
            return Unavailable(f"nothing listens at {self.address}; is the program running?")
        return Unavailable(f"{self.address}: the connection is broken: {str(error) or type(error).__name__}")


def _tls_context(ca: Optional[str]) -> ssl.SSLContext:
    """ca: a PEM file with the only authorities that are trusted; None: those of the system."""
    try:
        context = ssl.create_default_context(cafile=ca)
    except (OSError, ValueError) as error:
        raise InvalidArgument(f"ca: {ca}: expected a PEM file with certificates: {error}") from None
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def _retry_after(answer: Response) -> Optional[float]:
    """Seconds after which the server wants to be asked again; None: it does not say so."""
    text = answer.headers.get("retry-after", "").strip()
    if answer.status not in (429, 503) or not text.isascii() or not text.isdigit() or len(text) > 6:
        return None
    return float(text)


def _message_in(answer: Response) -> Tuple[str, Optional[str]]:
    """What an answer says of its error, and its code: {"error": {"code", "message"}}, or {"error": "message"}."""
    fallback = f"the server answers with HTTP status {answer.status}"
    try:
        body = json.loads(answer.body.decode("utf-8"))
        error: Union[str, Dict[str, Any]] = body["error"]
        if isinstance(error, dict):
            code = error.get("code")
            return str(error.get("message") or fallback), code if isinstance(code, str) else None
        return str(error) or fallback, None
    except (ValueError, KeyError, TypeError, RecursionError):
        return fallback, None
