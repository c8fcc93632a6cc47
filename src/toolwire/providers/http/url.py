"""URLs of servers, and the head of a request to one. Opens no connection."""

from __future__ import annotations

import ipaddress
import re
from base64 import b64encode
from collections.abc import Mapping
from urllib.parse import unquote_to_bytes, urlsplit

from msgspec import Struct

_INVALID = re.compile(r"[\0-\x20\x7f]")
"""Characters that would end a request line, or a part of it."""
_FRAMING_FIELDS = frozenset(("content-length", "transfer-encoding"))
"""Fields that determine where a request ends. Sent twice, they are ambiguous."""


class Url(Struct, frozen=True):
    """An http or https URL, split into the parts that a request needs."""

    host: str
    port: int
    tls: bool
    path: str
    """Path and query, verbatim."""
    host_header: str
    login: bytes | None = None
    """User and password, if the URL has them."""

    @property
    def origin(self) -> str:
        """Scheme, host and port."""
        return f"{'https' if self.tls else 'http'}://{self.host_header}"

    @property
    def basic_auth(self) -> str | None:
        """The login as the value of an authorization field."""
        return None if self.login is None else f"Basic {b64encode(self.login).decode()}"

    def __repr__(self) -> str:
        """The origin only: login, path and query may hold keys, and this text reaches logs."""
        return f"Url({self.origin})"


def parse_url(url: str) -> Url:
    """Split a URL.

    Raises:
        ValueError: The text is not an http or https URL. The message does not quote the text.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:  # its text may quote a password
        raise ValueError("not an http or https URL") from None
    if parts.scheme not in ("http", "https") or not host or _INVALID.search(url):
        raise ValueError("not an http or https URL")
    if ":" in host:
        name = f"[{host.partition('%')[0]}]"  # without the zone, which is local to this machine
    else:
        name = host = host.encode("idna").decode()
    tls = parts.scheme == "https"
    default_port = 443 if tls else 80
    user = parts.netloc.rpartition("@")[0]
    login = unquote_to_bytes(user if ":" in user else f"{user}:") if user else None
    return Url(
        host=host,
        port=default_port if port is None else port,
        tls=tls,
        path=(parts.path or "/") + (f"?{parts.query}" if parts.query else ""),
        host_header=name if port is None or port == default_port else f"{name}:{port}",
        login=login,
    )


def is_loopback(host: str) -> bool:
    """True if only this machine can reach an address."""
    if host == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host.split("%")[0])
    except ValueError:
        return False
    # A socket for both versions of IP has IPv4 addresses in this form.
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback


def request_head(
    url: Url,
    fields: Mapping[str, str],
    length: int,
    *,
    method: str = "POST",
    target: str | None = None,
) -> bytes:
    """Return request line and header fields of a request.

    Args:
        url: Where the request goes.
        fields: Header fields. Without `host`, that of the URL is added.
        length: Bytes of the body.
        method: The HTTP method.
        target: The target in the request line instead of the path; a proxy gets the whole URL.

    Raises:
        ValueError: A field has a line break, or sets the length of the request.
    """
    names = {name.lower() for name in fields}
    if not _FRAMING_FIELDS.isdisjoint(names):
        raise ValueError("a header field sets the length of the request")
    lines = [f"{name}: {value}" for name, value in fields.items()]
    if "host" not in names:  # a signature includes the host, and sets it
        lines.append(f"host: {url.host_header}")
    text = "\n".join(lines)
    if text.count("\n") >= len(lines) or "\r" in text or "\0" in text:
        raise ValueError("a header field contains a line break")
    try:
        encoded = "\r\n".join(lines).encode("latin-1")  # the bytes that a client sent
    except UnicodeEncodeError:
        encoded = b"\r\n".join(map(_encode_field, lines))
    return b"%b %b HTTP/1.1\r\n%b\r\ncontent-length: %d\r\n\r\n" % (
        method.encode(),
        (target or url.path).encode(),
        encoded,
        length,
    )


def _encode_field(line: str) -> bytes:
    try:
        return line.encode("latin-1")
    except UnicodeEncodeError:
        return line.encode()
