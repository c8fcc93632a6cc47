"""Check a history as its provider does: the rules find the violation, the table has the text.

A rule without a text for a provider is not refused: that provider is not known to notice it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from toolwire.conversation.json import JsonPath, Object, get, text_of
from toolwire.conversation.model import Conversation, Finding, Tool
from toolwire.conversation.parts import Call, Result, Traceable
from toolwire.lint import find_all
from toolwire.lint.facts import Facts
from toolwire.mock.error_bodies import ErrorResponse
from toolwire.mock.error_texts import CODE, CODES, NOTICED, QUIET, STATUS, SYMPTOMS, words

_FIRST = frozenset(
    {
        "no-id",
        "empty-id",
        "id-type",
        "id-field",
        "arguments",
        "empty-name",
        "no-name",
        "bare",
        "output",
        "vocabulary",
    }
)
"""Symptoms of a single field: servers look at those before they look at pairs."""
_TYPES: tuple[tuple[type, str], ...] = (
    (bool, "a boolean"),
    (str, "a string"),
    (int, "an integer"),
    (float, "a decimal number"),
    (list, "an array"),
    (dict, "an object"),
)
_FIELDS = {
    "anthropic": ("tool_use.id", "tool_result.tool_use_id"),
    "gemini": ("function_call.id", "function_response.id"),
    "openai-responses": ("call_id", "call_id"),
    "azure-foundry": ("call_id", "call_id"),
}
"""Where the id of a call stands in its block, and that of a result."""
_IDS = ("id", "tool_call_id", "call_id", "tool_use_id")
_PREFIX = {"function_call": "fc", "custom_tool_call": "ctc", "message": "msg", "reasoning": "rs"}


def check_history(view: Facts) -> tuple[ErrorResponse | None, list[Finding]]:
    """The refusal of a history that its provider would not take; and what it would take although it
    is wrong."""
    findings = [
        one for one in find_all(view) if one.severity == "error" or one.name == "pending-tail"
    ]
    refused: list[tuple[bool, int, ErrorResponse]] = []
    quiet: list[Finding] = []
    for n, one in enumerate(findings):
        if one.name == "pending-tail" and not view.profile.rejects_missing_results:
            continue
        error = _error_for(one, findings, view)
        if error is None:
            quiet.append(one)
        else:
            symptom, refusal = error
            refused.append((symptom not in _FIRST, n, refusal))
    return min(refused, key=lambda one: one[:2])[2] if refused else None, quiet


def _error_for(
    finding: Finding, findings: Sequence[Finding], view: Facts
) -> tuple[str, ErrorResponse] | None:
    spot = _ErrorPosition(finding, view)
    symptom = _symptom(finding, spot, view)
    profile = view.profile
    house = (profile.name, profile.wire)
    if finding.name in QUIET and not getattr(profile, NOTICED.get(finding.name, ""), False):
        return None
    said = words(house, symptom, spot.role)
    if said is None:
        return None
    text = said.format_map(
        spot.words(
            [one for one in findings if SYMPTOMS.get(one.name) == SYMPTOMS.get(finding.name)],
            symptom,
        )
    )
    code = CODES.get((profile.wire, symptom)) or CODE.get(profile.wire)
    return symptom, ErrorResponse(text, STATUS.get(symptom, 400), spot.param, code, finding.name)


def _symptom(finding: Finding, spot: _ErrorPosition, view: Facts) -> str:
    """What a server notices of a fault: of an id of a wrong shape, whichever comes first."""
    symptom = SYMPTOMS.get(finding.name, finding.name)
    rule = view.profile.accepted_ids or view.profile.id_rule
    if symptom == "shape":
        if view.profile.reasoning_to_return == "signature" and finding.name == "id-carries-payload":
            return "unsigned"
        if rule.longest and not rule.exact and len(spot.id) > rule.longest:
            return "long-id"
        if not rule.fits(spot.id):
            return "bad-id"
        symptom = "unanswered" if isinstance(spot.part, Call) else "unasked"
    if symptom == "vocabulary":
        return (
            "no-role"
            if not spot.block.get("role")
            else "tool-calls"
            if spot.block.get("tool_calls")
            else symptom
        )
    if symptom == "unasked" and spot.follows_calls():
        return "stranger"
    if symptom == "item":
        held = spot.value
        if finding.path[-1:] != ("id",):
            return (
                "unasked"
                if isinstance(spot.part, Result) or spot.kind.endswith("output")
                else "no-id"
            )
        odd = not isinstance(held, str) or not re.fullmatch(r"[A-Za-z0-9_]+", held)
        return "odd-item" if odd else "item"
    if symptom == "content" and finding.path[-2:-1] == ("messages",):
        return "empty-content"
    return symptom


class _ErrorPosition:
    """The place of a fault, in every way in which a text may speak of it."""

    def __init__(self, finding: Finding, view: Facts) -> None:
        self.finding, self.view = finding, view
        self.path = finding.path
        self.part = _part(view.conversation, finding.path)
        self.value = get(view.body, finding.path)
        self.role = (
            "result"
            if isinstance(self.part, Result)
            else "tool"
            if finding.path[:1] == ("tools",)
            else ""
        )

    @property
    def id(self) -> str:
        """The id of the call or result, as it stands in the body."""
        part, own = self.part, self.block.get("call_id")
        held = (
            own
            if isinstance(own, str)
            else (
                part.id
                if isinstance(part, Call)
                else part.call_id
                if isinstance(part, Result)
                else ""
            )
        )
        return "" if held.startswith("tw-") else held

    @property
    def kind(self) -> str:
        """The type or role of the block."""
        block = self.block
        said = block.get("type") or block.get("role")
        return said if isinstance(said, str) else ""

    @property
    def param(self) -> str | None:
        """The place as chat servers name it."""
        return (
            _bracket_path(self.path)
            if self.path and self.path[0] in ("messages", "input", "tools")
            else None
        )

    def follows_calls(self) -> bool:
        """Whether a result stands among the answers to calls, though none of them is its own."""
        index = _index(self.path)
        messages = get(self.view.body, self.path[:1])
        for message in reversed(messages[:index] if isinstance(messages, list) else []):
            if isinstance(message, dict) and message.get("role") != "tool":
                return bool(message.get("tool_calls"))
        return False

    @property
    def block(self) -> Object:
        """The block at fault, or the one that holds it."""
        block = get(self.view.body, self._where())
        return block if isinstance(block, dict) else {}

    def _where(self) -> JsonPath:
        """The path of the block: up to its last number."""
        numbers = [n for n, step in enumerate(self.path) if isinstance(step, int)]
        return self.path[: numbers[-1] + 1] if numbers else self.path

    def words(self, alike: Iterable[Finding], symptom: str) -> dict[str, str]:
        """Everything that a text may speak of."""
        where = self._where()
        wire = self.view.profile.wire
        write = _bracket_path if wire not in ("anthropic", "bedrock") else _dot_path
        block = self.block
        index = _index(self.path)
        message = self.path[: 2 if len(self.path) > 1 else 1]
        named = [tool.name for tool in self.view.conversation.tools if tool.path == where]
        part, rule = self.part, self.view.profile.accepted_ids or self.view.profile.id_rule
        name = part.name if isinstance(part, Call | Result) else next(iter(named), "")
        if symptom == "unknown-name":
            name = self.finding.message.split(" ", 1)[0]
        long = symptom == "long-name"
        names = self.view.profile.accepted_names or self.view.profile.name_rule
        result = isinstance(part, Result)
        field = _FIELDS.get(wire, ("id", "tool_call_id"))[result]
        member = "toolResult" if result else "toolUse"
        smithy = f"{_smithy(where)}.{member}.{'name' if 'name' in symptom else 'toolUseId'}"
        ids = dict.fromkeys(
            one.id
            for found_at in alike
            if (one := _ErrorPosition(found_at, self.view)).id and one.role != "result"
        )
        held = block.get("id")
        first = get(block, ("content", 0, "type"))
        again = self._again()
        place = index if index is not None else 0
        return {
            "id": self.id,
            "ids": ", ".join(ids) or self.id,
            "name": name or "",
            "where": write(where),
            "path": write(self.path),
            "message": write(message),
            "field": f"{write(where)}.{field}",
            "index": str(place),
            "position": str(place + 1),
            "next": _dot_path((*message[:1], place + 1)),
            "dotted": _dot_path(message),
            "smithy": smithy,
            "kind": self.kind,
            "snake": "function_response" if result else "function_call",
            "length": str(len(name or "") if long else len(self.id)),
            "limit": str(names.longest if long else rule.longest or 64),
            "type": _type(
                self.value
                if symptom != "id-type"
                else next((block[key] for key in _IDS if key in block), None)
            ),
            "nametype": _type(get(block, ("function", "name"))),
            "value": f"'{self.id}'" if self.id else "null",
            "type_of": first if isinstance(first, str) else self.kind,
            "item": held if isinstance(held, str) else "",
            "prefix": _PREFIX.get(self.kind, "msg"),
            "first": again[0],
            "second": again[-1],
        }

    def _again(self) -> list[str]:
        """The messages with results under this id."""
        places = [
            one.path
            for one in self.view.results
            if one.call_id == getattr(self.part, "id", self.id) or one.call_id == self.id
        ]
        return [_bracket_path(at[:2]) for at in places] or [_bracket_path(self.path[:2])]


def _part(conversation: Conversation, path: JsonPath) -> Traceable | None:
    """The innermost part, or tool on offer, at a path or above it."""
    held: list[Traceable] = [
        *conversation.parts(),
        *(tool for tool in conversation.tools if isinstance(tool, Tool)),
    ]
    above = [one for one in held if one.path and path[: len(one.path)] == one.path]
    return max(above, key=lambda one: (len(one.path), isinstance(one, Call | Result)), default=None)


def _index(path: JsonPath) -> int | None:
    return path[1] if len(path) > 1 and isinstance(path[1], int) else None


def _bracket_path(path: JsonPath) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(
        "."
    )


def _dot_path(path: JsonPath) -> str:
    return ".".join(map(str, path))


def _smithy(path: JsonPath) -> str:
    """A path as AWS names it: members count from one."""
    return ".".join(f"{step + 1}.member" if isinstance(step, int) else step for step in path)


def _type(value: object) -> str:
    return next((said for kind, said in _TYPES if isinstance(value, kind)), "null")


def findings_header(findings: Iterable[Finding]) -> str:
    """What was found and not refused, for a header field."""
    return (
        "; ".join(f"{one.code} {one.name} {text_of(one.pointer)}" for one in findings)
        .encode("ascii", "replace")
        .decode()[:1000]
    )
