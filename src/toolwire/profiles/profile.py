"""The profile of a provider: its wire, with everything that the provider is known to reject."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from toolwire.conversation.id_rules import IdRule


@lru_cache(maxsize=256)
def names_model(pattern: str, model: str) -> bool:
    """True if a pattern matches a model name. Results are cached: a program uses few models."""
    return re.search(pattern, model) is not None


class Profile(Struct, frozen=True):
    """A wire as one provider implements it.

    Every flag is a statement that is true or false of the provider. A default means that no check
    is known.
    """

    name: str
    wire: str
    id_rule: IdRule = IdRule()
    """The call ids that are written for the provider."""
    name_rule: IdRule = IdRule()
    """The tool names that are written for the provider."""
    ids_unique_in_request: bool = False
    """True if a call id may occur only once in a whole request, not only once in a turn."""
    ids_unique_in_turn: bool = False
    """True if two calls of a turn may not share an id on a wire where ids are optional."""
    last_seen: str = ""
    """The month in which the facts were last confirmed, as `YYYY-MM`."""
    source: str = ""
    """Where the facts come from: issues, documentation, error texts."""
    accepted_ids: IdRule | None = None
    """The call ids that the provider accepts, if these are more than `id_rule` writes."""
    confidence: Literal["high", "medium", "low"] = "high"
    """How good the evidence is."""
    requires_ids: bool = True
    """True if calls and results without an id are rejected."""
    has_id_field: bool = True
    """True if calls and results have an id field; some servers reject the field."""
    id_sometimes_refused: bool = False
    """True if some servers of the provider reject the id field and others accept it."""
    result_placement: Literal["", "after", "next", "alone"] = ""
    """Where results must be: `after` their call; `next`, directly after the message of their
    call; `alone`, directly after it and with nothing else in their message."""
    results_share_one_message: bool = False
    """True if all results of a turn must be in one message."""
    results_come_first: bool = False
    """True if results must precede all other content of their message."""
    results_follow_call_order: bool = False
    """True if results are matched to calls by their order."""
    results_in_any_order: bool = False
    """True if results follow the order in which their tools finish, so that order pairs nothing."""
    rejects_missing_results: bool = True
    """True if a call without a result is rejected once later messages follow."""
    rejects_orphan_results: bool = True
    """True if a result without a call is rejected."""
    rejects_duplicate_results: bool = True
    """True if a second result of a call is rejected."""
    results_need_calls: bool = False
    """True if a result is a field of its call, so that a translation cannot write a result without
    a call."""
    text_result_models: str = ""
    """The pattern of the models that reject media inside a result, on a wire whose results can hold
    them. The media follow in a user message."""
    media_only_from_user: bool = False
    """True if media in a message of the assistant are rejected."""
    results_need_tool_name: bool = False
    """True if a result must have the tool name of its call."""
    call_needs_preceding_user: bool = False
    """True if a call must follow a user message or a result, so that no history starts with it."""
    no_user_after_tool: bool = False
    """True if a user message directly after a result is rejected."""
    must_end_with_user_or_tool: bool = False
    """True if a request must end with a user message or a result."""
    no_prefill_models: str = ""
    """The pattern of the models that reject a request that ends with an assistant message."""
    calls_need_tool_definitions: bool = False
    """True if a request whose history has calls must define tools."""
    arguments_format: Literal["", "text", "json", "object"] = ""
    """The required form of arguments: any `text` (on wires that send text), text that is valid
    `json`, or a JSON `object`."""
    requires_arguments: bool = False
    """True if missing arguments, or null, are rejected, on a wire that sends an object or accepts
    both text and an object."""
    assistant_content: Literal["", "text", "some"] = ""
    """The required content of an assistant message with calls: `text`, a string and not a list;
    `some`, not null."""
    content_is_text: bool = False
    """True if the content of every message must be a string."""
    reasoning_to_return: Literal["", "reasoning_content", "thinking", "signature", "reasoning"] = ""
    """What must be sent back with a call: the reasoning text, a signed thinking block, a signature
    on the call, or the reasoning item before it. Applies to `reasoning_models`, and to requests
    that switch reasoning on."""
    own_id_pattern: str = ""
    """The pattern of ids that the models generate and that must be returned unchanged."""
    accepted_names: IdRule | None = None
    """The tool names that the provider accepts, if these are more than `name_rule` writes, or if no
    check is known."""
    rejects_duplicate_tool_names: bool = False
    """True if two tool definitions of the same name are rejected."""
    tool_choice_must_exist: bool = False
    """True if a tool choice that names an undefined tool is rejected."""
    tool_choice_needs_tools: bool = False
    """True if settings of tools, such as the tool choice `none` or an empty list of tools, are
    rejected in a request that defines no tools."""
    rejects_empty_tool_calls: bool = False
    """True if an empty list of tool calls is rejected."""
    rejects_null_tool_calls: bool = False
    """True if null instead of a list of tool calls is rejected."""
    requires_call_type: bool = False
    """True if a call without its type is rejected, on a wire where calls have one."""
    rejects_null_call_type: bool = False
    """True if a call whose type is null is rejected, although it may be absent."""
    accepts_function_call: bool = True
    """True if the deprecated `function_call` and the role `function` are accepted."""
    rejects_blank_text: bool = False
    """True if blank texts and blank error results are rejected."""
    empty_content: Literal["", "null", "reply", "message", "part", "text"] = ""
    """What is rejected even without `rejects_blank_text`: `null`, null as the content of a message
    without calls; `reply`, an assistant message with neither content nor calls, and null as the
    content of another message; `message`, a message of any role without content; `part`, a part
    without any field, and a message without parts; `text`, these and an empty text."""
    rejects_lone_surrogates: bool = True
    """True if a lone surrogate in a text is rejected as invalid JSON: claude-code#1709,
    opencode#14630, oai-compatible-copilot#271."""
    refused_message_fields: tuple[str, ...] = ()
    """Fields of other servers that are rejected in a message."""
    accepted_message_fields: tuple[str, ...] = ()
    """The fields that a message may have; empty if no check of other fields is known."""
    fields_of_other_servers: tuple[str, ...] = ()
    """Fields that are missing in the types of the provider's API, but that other servers of the
    wire accept: they are not reported."""
    client_checks_fields: bool = False
    """True if the official client refuses unknown fields although the server does not."""
    accepted_roles: tuple[str, ...] | None = None
    """The roles that a message of a history may have; empty if messages have no role, None if no
    check is known."""
    computer_results_are_images: bool = False
    """True if the result of a computer call must be an image; it cannot be an error text."""
    system_may_follow_user: bool = False
    """True if `accepted_roles` also has `system`, but only directly after a user message."""
    system_comes_first: bool = False
    """True if a system message after other messages is rejected."""
    must_start_with_user: bool = False
    """True if a history must start with a user message."""
    item_id_prefixes: dict[str, str] = {}
    """The required prefix of an item id, by item type. Empty if items have no ids, or if ids are
    not checked."""
    reasoning_models: str = ""
    """The pattern of the models to which `reasoning_to_return` applies. For other models it applies
    only if the request switches reasoning on."""
    models_without_reasoning: str = ""
    """The pattern of the models that reject every reasoning item."""
    every_turn_models: str = ""
    """The pattern of the models to which `reasoning_to_return` applies in every turn."""
    reasoning_needed_in_every_turn: bool = False
    """True if `reasoning_to_return` applies to every turn, not only to the newest."""
    rejects_same_role_twice: bool = False
    """True if two consecutive messages of the same role are rejected."""
    server_results_stay_in_message: bool = False
    """True if a call that the provider ran must be followed by its result in the same message."""
    signing_models: str = ""
    """The pattern of the models whose reasoning is signed for that model only: any other model
    refuses it. Empty if no model is bound to its own reasoning."""
    skips_others: str = ""
    """The pattern of the models that skip reasoning of another model instead of refusing it."""
    sometimes_accepted: tuple[str, ...] = ()
    """Rules whose violation some servers of the provider refuse and others accept: a violation is
    reported as information, not as an error, and a repair still removes it."""
    takes_extra_settings: bool = False
    """True if a request may have settings of the wire that most other servers of the wire do not
    know: `store`, `metadata`, `service_tier`, `prompt_cache_key`, `safety_identifier`, `verbosity`,
    `top_logprobs`."""
    cache_breakpoint_models: str | None = None
    """The pattern of the models that accept cache breakpoints in a prompt; None if no model does. A
    request that names no model may have them."""
    web_search_models: str | None = None
    """The pattern of the models that search the web if a request asks for it; None if no model
    does."""
    merges_assistant_messages: bool = False
    """True if consecutive assistant messages count as one, so that their calls are one batch."""


def without_checks(profile: Profile) -> Profile:
    """Return the profile of a provider that is not known to check the pairing of calls and
    results."""
    return replace(
        profile,
        requires_ids=False,
        rejects_missing_results=False,
        rejects_orphan_results=False,
        rejects_duplicate_results=False,
        rejects_lone_surrogates=False,
    )
