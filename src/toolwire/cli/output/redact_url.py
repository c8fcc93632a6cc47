"""URLs without credentials, for messages."""

from __future__ import annotations

import re

_LOGIN = re.compile(r"(?<=://)[^/?#\s]*@")
_PASSWORD = re.compile(r"(?i)(?<=[?&\s])((?:ssl)?password)=[^&\s]*")


def redact_url(text: str) -> str:
    """Replace user names and passwords of all URLs in a text."""
    return _PASSWORD.sub(r"\1=…", _LOGIN.sub("…@", text))
