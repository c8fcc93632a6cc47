"""Remove reasoning that a provider refused to read, so that the request can be sent again.

Reasoning is encrypted or signed for an account, a region or a deployment. After a switch, nothing
in the body shows that it is no longer valid: only the provider's error does.
"""

from __future__ import annotations

from toolwire.codec import encode_in_full, read_body, resolve
from toolwire.conversation.json import JSON, put
from toolwire.conversation.model import Change
from toolwire.conversation.part_map import PartSet
from toolwire.conversation.parts import Part, Reasoning
from toolwire.lint import Repaired, repair
from toolwire.lint.fixes.transforms import remove_parts
from toolwire.lint.provider_errors import match_error
from toolwire.lint.registry import rule

_RULE = "signature-foreign"
_SIGNATURE_FIELDS = ("thoughtSignature", "thought_signature")


def refuses_reasoning(error_text: str) -> bool:
    """True if an error reports that the provider cannot read the reasoning of the request."""
    return any(pattern.refuses_reasoning for pattern in match_error(error_text).patterns)


def repair_refused(body: JSON, target: str, error_text: str) -> Repaired:
    """Repair a request that its provider refused.

    Reasoning is removed if the error reports that it cannot be read. A request without a visible
    fault is not changed otherwise.
    """
    wire, _ = resolve(target)
    stripped: JSON = body
    changes: list[Change] = []
    if refuses_reasoning(error_text):
        stripped, changes = _without_reasoning(body, wire.name)
    repaired = repair(stripped, wire.name, target=target)
    return Repaired(
        repaired.body, [*changes, *repaired.changes], repaired.findings, None, repaired.ids
    )


def _without_reasoning(body: JSON, wire: str) -> tuple[JSON, list[Change]]:
    """A request without reasoning and signatures."""
    conversation = read_body(body, wire, "request")
    signed: list[Part] = [
        part
        for part in conversation.parts()
        if isinstance(part, Reasoning) or part.signature is not None
    ]
    refused = rule(_RULE)
    changes = [
        Change(
            refused.code, refused.name, part.path, "removed the reasoning that the provider refused"
        )
        for part in signed
    ]
    for part in signed:
        if not isinstance(part, Reasoning) and isinstance(part.raw, dict):
            kept = {key: part.raw[key] for key in part.raw if key not in _SIGNATURE_FIELDS}
            body = put(body, part.path, kept)
    reasoning: PartSet[Part] = PartSet(part for part in signed if isinstance(part, Reasoning))
    if not len(reasoning):
        return body, changes
    conversation = read_body(body, wire, "request")
    paths = {part.path for part in reasoning}
    unreadable: PartSet[Part] = PartSet(
        part for part in conversation.parts() if isinstance(part, Reasoning) and part.path in paths
    )
    return encode_in_full(remove_parts(conversation, unreadable), wire).body, changes
