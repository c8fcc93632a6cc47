"""The symptom by which a server notices a violated rule.

A server reports only what it notices, so several rules share a symptom, and with it an error text.
"""

from __future__ import annotations

SYMPTOMS: dict[str, str] = {
    "id-missing": "no-id",
    "id-empty": "empty-id",
    "id-not-string": "id-type",
    "id-too-long": "shape",
    "id-wrong-length": "shape",
    "id-bad-charset": "shape",
    "id-composite": "shape",
    "id-carries-payload": "shape",
    "id-concatenated": "shape",
    "id-is-result-content": "shape",
    "id-rewrite-collision": "shape",
    "id-field-unsupported": "id-field",
    "id-is-tool-name": "twice",
    "id-dup-in-turn": "twice",
    "id-dup-call": "twice",
    "id-reused-across-turns": "twice",
    "dup-result": "dup-result",
    "orphan-result": "no-call",
    "history-starts-with-result": "no-call",
    "call-dropped-keep-result": "no-call",
    "result-before-call": "no-call",
    "missing-result": "unanswered",
    "partial-batch": "unanswered",
    "pending-tail": "unanswered",
    "result-separated": "separated",
    "results-split": "separated",
    "calls-split": "separated",
    "result-not-first": "separated",
    "server-tool-as-client": "unanswered",
    "result-with-extra": "extra",
    "history-starts-with-call": "call-first",
    "results-out-of-order": "name",
    "ambiguous-same-name": "count",
    "result-name-mismatch": "name",
    "count-mismatch": "count",
    "server-tool-unpaired": "server-tool",
    "user-after-tool": "user-after-tool",
    "trailing-assistant": "last",
    "item-id-as-call-id": "item",
    "item-id-prefix": "item",
    "item-id-stale": "stale",
    "duplicate-item": "item-twice",
    "wrong-vocabulary": "vocabulary",
    "wrong-role": "role",
    "output-not-string": "output",
    "reasoning-missing": "reasoning",
    "reasoning-dangling": "dangling",
    "thinking-missing": "thinking",
    "signature-missing": "unsigned",
    "signature-foreign": "signature",
    "signature-of-other-model": "signature",
    "reasoning-content-missing": "reasoning",
    "args-invalid-json": "arguments",
    "args-empty-string": "arguments",
    "args-double-encoded": "arguments",
    "args-wrong-type": "arguments",
    "args-merged": "arguments",
    "name-empty": "empty-name",
    "name-missing": "no-name",
    "name-bad-charset": "bad-name",
    "name-too-long": "long-name",
    "name-collision": "same-name",
    "name-unknown": "unknown-name",
    "tools-undefined": "no-tools",
    "empty-tool-calls": "empty-tool-calls",
    "content-shape": "content",
    "legacy-function-call": "legacy",
    "media-in-result": "media",
    "late-system-message": "late-system",
    "same-role-twice": "same-role",
    "lone-surrogate": "surrogate",
    "field-refused": "field",
    "item-shape": "item-shape",
    "wrong-json-type": "content",
    "too-many-cache-breakpoints": "breakpoints",
}
"""The symptom of each rule. `shape` is an id that is too long, has other characters, or belongs to
no call."""

UNNOTICED: dict[str, str] = {
    "native-id-mangled": "the request is accepted; the model calls its tools less well",
    "results-out-of-order": "accepted by servers that ignore names: results reach the wrong calls",
    "ambiguous-same-name": "accepted by servers that ignore ids",
}
"""Violations that no server notices, or only some servers do, and their effect. A header of the
response lists them."""
NOTICED_IF = {
    "results-out-of-order": "results_need_tool_name",
    "ambiguous-same-name": "results_need_tool_name",
}
"""The profile flag of the servers that notice one of these violations."""
