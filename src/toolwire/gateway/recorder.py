"""One line of JSON for each exchange, and each stream as it came, for those who want to look at it
again.

    DIR/exchanges-4711.jsonl              what came, what was sent, what was answered
    DIR/streams/4711-12.anthropic.txt     toolwire stream THIS --from anthropic --to openai-chat

Keys are taken out, also where they stand inside a text; what a model says piece by piece is looked
at piece by piece. Knows no wire.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path
from time import time

from toolwire.conversation.json import JSON, Object, dump
from toolwire.execution.redaction import Redactor
from toolwire.gateway.observer import BodyCapture, RequestRecord, json_of

_log = logging.getLogger("toolwire.gateway")


class Recorder:
    """Writes exchanges into a folder. One process, one file."""

    def __init__(self, folder: Path) -> None:
        """Raises OSError if the folder cannot be made."""
        self._folder = folder
        self.secrets = Redactor(())
        (folder / "streams").mkdir(parents=True, exist_ok=True, mode=0o700)

    def hide(self, values: list[str]) -> None:
        """These are written nowhere."""
        self.secrets = Redactor(values)

    def __call__(self, seen: RequestRecord) -> None:
        """Write an exchange down. A disk that is full does not stop the gateway."""
        if seen.tape is None or not seen.tape.request:
            return
        try:
            self._write(seen, seen.tape)
        except OSError as error:
            _log.error("an exchange could not be recorded: %s", error.strerror)

    def _write(self, seen: RequestRecord, tape: BodyCapture) -> None:
        pid = os.getpid()
        name = f"{pid}-{seen.id.rpartition('-')[2]}"
        told: Object = {"at": round(time(), 3), **seen.summary()}
        told |= {
            "request": self._clean(tape.request),
            "sent": [self._clean(one) for one in tape.sent],
        }
        heard, answer = b"".join(tape.heard), b"".join(tape.told)
        if seen.stream and heard and seen.wire:
            file = self._folder / "streams" / f"{name}.{seen.wire}.txt"
            file.write_bytes(self._bytes(heard))
            told["stream_file"] = str(file.relative_to(self._folder))
            told["stream_events"] = self._clean(heard)
            told["answer"] = self._clean(answer)
        else:
            told |= {"response": self._clean(heard), "answer": self._clean(answer)}
        with (self._folder / f"exchanges-{pid}.jsonl").open("ab") as out:
            out.write(dump(told) + b"\n")

    def _clean(self, data: bytes) -> JSON:
        value = json_of(data)
        return self.secrets.redact_json(value)

    def _bytes(self, data: bytes) -> bytes:
        """A stream without secrets; one that is not text is left as it is, for its frames are
        counted."""
        try:
            return self.secrets(data.decode()).encode()
        except UnicodeDecodeError:
            return data
