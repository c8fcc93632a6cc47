"""Find the histories in a JSON document: a body, a body in a wrapper, a stored run of an agent.

A wrapper is an object with a field that holds a body: `{"request": …}` of a log, `{"body": …}` of a
batch file, `{"history": …}` of an application. Wrappers may be nested. Records of the gateway are
wrappers that name the wire.
"""

from __future__ import annotations

from toolwire.agent.session_format import load_thread
from toolwire.codec import decode_in_full, encode, resolve
from toolwire.codec.known_wires import detect, score_wires
from toolwire.conversation.json import JSON, JsonPath, Object, dump, get
from toolwire.conversation.model import Conversation, Kind
from toolwire.errors import DecodeError, InputError, UsageError
from toolwire.sessions.gemini_cli import is_gemini_cli_document, read_gemini_cli_document
from toolwire.sessions.history import DocumentHistory, History
from toolwire.sessions.lines import Line
from toolwire.wires import names

_KINDS: tuple[Kind, ...] = ("request", "response")
_FIRST_FIELD = "request"
"""The field that holds the history if other fields hold bodies too."""


def find_in_document(
    data: bytes, value: JSON, *, source: str | None = None, line: Line | None = None
) -> list[History]:
    """The histories in a document; a run of an agent that switched models has several.

    Args:
        data: The file.
        value: The document.
        source: The wire, profile or provider of the body; detected if not given.
        line: The line of the document; None if it is the whole file.

    Raises:
        DecodeError: The document holds no body of the given wire.
        UsageError: The document holds no body of a known wire, or several.
    """
    if isinstance(value, dict):
        if "toolwire" in value and isinstance(value.get("sections"), list):
            return _find_in_run(data, value, line=line)
        if is_gemini_cli_document(value) and line is None:
            return [read_gemini_cli_document(data, value)]
    path, wire = _find_body(value, source)
    form = "json"
    if path:
        form = "record" if _recorded_wire(value) else "wrapper"
    body = _body_at(value, path)
    return [DocumentHistory(data, value, form=form, wire=wire, body=body, path=path, line=line)]


def _find_body(value: JSON, source: str | None) -> tuple[JsonPath, str]:
    """The path and the wire of the body in a document."""
    recorded = _recorded_wire(value)
    if recorded:
        if not isinstance(get(value, (_FIRST_FIELD,)), dict | list):
            raise UsageError("the recorded request is not JSON", path=(_FIRST_FIELD,))
        return (_FIRST_FIELD,), source or recorded
    try:
        return (), _wire_of(value, source)
    except InputError as error:
        fields = _fields_with_bodies(value, source)
        if not fields:
            inside = _find_deeper(value, source)
            if inside is not None:
                return inside
            raise _explain_refusal(value, source, error) from None
    if _FIRST_FIELD in fields:
        return (_FIRST_FIELD,), fields[_FIRST_FIELD]
    if len(fields) > 1:
        raise UsageError(f"several fields contain a body: {', '.join(fields)}; pass one of them")
    [(field, wire)] = fields.items()
    return (field,), wire


_DEEPEST = 3
"""The maximum depth of nested wrappers: `{"request": {"headers": …, "body": …}}`, and one more
around it."""


def _find_deeper(
    value: JSON, source: str | None, depth: int = 1
) -> tuple[tuple[str, ...], str] | None:
    """The path and the wire of the only body inside nested wrappers; None if there is none, or
    several."""
    found: list[tuple[tuple[str, ...], str]] = []
    for field, item in value.items() if isinstance(value, dict) else ():
        bodies = _fields_with_bodies(item, source)
        inside = None if bodies or depth == _DEEPEST else _find_deeper(item, source, depth + 1)
        found += [((field, name), wire) for name, wire in bodies.items()]
        if inside is not None:
            found.append(((field, *inside[0]), inside[1]))
    requests = [candidate for candidate in found if _FIRST_FIELD in candidate[0]] or found
    return requests[0] if len(requests) == 1 else None


def _explain_refusal(value: JSON, source: str | None, error: InputError) -> InputError:
    """The error about the only field that resembles a body; otherwise the error about the
    document."""
    if source is not None or not isinstance(value, dict) or any(score_wires(value).values()):
        return error
    resembling = [
        field
        for field, item in value.items()
        if isinstance(item, dict | list) and item and any(score_wires(item).values())
    ]
    for field in resembling if len(resembling) == 1 else ():
        try:
            detect(value[field])
        except UsageError as inner:
            return UsageError(inner.why, path=(field,))
    return error


def _recorded_wire(value: JSON) -> str:
    """The wire that a record of the gateway names; empty if the value is not a record."""
    api = get(value, ("api",)) if isinstance(value, dict) and _FIRST_FIELD in value else None
    return api if isinstance(api, str) and api in names() else ""


def _fields_with_bodies(value: JSON, source: str | None) -> dict[str, str]:
    """The fields of an object that hold a body, each with its wire."""
    found: dict[str, str] = {}
    for field, item in value.items() if isinstance(value, dict) else ():
        if isinstance(item, dict | list) and item:
            try:
                found[field] = _wire_of(item, source)
            except InputError:
                continue
    return found


def _wire_of(value: JSON, source: str | None) -> str:
    """The wire of a body: the given one, or the detected one if none is given.

    Raises:
        DecodeError: The body cannot be read as the given wire.
        UsageError: No wire is given, and it cannot be detected.
    """
    if source is None:
        return detect(value)
    problem: DecodeError | None = None
    body = value if isinstance(value, dict | list) else dump(value)
    for kind in _KINDS:
        try:
            decode_in_full(body, source, kind)
        except DecodeError as error:
            problem = problem or error
        else:
            return source
    assert problem is not None
    raise problem


def _body_at(value: JSON, path: JsonPath) -> JSON:
    body = get(value, path)
    return body if isinstance(body, dict | list) else None


# --- runs of the agent ----------------------------------------------------------------------------


def _find_in_run(data: bytes, value: Object, *, line: Line | None) -> list[History]:
    """The sections of a stored run of an agent: a new one starts at each switch between wires."""
    sections = value["sections"]
    thread = load_thread(value, thread_id="")
    if not sections:
        raise UsageError("the run has no messages yet")
    histories: list[History] = []
    for n, section in enumerate(sections if isinstance(sections, list) else []):
        wire = resolve(str(get(section, ("wire",))))[0].name
        body = _body_at(section, ("body",))
        single = len(histories) == 0 and len(sections) == 1  # type: ignore[arg-type]
        if single and "open_results" in value:
            # Results of an incomplete turn are stored separately; the history includes them.
            body = encode(Conversation(thread.messages), wire).body
        histories.append(
            DocumentHistory(
                data,
                value,
                form="agent-run",
                wire=wire,
                body=body,
                path=("sections", n, "body"),
                line=line,
                obsolete="open_results" if single else "",
            )
        )
    return histories
