"""Media helpers: data URLs, kinds by MIME type, and MIME types guessed from file names."""

from __future__ import annotations

from mimetypes import guess_type
from typing import Literal

from toolwire.conversation.parts import Media

Kind = Literal["image", "audio", "video", "file"]
_KINDS: dict[str, Kind] = {"image": "image", "audio": "audio", "video": "video"}


def kind_by(mime: str | None) -> Kind:
    """Return the kind of media of a MIME type; `file` if it is no image, audio or video."""
    return _KINDS.get((mime or "").partition("/")[0], "file")


def split_data_url(url: str) -> tuple[str | None, str] | None:
    """Return the MIME type and the data of a base64 `data:` URL; None for any other URL."""
    if not url.startswith("data:"):
        return None
    header, comma, data = url[5:].partition(",")
    mime, semicolon, encoding = header.rpartition(";")
    return (mime or None, data) if comma and semicolon and encoding == "base64" else None


def data_url(media: Media) -> str | None:
    """Return the URL of the media, or a `data:` URL with its data; None if it has neither."""
    if media.url is not None:
        return media.url
    if media.data is not None:
        return f"data:{media.mime or 'application/octet-stream'};base64,{media.data}"
    return None


def mime_of(media: Media) -> str | None:
    """Return the MIME type, guessed from the name or URL if the wire had none."""
    return media.mime or guess_type(media.name or media.url or "")[0]


def type_shows(media: Media) -> bool:
    """Return True if the URL or the name shows the MIME type, or there is none to show."""
    return media.mime is None or guess_type(media.name or media.url or "")[0] == media.mime


_AUDIO_FORMATS = {
    "mp3": "mp3",
    "mpeg": "mp3",
    "mpga": "mp3",
    "x-mp3": "mp3",
    "wav": "wav",
    "wave": "wav",
    "x-wav": "wav",
    "vnd.wave": "wav",
}
_AUDIO_TYPES = {"mp3": "audio/mpeg"}


def audio_format(media: Media) -> str:
    """Return the audio format for wires that name it instead of a MIME type."""
    subtype = (mime_of(media) or "").partition(";")[0].partition("/")[2]
    return _AUDIO_FORMATS.get(subtype, subtype)


def audio_type(name: str) -> str:
    """Return the MIME type of an audio format."""
    return _AUDIO_TYPES.get(name, f"audio/{name}")


_ALPHABET = str.maketrans("-_", "+/")


def standard(data: str) -> str:
    """Convert URL-safe base64, which protobuf's JSON accepts too, to the padded standard form."""
    if "-" not in data and "_" not in data:
        return data
    return data.translate(_ALPHABET) + "=" * (-len(data) % 4)
