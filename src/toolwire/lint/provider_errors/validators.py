"""Reports of validators, written as a path and a complaint.

Servers and SDKs check a request against a model of it, and print where it differs: Pydantic as a
tuple (`'loc': ('body', 'messages', 2, 'role'), 'msg': 'Field required'`), Zod as an array
(`"path": ["messages", 2, "role"], "message": "Required"`), validators of JSON Schema as a pointer
(`#/messages/2: required key [role] not found`). All of them mean `messages.2.role: Field required`,
which is the form that the tables know.
"""

from __future__ import annotations

import re

_ROOTS = r"(?:messages|input|contents|tools|functions|tool_choice|toolcalls|tool_calls)"
_Q = r"[\"']?"
_LOCATION = re.compile(
    rf"{_Q}(?:loc|path){_Q}\s?: ?[(\[]\s?([^()\[\]]{{1,300}}?)\s?[)\]] ?,\s?{_Q}(?:msg|message){_Q}"
    r"\s?: ?",
    re.IGNORECASE,
)
"""The place and the beginning of the message in a report of Pydantic, FastAPI or Zod."""
_POINTER = re.compile(rf"#/?({_ROOTS}(?:/[\w$-]{{1,80}}){{0,9}})?(?=:)", re.IGNORECASE)
_EXTRANEOUS = re.compile(
    r"([\w.]{0,200}): extraneous key \[([\w$-]{1,80})\] is not permitted", re.IGNORECASE
)
_REQUIRED = re.compile(r"([\w.]{0,200}): required key \[([\w$-]{1,80})\] not found", re.IGNORECASE)
_UNION = re.compile(r"(?:list\[)?union\[[^\]]{0,9000}(?:\]{1,2}|$)|^[^\[\]>]{0,600}\]\](?= ->)")
"""The types of a union, which Pydantic prints as a step of a path."""
_UNION_BRANCH = re.compile(r"typed-dict|function-\w+|tagged-union|model|list|str|dict|int")
"""Steps that name a branch of a union, not a field of the request."""


def rewrite_locations(text: str) -> str:
    """A text in which places of the request are paths, whichever validator reported them."""
    if "]" not in text and "(" not in text:
        return text
    text = _LOCATION.sub(_write_location, _UNION.sub("", text))
    if "#" in text:
        text = _POINTER.sub(lambda match: (match[1] or "").replace("/", "."), text)
    text = _EXTRANEOUS.sub(
        lambda match: f"{_join(match[1], match[2])}: extra inputs are not permitted", text
    )
    return _REQUIRED.sub(lambda match: f"{_join(match[1], match[2])}: field required", text)


def _write_location(match: re.Match[str]) -> str:
    """The path of a place, and the separator before its message."""
    steps = [step.strip(" \"'") for step in match[1].split(",")]
    if steps[:1] == ["body"]:
        steps = steps[1:]
    path = ".".join(step for step in steps if not _UNION_BRANCH.fullmatch(step))
    return f"{path}: " if path and path != "type" else match[0]


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key
