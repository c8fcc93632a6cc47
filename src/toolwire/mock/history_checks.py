"""Check a history as its provider does: the rules find violations, `ERROR_TEXTS` has the texts.

If a provider has no text for a rule, its mock does not refuse the violation: the provider is not
known to notice it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from msgspec import Struct

from toolwire.conversation.ids import MINTED
from toolwire.conversation.json import JsonPath, Object, get, text_of
from toolwire.conversation.model import Finding, Tool
from toolwire.conversation.parts import Call, Result, Traceable
from toolwire.lint import find_all
from toolwire.lint.facts import Facts
from toolwire.lint.memo import once_per_history
from toolwire.mock.error_bodies import ErrorResponse
from toolwire.mock.error_texts import error_code, error_status, error_text
from toolwire.mock.symptoms import NOTICED_IF, SYMPTOMS, UNNOTICED

_FIELD_SYMPTOMS = frozenset(
    {
        "no-id",
        "empty-id",
        "id-type",
        "id-field",
        "arguments",
        "empty-name",
        "no-name",
        "empty-tool-calls",
        "output",
        "vocabulary",
        "no-role",
        "tool-calls",
        "field",
        "item-shape",
    }
)
"""Symptoms of a single field: servers check these before pairs."""
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
    "gemini-interactions": ("function_call.id", "function_result.call_id"),
    "openai-responses": ("call_id", "call_id"),
    "azure-foundry": ("call_id", "call_id"),
}
"""The field of a call that holds its id, and that of a result."""
_IDS = ("id", "tool_call_id", "call_id", "tool_use_id")
_PREFIX = {"function_call": "fc", "custom_tool_call": "ctc", "message": "msg", "reasoning": "rs"}


class HistoryCheck(Struct, frozen=True):
    """The violations in a history."""

    refusal: ErrorResponse | None
    """The refusal, if the provider would refuse the history."""
    about_field: bool
    """True if the refusal is about a single field, which servers check before pairs."""
    accepted: list[Finding]
    """Violations that its provider would accept."""
    found: list[Finding]
    """All findings."""

    def rule_at(self, path: JsonPath) -> str:
        """The rule that found something at a path or inside it, or around it."""
        for finding in self.found:
            shorter = min(len(path), len(finding.path))
            if finding.path and finding.path[:shorter] == path[:shorter]:
                return finding.name
        return ""


def check_history(view: Facts) -> HistoryCheck:
    """Check a history as its provider does."""
    strict = _is_strict_model(view)
    findings = [
        finding
        for finding in find_all(view)
        if finding.severity == "error"
        or finding.name == "pending-tail"
        or (strict and finding.name in view.profile.sometimes_accepted)
    ]
    refused: list[tuple[bool, int, _Violation]] = []
    accepted: list[Finding] = []
    for n, finding in enumerate(findings):
        if finding.name == "pending-tail" and not view.profile.rejects_missing_results:
            continue
        violation = _find_violation(finding, view)
        if violation is None:
            accepted.append(finding)
        else:
            refused.append((violation.symptom not in _FIELD_SYMPTOMS, n, violation))
    if not refused:
        return HistoryCheck(None, False, accepted, findings)
    about_pairs, _, violation = min(refused, key=lambda entry: entry[:2])
    return HistoryCheck(_write_error(violation, findings), not about_pairs, accepted, findings)


_STRICT_MODELS = {"cohere": re.compile(r"command-a")}
"""For providers that accept a violation only with some models: the models that refuse it."""


def _is_strict_model(view: Facts) -> bool:
    pattern = _STRICT_MODELS.get(view.profile.name)
    model = view.conversation.settings.get("model")
    return pattern is not None and isinstance(model, str) and pattern.search(model) is not None


class _Violation(Struct, frozen=True):
    """The symptom that a server notices, and its error text with names in braces."""

    position: _ErrorPosition
    symptom: str
    template: str


def _find_violation(finding: Finding, view: Facts) -> _Violation | None:
    position = _ErrorPosition(finding, view)
    symptom = _symptom(finding, position, view)
    profile = view.profile
    if finding.name in UNNOTICED and not getattr(profile, NOTICED_IF.get(finding.name, ""), False):
        return None
    template = error_text((profile.name, profile.wire), symptom, position.role)
    return None if template is None else _Violation(position, symptom, template)


def _write_error(violation: _Violation, findings: Sequence[Finding]) -> ErrorResponse:
    position, symptom = violation.position, violation.symptom
    group = SYMPTOMS.get(position.finding.name)
    similar = [other for other in findings if SYMPTOMS.get(other.name) == group]
    text = violation.template.format_map(position.placeholders(similar, symptom))
    code = error_code(position.view.profile.wire, symptom)
    rule = position.finding.name
    return ErrorResponse(text, error_status(symptom), position.param, code, rule)


def _symptom(finding: Finding, position: _ErrorPosition, view: Facts) -> str:
    """The symptom by which a server notices a violation; for an invalid id the first of its
    symptoms."""
    symptom = SYMPTOMS.get(finding.name, finding.name)
    rule = view.profile.accepted_ids or view.profile.id_rule
    if symptom == "shape":
        if view.profile.reasoning_to_return == "signature" and finding.name == "id-carries-payload":
            return "unsigned"
        if rule.longest and not rule.exact and len(position.id) > rule.longest:
            return "long-id"
        if not rule.fits(position.id):
            return "bad-id"
        symptom = "unanswered" if isinstance(position.part, Call) else "no-call"
    if symptom == "vocabulary":
        if not position.block.get("role"):
            return "no-role"
        return "tool-calls" if position.block.get("tool_calls") else symptom
    if symptom == "no-call" and position.follows_calls():
        return "unknown-call"
    if symptom == "item":
        if finding.path[-1:] != ("id",):
            is_result = isinstance(position.part, Result) or position.kind.endswith("output")
            return "no-call" if is_result else "no-id"
        item_id = position.value
        is_valid = isinstance(item_id, str) and re.fullmatch(r"[A-Za-z0-9_]+", item_id)
        return "item" if is_valid else "item-characters"
    if symptom == "content" and finding.path[-2:-1] == ("messages",):
        return "empty-content"
    return symptom


class _ErrorPosition:
    """Where a violation is, and the values that an error text can name."""

    def __init__(self, finding: Finding, view: Facts) -> None:
        self.finding, self.view = finding, view
        self.path = finding.path
        self.part = _part(view, finding.path)
        self.value = get(view.body, finding.path)
        self.role = ""
        if isinstance(self.part, Result):
            self.role = "result"
        elif finding.path[:1] == ("tools",):
            self.role = "tool"

    @property
    def id(self) -> str:
        """The id of the call or result in the body; empty if it has none."""
        part, call_id = self.part, self.block.get("call_id")
        if not isinstance(call_id, str):
            call_id = ""
            if isinstance(part, Call):
                call_id = part.id
            elif isinstance(part, Result):
                call_id = part.call_id
        return "" if call_id.startswith(MINTED) else call_id

    @property
    def kind(self) -> str:
        """The type or role of the block."""
        kind = self.block.get("type") or self.block.get("role")
        return kind if isinstance(kind, str) else ""

    @property
    def param(self) -> str | None:
        """The path as chat servers write it in the field `param` of an error."""
        if not self.path or self.path[0] not in ("messages", "input", "tools"):
            return None
        return _bracket_path(self.path)

    def follows_calls(self) -> bool:
        """True if a result follows calls of its turn, none of which is its own."""
        return self.path[:1] == ("messages",) and _index(self.path) in _messages_after_calls(
            self.view
        )

    @property
    def block(self) -> Object:
        """The block with the violation, or the one that holds it."""
        block = get(self.view.body, self._block_path())
        return block if isinstance(block, dict) else {}

    def _block_path(self) -> JsonPath:
        """The path of the block: the path up to its last index."""
        numbers = [n for n, step in enumerate(self.path) if isinstance(step, int)]
        return self.path[: numbers[-1] + 1] if numbers else self.path

    def placeholders(self, similar: Iterable[Finding], symptom: str) -> dict[str, str]:
        """The values for the names in braces of an error text.

        Args:
            similar: the findings with the same symptom.
            symptom: the symptom that the text is about.
        """
        block_path = self._block_path()
        wire = self.view.profile.wire
        write = _bracket_path if wire not in ("anthropic", "bedrock") else _dot_path
        block = self.block
        index = _index(self.path)
        message = self.path[: 2 if len(self.path) > 1 else 1]
        tool_names = [tool.name for tool in self.view.conversation.tools if tool.path == block_path]
        part, rule = self.part, self.view.profile.accepted_ids or self.view.profile.id_rule
        name = part.name if isinstance(part, Call | Result) else next(iter(tool_names), "")
        if symptom == "unknown-name":
            name = self.finding.message.split(" ", 1)[0]
        long = symptom == "long-name"
        names = self.view.profile.accepted_names or self.view.profile.name_rule
        result = isinstance(part, Result)
        field = _FIELDS.get(wire, ("id", "tool_call_id"))[result]
        member = "toolResult" if result else "toolUse"
        smithy = f"{_smithy(block_path)}.{member}.{'name' if 'name' in symptom else 'toolUseId'}"
        ids = dict.fromkeys(
            position.id
            for finding in similar
            if (position := _ErrorPosition(finding, self.view)).id and position.role != "result"
        )
        item_id = block.get("id")
        first_type = get(block, ("content", 0, "type"))
        result_messages = self._result_messages()
        position_in_list = index if index is not None else 0
        return {
            "id": self.id,
            "ids": ", ".join(ids) or self.id,
            "name": name or "",
            "where": write(block_path),
            "path": write(self.path),
            "message": write(message),
            "field": f"{write(block_path)}.{field}",
            "index": str(position_in_list),
            "position": str(position_in_list + 1),
            "next": _dot_path((*message[:1], position_in_list + 1)),
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
            "type_of": first_type if isinstance(first_type, str) else self.kind,
            "item": item_id if isinstance(item_id, str) else "",
            "prefix": _PREFIX.get(self.kind, "msg"),
            "first": result_messages[0],
            "second": result_messages[-1],
        }

    def _result_messages(self) -> list[str]:
        """The messages with results under this id."""
        call_ids = (getattr(self.part, "id", self.id), self.id)
        paths = [result.path for result in self.view.results if result.call_id in call_ids]
        return [_bracket_path(path[:2]) for path in paths or [self.path]]


@once_per_history
def _messages_after_calls(view: Facts) -> set[int]:
    """The indexes of the messages that follow calls, with nothing but results in between."""
    messages = get(view.body, ("messages",))
    indexes: set[int] = set()
    after_calls = False
    for n, message in enumerate(messages if isinstance(messages, list) else []):
        if after_calls:
            indexes.add(n)
        if isinstance(message, dict) and message.get("role") != "tool":
            after_calls = bool(message.get("tool_calls"))
    return indexes


@once_per_history
def _parts_by_path(view: Facts) -> dict[JsonPath, Traceable]:
    """The part, or tool definition, at each path; calls and results before others."""
    conversation = view.conversation
    candidates: list[Traceable] = [
        *conversation.parts(),
        *(tool for tool in conversation.tools if isinstance(tool, Tool)),
    ]
    parts: dict[JsonPath, Traceable] = {}
    for part in sorted(candidates, key=lambda part: not isinstance(part, Call | Result)):
        parts.setdefault(part.path, part)
    return parts


def _part(view: Facts, path: JsonPath) -> Traceable | None:
    """The innermost part, or tool definition, at a path or above it."""
    parts = _parts_by_path(view)
    above = (parts.get(path[:length]) for length in range(len(path), 0, -1))
    return next((part for part in above if part is not None), None)


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
    return next((name for kind, name in _TYPES if isinstance(value, kind)), "null")


def findings_header(findings: Iterable[Finding]) -> str:
    """The findings that were not refused, as the value of a header."""
    return (
        "; ".join(f"{each.code} {each.name} {text_of(each.pointer)}" for each in findings)
        .encode("ascii", "replace")
        .decode()[:1000]
    )
