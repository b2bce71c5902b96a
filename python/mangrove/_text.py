"""Texts that others have written, made safe to print."""
from __future__ import annotations

import unicodedata
from typing import Any


def _is_hidden(character: str) -> bool:
    """Whether it moves the cursor, changes the direction of writing or cannot be seen."""
    category = unicodedata.category(character)
    return category.startswith("C") or category in ("Zl", "Zp")


def plain(text: str, keep_newlines: bool = False) -> str:
    """The text with control characters written out, as in \\x1b, so that none of them reaches a terminal."""
    if text.isprintable():
        return text
    return "".join(one if not _is_hidden(one) or (keep_newlines and one == "\n")
                   else one.encode("unicode_escape").decode("ascii") for one in text)


def cleaned(value: Any) -> Any:
    """The same of all texts in what was read from JSON."""
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, list):
        return [cleaned(one) for one in value]
    if isinstance(value, dict):
        return {plain(key): cleaned(one) for key, one in value.items()}
    return value
