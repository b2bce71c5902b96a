"""What can go wrong, as exceptions with a code, an HTTP status and a sentence that says what to do next."""
from __future__ import annotations

from typing import Mapping, Optional, Type

from ._text import plain


class Error(Exception):
    """A call that failed.

    code    a short name, as in the server's answers: "not_found", "unavailable", "data_loss" (an answer that cannot be
            read), "failed_precondition" (not in this state), ...
    status  of HTTP; 0 where no server has answered
    """

    def __init__(self, message: str, code: str = "internal", status: int = 0) -> None:
        super().__init__(plain(message, keep_newlines=True))
        self.code = plain(code)
        self.status = status


class InvalidArgument(Error):
    """The call itself is wrong: a key, a value, a shape. Change it; trying again does not help."""

    def __init__(self, message: str, code: str = "invalid_argument", status: int = 0) -> None:
        super().__init__(message, code, status)


class NotFound(Error):
    """There is no such job, model, member or path."""

    def __init__(self, message: str, code: str = "not_found", status: int = 0) -> None:
        super().__init__(message, code, status)


class Refused(Error):
    """The token, the role or a certificate does not allow this."""

    def __init__(self, message: str, code: str = "permission_denied", status: int = 0) -> None:
        super().__init__(message, code, status)


class Unavailable(Error):
    """Nobody answers, or not in time, or the server has too much to do. The same call may succeed later."""

    def __init__(self, message: str, code: str = "unavailable", status: int = 0) -> None:
        super().__init__(message, code, status)


class JobFailed(Error):
    """A job that has ended without a result.

    state  "failed" or "stopped"
    """

    def __init__(self, message: str, state: str) -> None:
        super().__init__(message, code="job_" + state)
        self.state = plain(state)


_BY_STATUS: Mapping[int, Type[Error]] = {
    400: InvalidArgument, 401: Refused, 403: Refused, 404: NotFound, 413: InvalidArgument, 429: Unavailable,
    502: Unavailable, 503: Unavailable, 504: Unavailable,
}
_CODES: Mapping[int, str] = {
    400: "invalid_argument", 401: "permission_denied", 403: "permission_denied", 404: "not_found",
    405: "unimplemented", 409: "failed_precondition", 411: "invalid_argument", 413: "resource_exhausted",
    429: "resource_exhausted", 501: "unimplemented", 502: "unavailable", 503: "unavailable", 504: "deadline_exceeded",
}


def error_of(status: int, message: str, code: Optional[str] = None) -> Error:
    """The exception for an answer with this HTTP status."""
    if not code:
        code = _CODES.get(status, "internal")
    return _BY_STATUS.get(status, Error)(message, code, status)
