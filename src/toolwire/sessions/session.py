"""Open a session file, check and repair its history, and save it. Does I/O."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from toolwire.atomic_write import replace_file, write_copy
from toolwire.codec import decode, decode_in_full, encode, resolve
from toolwire.codec.body_shape import Report
from toolwire.conversation.id_map import IdMap
from toolwire.conversation.json import JSON
from toolwire.conversation.model import Change, Conversation, Finding, Kind
from toolwire.errors import DecodeError, UsageError, describe_os_error, pointer
from toolwire.lint import Repaired, check, repair
from toolwire.lint.explain import Explanation, explain
from toolwire.sessions.find import find_history
from toolwire.sessions.history import History, path_at

_MOST_REPAIRS = 5
"""The maximum number of repairs, because the lines are read again after each."""


def open_session(path: str | Path, wire: str | None = None, *, line: int | None = None) -> Session:
    """Open a file with a history: a session of a coding agent or of toolwire, messages, or a log.

    Args:
        path: The file.
        wire: The wire, profile or provider of the history; detected if not given.
        line: The line to read, for a file with a body on each line.

    Raises:
        DecodeError: The file is not JSON or JSONL.
        UsageError: The file cannot be read, or contains no history of a known wire, or several.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: {describe_os_error(error)}") from None
    return Session(data, str(path), wire=wire, line=line)


class Session:
    """The history of a file.

    Edits stay in memory until `save`. Only lines whose messages changed are rewritten; all
    other content of the file stays verbatim.
    """

    def __init__(
        self,
        data: bytes,
        name: str,
        *,
        wire: str | None = None,
        line: int | None = None,
        kind: Kind | None = None,
    ) -> None:
        """Find the history in the content of a file; `open_session` reads the file."""
        self.name = name
        """The name of the file."""
        self._saved = data
        self._data = data
        self._conversation: Conversation | None = None
        self._history = find_history(data, name, source=wire, line=line)
        self._kind = kind or _kind_of(self._history)

    @property
    def format(self) -> str:
        """The format of the file: `claude-code`, `codex`, `gemini-cli`, `agent-run`, `record` of
        the gateway, `wrapper`, `jsonl` with a message on each line, or `json`."""
        return self._history.form

    @property
    def wire(self) -> str:
        """The wire of the history, or the profile that was given."""
        return self._history.wire

    @property
    def kind(self) -> Kind:
        """`request` or `response`: the kind of the history."""
        return self._kind

    @property
    def body(self) -> JSON:
        """The history as a body of its wire."""
        return self._history.body

    @body.setter
    def body(self, body: JSON) -> None:
        self._data = self._history.render(body)
        self._history = self._history.reread(self._data)
        self._conversation = None

    @property
    def conversation(self) -> Conversation:
        """The history. Set it to an edited conversation to change the session."""
        if self._conversation is None:
            self._conversation = decode(self.body, self.wire, self._kind)
        return self._conversation

    @conversation.setter
    def conversation(self, conversation: Conversation) -> None:
        self.body = encode(conversation, self.wire, self._kind).body

    @property
    def content(self) -> bytes:
        """The content of the file, with all edits."""
        return self._data

    @property
    def skipped_lines(self) -> list[int]:
        """The numbers of lines that are not JSON. The program that wrote the file skips them
        too."""
        return [line.number for line in self._history.skipped]

    def check(self, *, target: str | None = None) -> list[Finding]:
        """List the violations that the provider would refuse. Their paths lead into the line or
        file, and `line` is the line number.

        Args:
            target: The wire or profile that the history goes to; its own wire if not given.
        """
        return self.locate(check(self.body, self.wire, self._kind, target=target))

    def repair(
        self, *, unsafe: bool = False, abandon_pending: bool = False, target: str | None = None
    ) -> Repaired:
        """Make the history acceptable to its provider and list every change.

        Args:
            unsafe: Assign results and arguments by order where nothing else identifies the call.
            abandon_pending: Add an error result to the calls at the end that wait for results.
            target: The profile that the history goes to, on the same wire.
        """
        changes: list[Change] = []
        ids = IdMap()
        for _ in range(_MOST_REPAIRS):
            before = self.body
            done = repair(
                before,
                self.wire,
                self._kind,
                unsafe=unsafe,
                abandon_pending=abandon_pending,
                target=target,
            )
            located = self.locate(done.changes)
            if done.changes:
                self.body = done.body
            if self.body == before:  # nothing to do, or the format cannot hold the fix
                break
            changes += located
            ids = done.ids.after(ids)
        return Repaired(self.body, changes, self._remaining(target, unsafe), self._data, ids)

    def _remaining(self, target: str | None, unsafe: bool) -> list[Finding]:
        """The findings that remain after a repair, without the fixes that could not be applied."""
        fixes = ("safe", "unsafe") if unsafe else ("safe",)
        return [
            replace(finding, fix=None) if finding.fix in fixes else finding
            for finding in self.check(target=target)
        ]

    def explain(self, error_text: str) -> list[Explanation]:
        """Explain an error of the provider. Pointers lead into the line or file."""
        return [
            self._locate_explanation(explanation)
            for explanation in explain(error_text, self.body, self.wire)
        ]

    def locate(self, reports: Sequence[Report]) -> list[Report]:
        """Translate the paths of reports about the body into paths in the file and line numbers."""
        places = [self._history.place(report.path) for report in reports]
        return [
            replace(report, path=place.path, line=place.line)
            for report, place in zip(reports, places, strict=True)
        ]

    def _locate_explanation(self, explanation: Explanation) -> Explanation:
        if explanation.pointer is None:
            return explanation
        path = path_at(self.body, explanation.pointer)
        if isinstance(self.body, list) and path[:1] == (resolve(self.wire)[0].messages_field,):
            path = path_at(self.body, f"/{explanation.pointer.split('/', 2)[-1]}")
        place = self._history.place(path)
        return replace(explanation, pointer=pointer(place.path), line=place.line)

    def save(self, path: str | Path | None = None) -> Path | None:
        """Write the session, and return the path of the backup, or None if there is none.

        Without a path, the file that was opened is replaced in one step if anything changed, and a
        backup keeps the old content. The mode of the file stays.

        Args:
            path: Another file to write instead.

        Raises:
            UsageError: The file cannot be written, or another program has changed it.
        """
        if path is not None:
            write_copy(path, self.name, self._data)
            return None
        if self._data == self._saved:
            return None
        backup = replace_file(self.name, self._saved, self._data)
        self._saved = self._data
        return backup


def _kind_of(history: History) -> Kind:
    """A request if the body can be read as one, otherwise a response."""
    try:
        decode_in_full(history.body, history.wire)
    except DecodeError as error:
        try:
            decode_in_full(history.body, history.wire, "response")
        except DecodeError:
            raise error from None
        return "response"
    return "request"
