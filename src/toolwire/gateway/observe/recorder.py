"""Record every request as a line of JSON, and each stream as received.

    DIR/requests-20260131T120000-4711.jsonl         request, upstream requests, responses
    DIR/streams/20260131T120000-4711-12.anthropic.txt

A recorded stream can be replayed: `toolwire stream FILE --from anthropic --to openai-chat`. A whole
body is recorded as JSON. If its bytes differ from that JSON, by white space for example, `verbatim`
has its text under its JSON pointer. Secrets are removed. Only the owner of the process can read the
files.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path
from time import gmtime, strftime, time

from toolwire.conversation.json import JSON, Object, dump, parse
from toolwire.execution.redaction import Redactor
from toolwire.gateway.observe.request_record import BodyCapture, RequestRecord
from toolwire.gateway.redaction import redact_credential_fields, redactor

_log = logging.getLogger("toolwire.gateway")


class Recorder:
    """Writes requests into a folder: one file for each process."""

    def __init__(self, folder: Path) -> None:
        """Prepare the folder. Raises OSError if it cannot be made."""
        self._folder = folder
        self._redact = Redactor(())
        self._started = strftime("%Y%m%dT%H%M%S", gmtime())
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        (folder / "streams").mkdir(exist_ok=True, mode=0o700)

    def hide_secrets(self, secrets: list[str]) -> None:
        """Remove these values from everything that is written."""
        self._redact = redactor(secrets)

    def __call__(self, record: RequestRecord) -> None:
        """Write a request. A full disk does not stop the gateway."""
        if record.capture is None or not record.capture.request:
            return
        try:
            self._write(record, record.capture)
        except OSError as error:
            _log.error("a request was not recorded: %s", error.strerror)

    def _write(self, record: RequestRecord, capture: BodyCapture) -> None:
        process = f"{self._started}-{os.getpid()}"
        value: Object = {
            "at": round(time(), 3),
            **record.summary(),
            "request": self._clean(capture.request),
            "upstream_requests": [self._clean(data) for data in capture.upstream_requests],
        }
        bodies = {"/request": capture.request}
        for index, data in enumerate(capture.upstream_requests):
            bodies[f"/upstream_requests/{index}"] = data
        if capture.truncated:
            value["truncated"] = True
        upstream_response = b"".join(capture.upstream_response)
        if record.stream and upstream_response and record.upstream_wire:
            number = record.id.rpartition("-")[2]
            file = self._folder / "streams" / f"{process}-{number}.{record.upstream_wire}.txt"
            _append(file, self._clean_stream(upstream_response))
            value["stream_file"] = str(file.relative_to(self._folder))
            value["stream_events"] = self._clean(upstream_response)
        else:
            value["upstream_response"] = self._clean(upstream_response)
            bodies["/upstream_response"] = upstream_response
        response = b"".join(capture.response)
        value["response"] = self._clean(response)
        bodies["/response"] = response
        value["verbatim"] = self._verbatim_texts(bodies)
        _append(self._folder / f"requests-{process}.jsonl", dump(value) + b"\n")

    def _clean(self, data: bytes) -> JSON:
        """A body as JSON, or as text, without secrets."""
        try:
            value = parse(data)
        except ValueError:
            value = data.decode("utf-8", "replace")
        return self._redact.redact_json(redact_credential_fields(value))

    def _verbatim_texts(self, bodies: dict[str, bytes]) -> Object:
        """The texts of the bodies whose bytes the record does not show otherwise, by pointer.

        A body with a credential field is not among them: the field is known only after parsing.
        """
        texts: Object = {}
        for pointer, data in bodies.items():
            try:
                value = parse(data)
            except ValueError:
                continue
            if dump(value) != data and redact_credential_fields(value) == value:
                texts[pointer] = self._redact(data.decode())
        return texts

    def _clean_stream(self, data: bytes) -> bytes:
        """A stream without secrets. A binary one stays as it is, because its frames have lengths
        and checksums."""
        try:
            return self._redact(data.decode()).encode()
        except UnicodeDecodeError:
            return data


def _append(file: Path, data: bytes) -> None:
    """Append to a file that only its owner can read."""
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with os.fdopen(descriptor, "ab") as out:
        out.write(data)
