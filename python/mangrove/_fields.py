"""Checked reading of what servers send: JSON of bounded depth, and its fields with their types."""
from __future__ import annotations

import json
import math
from typing import Any, Callable, Dict, List, Mapping, Optional, TypeVar

from ._text import cleaned
from .errors import Error

T = TypeVar("T")


def malformed(what: str, why: str) -> Error:
    """An answer that cannot be read."""
    return Error(f"{what} cannot be read: {why}; is this address the right one, and are both sides of one version?",
                 code="data_loss")


_MOST_DIGITS = 40  # of a whole number; reading longer ones takes the square of their length


def _whole_number(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        raise ValueError(f"a whole number of {len(text)} digits")
    return int(text)


def parse_json(data: bytes, what: str) -> Any:
    """What is in a body. Control characters in its texts are written out.

    errors  data_loss: it is no JSON, has been cut off, or is nested too deeply.
    """
    try:
        return cleaned(json.loads(data.decode("utf-8"), parse_int=_whole_number))
    except RecursionError:
        raise malformed(what, "lists and objects are nested too deeply") from None
    except ValueError as error:
        raise malformed(what, f"it is no JSON ({error})") from None


def parse_object(data: bytes, what: str) -> Dict[str, Any]:
    """The same, where an object is expected."""
    value = parse_json(data, what)
    if not isinstance(value, dict):
        raise malformed(what, "an object is expected")
    return value


class Fields:
    """The fields of one object. A field that is not there has a default; one of another type is an error (data_loss)."""

    def __init__(self, value: Any, what: str) -> None:
        if not isinstance(value, dict):
            raise malformed(what, "an object is expected")
        self.raw: Mapping[str, Any] = value
        self._what = what

    def text(self, key: str, default: str = "") -> str:
        value = self.raw.get(key)
        if value is None:
            return default
        if not isinstance(value, str):
            raise self._wrong(key, "a text")
        return value

    def required_text(self, key: str) -> str:
        if key not in self.raw:
            raise malformed(self._what, f"the key '{key}' is missing")
        return self.text(key)

    def number(self, key: str, default: float = 0.0) -> float:
        found = self.optional_number(key)
        return default if found is None else found

    def optional_number(self, key: str) -> Optional[float]:
        value = self.raw.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self._wrong(key, "a number")
        try:
            return float(value)
        except OverflowError:
            raise self._wrong(key, "a number that a float can hold") from None

    def whole(self, key: str, default: int = 0) -> int:
        value = self.optional_number(key)
        if value is None:
            return default
        if not math.isfinite(value) or value != int(value):
            raise self._wrong(key, "a whole number")
        raw = self.raw[key]
        return raw if isinstance(raw, int) else int(value)

    def flag(self, key: str) -> bool:
        value = self.raw.get(key, False)
        if not isinstance(value, bool):
            raise self._wrong(key, "true or false")
        return value

    def optional_object(self, key: str) -> Optional[Dict[str, Any]]:
        value = self.raw.get(key)
        if value is not None and not isinstance(value, dict):
            raise self._wrong(key, "an object")
        return value

    def items(self, key: str, read: Callable[[Any], T]) -> List[T]:
        """A list, each item read by `read`."""
        value = self.raw.get(key)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self._wrong(key, "a list")
        return [read(one) for one in value]

    def texts(self, key: str) -> List[str]:
        return self.items(key, lambda one: one if isinstance(one, str) else str(one))

    def _wrong(self, key: str, expected: str) -> Error:
        return malformed(self._what, f"'{key}' is {_brief(self.raw[key])}, and {expected} is expected")


def _brief(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
