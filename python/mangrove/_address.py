"""Where a server is, and with which token it is asked."""
from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass, field
from typing import Optional
from urllib.parse import parse_qs, urlsplit

from .errors import InvalidArgument

_EXAMPLE = "expected one such as http://127.0.0.1:7080/#token=..., as `mangrove dashboard` prints it"


@dataclass(frozen=True)
class Address:
    """Scheme, host and port of a server, and the part of the path that stands before its calls."""

    scheme: str
    host: str
    port: int
    prefix: str = ""
    token: Optional[str] = field(default=None, repr=False)

    @property
    def is_secure(self) -> bool:
        return self.scheme == "https"

    @property
    def is_loopback(self) -> bool:
        """Only programs of this machine can listen in."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}{self.prefix}"


def parse_address(url: str, token: Optional[str] = None) -> Address:
    """An address and its token; one that is given here wins over one behind the `#`.

    errors  InvalidArgument: no http or https, or characters that do not belong into an address or a token.
    """
    if not url.isascii() or not url.isprintable() or " " in url:
        raise InvalidArgument(f"{url!r} has characters that do not belong into an address; {_EXAMPLE}")
    if "://" not in url:
        url = "http://" + url
    parts = urlsplit(url)
    try:
        port = parts.port
    except ValueError:
        raise InvalidArgument(f"'{_without_token(url)}' has no valid port; {_EXAMPLE}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None or parts.query:
        raise InvalidArgument(f"'{_without_token(url)}' is no address of a server; {_EXAMPLE}")
    if token is None:
        given = parse_qs(parts.fragment).get("token")
        token = given[0] if given else None
    if token is not None and (not token.isascii() or not token.isprintable() or not token or " " in token):
        raise InvalidArgument("the token is empty, or has characters that do not belong into one")
    return Address(parts.scheme, parts.hostname, port or (443 if parts.scheme == "https" else 80),
                   parts.path.rstrip("/"), token)


def dashboard_address(url: Optional[str], token: Optional[str]) -> Address:
    """The address that was given, or that of the environment: MANGROVE_URL and MANGROVE_TOKEN.

    errors  InvalidArgument: none was given, or it is no address.
    """
    if url is None:
        url = os.environ.get("MANGROVE_URL") or None
        if token is None:
            token = os.environ.get("MANGROVE_TOKEN") or None
    if url is None:
        raise InvalidArgument("no address was given: start `mangrove dashboard`, and pass the address that it prints "
                              "to mangrove.connect(), or set MANGROVE_URL to it")
    return parse_address(url, token)


def _without_token(url: str) -> str:
    return url.split("#")[0]
