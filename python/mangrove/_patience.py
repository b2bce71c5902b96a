"""How long a stream that breaks is tried again."""
from __future__ import annotations

import time
from typing import Optional

from ._http import Limits
from .errors import Unavailable

_STEADY_S = 10.0    # a stream that has lasted so long was no failure
_LONGEST_PAUSE_S = 8.0


class Patience:
    """Waits between tries, longer each time, and gives up after `limits.patience_s` without success."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._failing_since: Optional[float] = None
        self._connected = time.monotonic()
        self._pause = limits.first_pause_s

    def begin(self) -> None:
        """A try begins."""
        self._connected = time.monotonic()

    def has_succeeded(self) -> None:
        """Something new has come."""
        self._failing_since, self._pause = None, self._limits.first_pause_s

    def wait(self, why: Unavailable, advice: str) -> None:
        """After a try that has failed. errors: Unavailable (it has been tried for long enough)."""
        now = time.monotonic()
        if now - self._connected > _STEADY_S:
            self.has_succeeded()
        self._failing_since = self._failing_since or now
        if now + self._pause - self._failing_since > self._limits.patience_s:
            raise Unavailable(f"{why}. {advice}", why.code, why.status) from why
        time.sleep(self._pause)
        self._pause = min(2 * self._pause, _LONGEST_PAUSE_S)
