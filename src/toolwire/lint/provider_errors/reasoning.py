"""Errors about reasoning, thinking and signatures around calls."""

from __future__ import annotations

from toolwire.lint.provider_errors.pattern import ErrorPattern

REASONING_PHRASES = (
    ErrorPattern(
        words=r"thinking\.signature: field required",
        rules=("signature-missing", "signature-foreign", "calls-split"),
        meaning="a thinking block has no signature",
        examples=("messages.1.content.0.thinking.signature: Field required",),
    ),
    ErrorPattern(
        words=(
            r"unknown parameter: messages\[\d+\]\.(?:reasoning|thinking)|\((?:reasoning|"
            r"thinking)\w* was unexpected\)|messages\W.{0,40}\b(?:reasoning|"
            r"thinking_blocks)\w*\W.{0,10}extra inputs are not permitted|"
            r"extra inputs are not permitted.{0,40}messages\W.{0,40}\breasoning|"
            "property reasoning_content is unsupported"
        ),
        rules=("field-refused", "signature-foreign"),
        meaning="the provider has no field for the reasoning that other servers send",
        refuses_reasoning=True,
        examples=("Unknown parameter: 'messages[1].reasoning_content'.",),
    ),
)

SIGNATURE_READINGS = (
    ErrorPattern(
        concepts=("SIGNATURE & (MISSING|HAVE|REQUIRED)", "NO SIGNATURE"),
        rules=("signature-missing", "signature-foreign", "calls-split"),
        meaning="a required signature seems to be missing",
        implies={"reasoning_to_return": "signature", "reasoning_models": ".*"},
        examples=(
            (
                "Function call is missing a thought_signature in functionCall parts. This is"
                " required for tools to work correctly, and missing thought_signature may lead"
                " to degraded model performance."
            ),
            (
                "Unable to submit request because function call `f` in the 3. content block is"
                " missing a `thought_signature`."
            ),
        ),
    ),
    ErrorPattern(
        concepts=(
            "SIGNATURE & (INVALID|CHANGED|UNSUPPORTED|MATCH|FORMAT|NOT_FOUND|BROKEN)",
            "THINKING & CHANGED",
        ),
        rules=("signature-foreign", "signature-of-other-model", "signature-missing"),
        meaning="a signature seems not to be of this endpoint",
        refuses_reasoning=True,
        examples=(
            "messages.1.content.0: Invalid `signature` in `thinking` block",
            (
                "messages.1.content.1: `thinking` or `redacted_thinking` blocks in the latest"
                " assistant message cannot be modified. These blocks must remain as they were"
                " in the original response."
            ),
            "The encrypted content gAAA...Rg== could not be verified.",
            (
                "messages.1.content.3: `thinking` or `redacted_thinking` blocks in the latest"
                " assistant message cannot be modified. These blocks must remain as they were in"
                " the original response."
            ),
        ),
    ),
)
"""Rows that are tried before those about pairs: a call without its signature is not missing."""

REASONING_READINGS = (
    ErrorPattern(
        concepts=(
            "REASONING ONLY",
            "REASONING_CONTENT & UNSUPPORTED",
            "(PLACE|MESSAGE|ITEM|CONTENT) & UNSUPPORTED & (REASONING|THINKING)",
        ),
        rules=("signature-foreign", "field-refused", "wrong-vocabulary"),
        meaning="the provider seems to have no field for the reasoning that other servers send",
        refuses_reasoning=True,
        examples=("'messages.2' : property 'reasoning' is unsupported, did you mean 'role'?",),
    ),
    ErrorPattern(
        concepts=("REASONING_CONTENT & (MISSING|REQUIRED|HAVE|EMPTY|BACK)",),
        rules=("reasoning-content-missing",),
        meaning="the reasoning before a call seems to be missing",
        implies={
            "reasoning_to_return": "reasoning_content",
            "reasoning_models": ".*",
            "reasoning_needed_in_every_turn": True,
        },
        examples=(
            (
                "thinking is enabled but reasoning_content is missing in assistant tool call"
                " message at index 2"
            ),
            "The `reasoning_content` in the thinking mode must be passed back to the API.",
        ),
    ),
    ErrorPattern(
        concepts=(
            "ASSISTANT ~ LAST ~ THINKING",
            "LAST CONTENT ~ THINKING",
            "CONTENT ~ THINKING ~ ASSISTANT",
        ),
        rules=("content-shape", "reasoning-dangling"),
        meaning="reasoning is in a place where this provider does not accept it",
        examples=("messages.1: The final block in an assistant message cannot be `thinking`.",),
    ),
    ErrorPattern(
        concepts=(
            "REASONING ~ HAVE ~ (AFTER|ITEM)",
            "REASONING HAVE CALL",
            "REASONING MATCH",
            "ORPHAN REASONING",
        ),
        rules=("reasoning-dangling", "reasoning-missing", "item-id-stale"),
        meaning="a reasoning item seems to be without the item that follows it",
        implies={"reasoning_to_return": "reasoning"},
        examples=(
            "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
        ),
    ),
    ErrorPattern(
        concepts=("(HAVE|REQUIRED|MISSING) ~ REASONING",),
        rules=("reasoning-missing", "reasoning-dangling", "item-id-stale"),
        meaning="an item seems to be without its reasoning item",
        implies={"reasoning_to_return": "reasoning"},
        examples=(
            (
                "Item 'fc_1' of type 'function_call' was provided without its required"
                " 'reasoning' item: 'rs_1'."
            ),
        ),
    ),
    ErrorPattern(
        concepts=(
            "(EXPECTED|HAVE|MISSING|REQUIRED|FIRST|PREFIX) ~ THINKING",
            "THINKING ~ (MISSING|REQUIRED|BACK|NOT_FOUND)",
            "THINKING HAVE",
            "NO THINKING",
        ),
        rules=("thinking-missing", "reasoning-content-missing", "signature-foreign"),
        meaning="a turn with calls seems to be without its thinking block",
        implies={"reasoning_to_return": "thinking"},
        examples=(
            (
                "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but"
                " found `tool_use`. When `thinking` is enabled, a final `assistant` message"
                " must start with a thinking block."
            ),
        ),
    ),
    ErrorPattern(
        concepts=("ITEM & STORED", "ITEM ~ NOT_FOUND", "STORED ~ NOT_FOUND"),
        rules=("item-id-stale", "reasoning-missing", "reasoning-dangling"),
        meaning="an item seems to be referenced that the server has not stored",
        implies={"reasoning_to_return": "reasoning"},
        examples=(
            "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false.",
        ),
    ),
)
