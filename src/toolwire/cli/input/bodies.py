"""Bodies and recorded streams in files, folders and stdin, and their wire and kind.

A file holds one body, one body on each line, one session spread over its lines, or one stream.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from toolwire.cli.framework.errors import CommandError, error_without_wire
from toolwire.cli.input.files import stdin
from toolwire.codec import decode, resolve
from toolwire.conversation.json import load
from toolwire.conversation.model import Kind
from toolwire.errors import DecodeError, InputError, UsageError, describe_os_error
from toolwire.sessions.documents import find_in_document
from toolwire.sessions.find import find_transcript, may_start_messages, starts_transcript
from toolwire.sessions.history import History
from toolwire.sessions.lines import Line, split_lines
from toolwire.wires import names, wire

SUFFIXES = (".json", ".jsonl", ".ndjson", ".sse")
"""Which files of a folder are read."""
STREAM_SUFFIX = ".sse"
LINE_SUFFIXES = (".jsonl", ".ndjson")
"""Files with a body on each line, also if there is only one line."""
SSE_FIELDS = (b"data:", b"event:", b"id:", b"retry:", b":")
"""How the first line of server-sent events starts."""
BLANK = b" \t\r\n\xef\xbb\xbf"
BRACKETS = (b"{}", b"[]")
"""First and last character of a line that holds a whole body."""


class InputFile(Struct, frozen=True):
    """A file that the command line names, or that is in a named folder."""

    name: str
    in_folder: bool = False

    @property
    def size(self) -> int:
        """The number of bytes, for a progress bar; 0 if it is not known."""
        try:
            return 0 if self.name == "-" else Path(self.name).stat().st_size
        except OSError:
            return 0


class InputBody(Struct, frozen=True):
    """A body or a stream. `line` is its line if its file has a body on each line."""

    text: bytes
    line: int | None = None
    is_stream: bool = False
    transcript: History | None = None
    """The history that is spread over the lines of the text."""


def list_files(arguments: tuple[str, ...]) -> list[InputFile]:
    """Return the named files and those of named folders, without hidden ones; default: stdin."""
    files: list[InputFile] = []
    for name in arguments or ("-",):
        path = Path(name)
        if name == "-" or not path.is_dir():
            files.append(InputFile(name))
            continue
        inside = [
            InputFile(str(file), in_folder=True)
            for file in sorted(path.rglob("*"))
            if _is_input(file, path)
        ]
        if not inside:
            raise CommandError(f"{name}: no file in it ends in {', '.join(SUFFIXES)}")
        files += inside
    return files


def _is_input(path: Path, folder: Path) -> bool:
    hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
    return path.suffix.lower() in SUFFIXES and not hidden and path.is_file()


def read_bodies(
    file: str, *, is_stream: bool = False, wire: str | None = None
) -> Iterator[InputBody]:
    """Yield the bodies of a file, read one at a time. A session of an agent is one body.

    With `is_stream`, the file is read as one stream, whatever it looks like.
    """
    try:
        with _open(file) as source:
            suffix = Path(file).suffix.lower()
            is_stream = is_stream or suffix == STREAM_SUFFIX
            yield from _split(source, suffix, is_stream=is_stream, wire=wire)
    except OSError as error:
        raise CommandError(f"{file}: {describe_os_error(error)}") from None


def _open(file: str) -> AbstractContextManager[BinaryIO]:
    return nullcontext(stdin()) if file == "-" else Path(file).open("rb")


def _split(
    source: BinaryIO, suffix: str, *, is_stream: bool, wire: str | None
) -> Iterator[InputBody]:
    """Split a file into bodies; its first two lines show if each line is one."""
    lines = iter(source.readline, b"")
    head: list[bytes] = []
    first_two: list[bytes] = []
    for line in lines:
        head.append(line)
        if line.strip(BLANK):
            first_two.append(line.strip(BLANK))
        if is_stream or len(first_two) == 2:
            break
    first = first_two[0] if first_two else b""
    line_is_body = len(first_two) == 2 and first[:1] + first[-1:] in BRACKETS
    if first and not is_stream and (suffix in LINE_SUFFIXES or line_is_body):
        if not _is_body(first, wire) or _may_be_messages(first_two):
            text = b"".join([*head, source.read()])
            all_lines = split_lines(text)
            transcript = find_transcript(all_lines, source=wire)
            if transcript is not None:
                yield InputBody(text, transcript=transcript)
                return
            head = [line.text for line in all_lines]
        for number, line in enumerate(chain(head, lines), start=1):
            if line.strip(BLANK):
                yield InputBody(line, number)
        return
    yield InputBody(
        b"".join(head) + source.read(), is_stream=is_stream or first.startswith(SSE_FIELDS)
    )


def _may_be_messages(lines: Sequence[bytes]) -> bool:
    """True if the first two lines may be messages of one history."""
    try:
        first, second = (load(line, "")[0] for line in lines)
    except (InputError, ValueError):
        return False
    return may_start_messages(first, second)


def _is_body(text: bytes, wire: str | None) -> bool:
    """True if a line holds a whole body, and is not a line of a session."""
    try:
        value, _ = load(text, "")
        return not starts_transcript(value) and bool(find_in_document(text, value, source=wire))
    except InputError:
        return False


def histories_of(body: InputBody, source: str | None, target: str | None) -> list[History]:
    """Return the histories in a body, each with its wire: the given one, else the detected one.
    The target decides between several wires.

    Raises UsageError if the body is of no wire, or of several.
    """
    if body.transcript is not None:
        return [body.transcript]
    value, _ = load(body.text, source or "")
    line = None if body.line is None else Line(body.line, body.text, value)
    try:
        if line is None and starts_transcript(value):
            transcript = find_transcript([Line(1, body.text, value)], source=source)
            if transcript is not None:
                return [transcript]
        return find_in_document(body.text, value, source=source, line=line)
    except UsageError as error:
        if source is not None:
            raise
        if target is not None:
            target_wire = resolve(target)[0]
            if target_wire.match_score(value) > 0:
                return find_in_document(body.text, value, source=target_wire.name, line=line)
        raise error_without_wire(error) from None


def kind_of(history: History, kind: Kind | None) -> Kind:
    """Return the given kind; else a request if the body can be read as one, else a response."""
    if kind is not None:
        return kind
    try:
        decode(history.body, history.wire, "request")
    except DecodeError as error:
        try:
            decode(history.body, history.wire, "response")
        except InputError:
            raise error from None
        return "response"
    return "request"


def wire_of_stream(source: str | None, target: str | None) -> str:
    """Return the given wire; else that of the target."""
    if source is not None:
        return source
    if target is None:
        raise CommandError("the wire of a stream cannot be detected; name it with --from WIRE")
    return resolve(target)[0].name


def resembles_a_wire(body: InputBody) -> bool:
    """True if the body looks like a body of any wire."""
    value, _ = load(body.text, "")
    return any(wire(name).match_score(value) for name in names())
