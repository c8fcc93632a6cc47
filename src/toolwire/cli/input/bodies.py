"""Bodies and recorded streams in files, folders and stdin: where each stands, and its wire and kind
where nobody says.

A file holds one body, one body on each line, or a stream. Knows no rule.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from toolwire.cli.framework.usage_error import CommandError, said
from toolwire.codec import decode, resolve
from toolwire.conversation.json import load
from toolwire.conversation.model import Kind
from toolwire.errors import DecodeError, InputError, UsageError
from toolwire.translate import detect
from toolwire.wires import names, wire

SUFFIXES = (".json", ".jsonl", ".ndjson", ".sse")
"""What is looked for in a folder."""
STREAMS = ".sse"
LINES = (".jsonl", ".ndjson")
"""Files with a body on each line, also if there is only one."""
STREAM = (b"data:", b"event:", b"id:", b"retry:", b":")
"""What the first line of a stream of server-sent events begins with."""
BLANK = b" \t\r\n\xef\xbb\xbf"
ENDS = (b"{}", b"[]")
"""How a line begins and ends that holds a whole body."""


class Named(Struct, frozen=True):
    """A file to look into: by name, or found in a folder that was named."""

    file: str
    found: bool = False

    @property
    def size(self) -> int:
        """Its bytes, for a progress bar; none if nobody knows."""
        try:
            return 0 if self.file == "-" else Path(self.file).stat().st_size
        except OSError:
            return 0


class Held(Struct, frozen=True):
    """A body or a stream: its bytes, the line it stands on if there is one on each, and whether it
    is a stream."""

    text: bytes
    line: int | None = None
    stream: bool = False


def named(names: tuple[str, ...]) -> list[Named]:
    """The files that names stand for, folders looked through; what is hidden in a folder
    stays so.
    """
    found: list[Named] = []
    for name in names or ("-",):
        path = Path(name)
        if name == "-" or not path.is_dir():
            found.append(Named(name))
            continue
        inside = [
            Named(str(one), found=True) for one in sorted(path.rglob("*")) if _wanted(one, path)
        ]
        if not inside:
            raise CommandError(
                f"{name}: nothing to look at; in a folder that is {', '.join(SUFFIXES)}"
            )
        found += inside
    return found


def _wanted(path: Path, folder: Path) -> bool:
    hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
    return path.suffix.lower() in SUFFIXES and not hidden and path.is_file()


def held(file: str, *, stream: bool = False) -> Iterator[Held]:
    """What a file holds, read as it is asked for; `stream` says that it is one, whatever it looks
    like."""
    try:
        with _opened(file) as source:
            suffix = Path(file).suffix.lower()
            yield from _parted(source, suffix, stream=stream or suffix == STREAMS)
    except OSError as error:
        raise CommandError(f"{file}: {(error.strerror or str(error)).lower()}") from None


def _opened(file: str) -> AbstractContextManager[BinaryIO]:
    if file != "-":
        return Path(file).open("rb")
    if sys.stdin is None:
        raise CommandError("stdin is closed")
    return nullcontext(sys.stdin.buffer)


def _parted(source: BinaryIO, suffix: str, *, stream: bool) -> Iterator[Held]:
    """The bodies of a file; its first two lines tell how many there are."""
    lines = iter(source.readline, b"")
    head: list[bytes] = []
    full: list[bytes] = []
    for line in lines:
        head.append(line)
        if line.strip(BLANK):
            full.append(line.strip(BLANK))
        if stream or len(full) == 2:
            break
    if not stream and (suffix in LINES or (len(full) == 2 and full[0][:1] + full[0][-1:] in ENDS)):
        for number, line in enumerate(chain(head, lines), start=1):
            if line.strip(BLANK):
                yield Held(line, number)
    else:
        yield Held(
            b"".join(head) + source.read(),
            stream=stream or (bool(full) and full[0].startswith(STREAM)),
        )


def kind_of(one: Held, kind: Kind | None, wire: str) -> Kind:
    """What a body is: as somebody says, or a request if it can be read as one, else a response."""
    if one.stream:
        return "stream"
    if kind is not None:
        return kind
    try:
        decode(one.text, wire, "request")
    except DecodeError as error:
        try:
            decode(one.text, wire, "response")
        except InputError:
            raise error from None
        return "response"
    return "request"


def wire_of(one: Held, source: str | None, target: str | None) -> str:
    """The wire of a body: as somebody says, or found out; if it could be several, that of the
    target.

    Raises UsageError if it is a body of no wire, or of several.
    """
    if source is not None:
        return source
    if one.stream:
        if target is None:
            raise CommandError("the wire of a stream cannot be found out (--from WIRE decides)")
        return resolve(target)[0].name
    try:
        return detect(one.text)
    except UsageError as error:
        spoken = resolve(target)[0] if target is not None else None
        if spoken is not None and spoken.match_score(load(one.text, "")[0]) > 0:
            return spoken.name
        raise UsageError(f"{said(error)} (--from WIRE decides)") from None


def known(one: Held) -> bool:
    """Whether it looks like a body of any wire."""
    value, _ = load(one.text, "")
    return any(wire(name).match_score(value) for name in names())
