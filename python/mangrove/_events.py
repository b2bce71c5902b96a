"""Server-sent events, as the HTML standard defines them."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Iterator, List

from .errors import Error


@dataclass(frozen=True)
class ServerEvent:
    """One event of a stream."""

    name: str
    data: bytes


class EventParser:
    """Cuts the bytes of a stream into events. An event that has not come completely is never given out."""

    def __init__(self, longest: int) -> None:
        """longest: bytes that an event may have."""
        self._longest = longest
        self._pending = bytearray()  # of a line that has not ended
        self._name = b""
        self._data: List[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> Iterator[ServerEvent]:
        """The events that these bytes complete. errors: resource_exhausted (an event that is too long)."""
        self._pending += data
        end = self._pending.rfind(b"\n") + 1
        lines = bytes(self._pending[:end]).splitlines()
        del self._pending[:end]
        for line in lines:
            if line:
                self._take(line)
            elif self._data:
                yield ServerEvent(self._name.decode("utf-8", "replace") or "message", b"\n".join(self._data))
                self._forget()
            else:
                self._forget()
        self._check(self._size + len(self._pending))

    def _take(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value[1:] if value.startswith(b" ") else value
        if name == b"data":
            self._size += len(value) + 1
            self._check(self._size)
            self._data.append(value)
        elif name == b"event":
            self._name = value

    def _check(self, size: int) -> None:
        if size > self._longest:
            raise Error(f"the server sends an event of more than {self._longest} bytes; it is not read",
                        code="resource_exhausted")

    def _forget(self) -> None:
        self._name, self._data, self._size = b"", [], 0
