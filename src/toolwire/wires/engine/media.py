"""Pictures and files between wires: data URLs, kinds by MIME type, and guesses by file name."""

from __future__ import annotations

from mimetypes import guess_type
from typing import Literal

from toolwire.conversation.parts import Media

Kind = Literal["image", "audio", "video", "file"]
_KINDS: dict[str, Kind] = {"image": "image", "audio": "audio", "video": "video"}


def kind_by(mime: str | None) -> Kind:
    """The kind of media a MIME type names; a file if nothing else."""
    return _KINDS.get((mime or "").partition("/")[0], "file")


def split_data_url(url: str) -> tuple[str | None, str] | None:
    """MIME type and base64 text of a `data:` URL, or None if it is none."""
    if not url.startswith("data:"):
        return None
    head, comma, data = url[5:].partition(",")
    mime, semicolon, coding = head.rpartition(";")
    return (mime or None, data) if comma and semicolon and coding == "base64" else None


def data_url(media: Media) -> str | None:
    """The URL of a medium: its own, or one that holds its data."""
    if media.url is not None:
        return media.url
    if media.data is not None:
        return f"data:{media.mime or 'application/octet-stream'};base64,{media.data}"
    return None


def mime_of(media: Media) -> str | None:
    """The MIME type, guessed from a name or URL if the wire did not say."""
    return media.mime or guess_type(media.name or media.url or "")[0]


def type_shows(media: Media) -> bool:
    """Whether a reader that sees only the URL or name knows the MIME type as well."""
    return media.mime is None or guess_type(media.name or media.url or "")[0] == media.mime


_ALPHABET = str.maketrans("-_", "+/")


def standard(data: str) -> str:
    """Base64 in the standard alphabet and with its padding; protobuf's JSON takes the alphabet of
    URLs as well."""
    if "-" not in data and "_" not in data:
        return data
    return data.translate(_ALPHABET) + "=" * (-len(data) % 4)
