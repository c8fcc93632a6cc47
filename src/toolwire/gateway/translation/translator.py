"""Translate requests of one client API for one model, and the responses back.

On the same wire bytes pass untouched, unless the provider would refuse the history. Otherwise the
history is translated and repaired for the model, and the response comes back under the client's ids
and names. A continuation token carries content that the client's wire cannot express. The same
request gives the same bytes in every process. Knows wires only through their tables.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from toolwire.codec import decode, decode_body, encode, resolve
from toolwire.codec.plain_answer import plain_answer
from toolwire.conversation.json import JSON, Object, dump, load, parse_body
from toolwire.conversation.model import Conversation, Loss, Setting, Tool, Usage, real_losses
from toolwire.conversation.observations import Observations, observe
from toolwire.conversation.parts import Message, Pair
from toolwire.errors import DecodeError, UsageError
from toolwire.gateway.client_apis.api import ClientApi
from toolwire.gateway.translation.call_ids import CallIds, StrippedRequest, remove_minted_ids
from toolwire.gateway.translation.continuation_tokens import (
    digest_messages,
    encode_token,
    needs_token,
)
from toolwire.gateway.translation.outcome import outcome_of, parse_response, usage_of
from toolwire.gateway.translation.response_identity import IdentityFiller
from toolwire.gateway.translation.restore_history import restore_history
from toolwire.gateway.translation.same_wire import forward_unchanged, rename_model
from toolwire.gateway.translation.sampling import (
    fit_settings,
    losses_without_settings,
    remove_refused_fields,
    sampling_settings,
)
from toolwire.gateway.translation.token_extraction import (
    disown_unsigned_reasoning,
    extract_tokens,
    may_contain_unsigned_reasoning,
    may_have_reasoning,
    may_hold_token,
)
from toolwire.gateway.translation.upstream_request import (
    UpstreamRequest,
    losses_without_token,
    name_model,
    replaces_functions,
    restore_custom_call,
)
from toolwire.profiles.model_settings import REFUSED_FIELDS, limited_settings
from toolwire.profiles.table import Profile
from toolwire.translate import translate_conversation
from toolwire.wires.engine.cache_breakpoints import BreakpointPolicy

NOT_AN_OBJECT = "a request is a JSON object"
NO_MESSAGE = "a response without a message"
_REASONING_FIELDS: dict[str, Object] = {
    "reasoning": {"include": ["reasoning.encrypted_content"], "store": False}
}
"""Request fields that make a model return its reasoning in a form that can be sent back, by what
the profile wants back."""
_REASONS_BY_DEFAULT = re.compile(r"(?:.*/)?(?:o\d|codex|gpt-[5-9](?!.*chat))")
"""Names of models that reason by default. Other models refuse these fields."""


class ClientRequest(Struct, frozen=True, eq=False, gc=False):
    """A request of a client, as it was read."""

    conversation: Conversation
    observations: Observations | None = None
    """What one pass over the conversation saw, if there was one."""
    restored_turns: int = 0
    """The turns that were restored from continuation tokens."""
    paired_by_order: tuple[Pair, ...] = ()
    """The results that only their position assigns to a call."""
    losses: tuple[Loss, ...] = ()
    """Fields of the client that were left out because the provider refuses them."""


class TranslatedResponse(Struct, frozen=True, eq=False, gc=False):
    """A response as the client gets it."""

    body: bytes
    losses: tuple[Loss, ...] = ()
    usage: Usage | None = None
    finish_reason: str | None = None


class Translator:
    """The translation between one client API and one model. Has no state: any number of requests
    may use it at once."""

    __slots__ = (
        "_client_profile",
        "_client_wire",
        "_limits",
        "_model_decides",
        "_model_wire",
        "_reasoning_fields",
        "_reasoning_model",
        "api",
        "cache_breakpoints",
        "model",
        "profile",
        "same_wire",
        "sampling_fields",
        "settings",
        "target",
        "wire",
    )

    def __init__(
        self,
        api: ClientApi,
        target: str,
        *,
        model: str,
        settings: dict[str, Setting] | None = None,
        cache_breakpoints: BreakpointPolicy = "keep",
        sampling_fields: tuple[str, ...] = (),
    ) -> None:
        self._model_wire, profile = resolve(target)
        self.api = api
        self.target = target
        self.wire = self._model_wire.name
        self.model = model
        self.profile: Profile = profile
        self.settings = settings or {}
        self.cache_breakpoints: BreakpointPolicy = cache_breakpoints
        self.sampling_fields = sampling_fields
        self.same_wire = api.wire == self.wire
        self._client_wire, self._client_profile = resolve(api.wire)
        self._limits = limited_settings(profile)
        pattern = profile.reasoning_models
        self._reasoning_model = bool(pattern) and re.search(pattern, model) is not None
        """True if the model requires its reasoning back."""
        takes_text_only = profile.text_result_models
        self._model_decides = self._reasoning_model or (
            bool(takes_text_only) and re.search(takes_text_only, model) is not None
        )
        """True if the rules of the profile depend on the model."""
        self._reasoning_fields = _REASONING_FIELDS.get(profile.reasoning_to_return)

    # --- requests ---

    def request(self, raw: bytes, *, tools: Sequence[Tool] = ()) -> UpstreamRequest:
        """The request as the model gets it.

        Args:
            raw: the body of the client.
            tools: definitions that are added to those of the client.

        Raises:
            DecodeError: the body is not one of the client's wire.
            UsageError: only the provider's own server could answer the request.
        """
        stripped = self._strip(raw)
        conversation = self.decode_request(stripped)
        if self.same_wire and not tools and not self.settings:
            observations = observe(conversation, self.wire)
            if self._may_pass_unchanged(raw, conversation, observations):
                return forward_unchanged(
                    stripped,
                    conversation,
                    observations,
                    self.profile,
                    model=self.model,
                    model_decides_repair=self._model_decides
                    or self._is_bound(conversation, observations),
                )
        request = self.complete_request(raw, stripped, conversation)
        conversation = request.conversation
        if tools:
            conversation = replace(conversation, tools=(*conversation.tools, *tools))
        return self.write_request(conversation, request, unchanged=not tools)

    def _strip(self, raw: bytes) -> StrippedRequest:
        """A request without ids that the client got from here and the model never had, and without
        fields that the provider refuses."""
        if not self.same_wire:
            return StrippedRequest(raw)
        losses: tuple[Loss, ...] = ()
        if self.profile.name in REFUSED_FIELDS:
            raw, losses = remove_refused_fields(raw, self.profile)
        if not self.api.call_marks:
            return StrippedRequest(raw, losses=losses)
        return replace(remove_minted_ids(raw, self.wire), losses=losses)

    def decode_request(self, stripped: StrippedRequest) -> Conversation:
        """Read a request as a conversation. Raises DecodeError."""
        conversation = decode_body(stripped.raw, self._client_wire, "request")
        if not isinstance(conversation.source.body, dict):
            raise DecodeError(NOT_AN_OBJECT, wire=self.api.wire)
        return conversation

    def _is_bound(self, conversation: Conversation, observations: Observations) -> bool:
        """True if a request may hold reasoning that only the model that signed it accepts."""
        return bool(self.profile.signing_models) and may_have_reasoning(
            conversation.messages, observations
        )

    def _may_pass_unchanged(
        self, raw: bytes, conversation: Conversation, observations: Observations
    ) -> bool:
        if may_hold_token(raw, conversation.messages):
            return False
        return not (
            self.api.signs_reasoning
            and may_have_reasoning(conversation.messages, observations)
            and may_contain_unsigned_reasoning(raw)
        )

    def read_request(self, raw: bytes) -> ClientRequest:
        """A request as a conversation, with the turns of its continuation tokens. Raises as
        `request` does."""
        stripped = self._strip(raw)
        return self.complete_request(raw, stripped, self.decode_request(stripped))

    def complete_request(
        self, raw: bytes, stripped: StrippedRequest, conversation: Conversation
    ) -> ClientRequest:
        """A request with the turns of its continuation tokens and the settings of the model."""
        body = conversation.source.body
        assert isinstance(body, dict)
        reason = None if self.same_wire else self.api.provider_only(body)
        if reason is not None:
            raise UsageError(
                f"this model is not served by that provider: {reason}", wire=self.api.wire
            )
        messages, restored = conversation.messages, 0
        if self.same_wire and self.api.signs_reasoning:
            messages = tuple(map(disown_unsigned_reasoning, messages))
        settings = dict(conversation.settings)
        if self.settings:
            settings.update(self.settings)
        if "model" in settings or not self.same_wire or self._model_decides:
            settings["model"] = self.model
        completed = replace(conversation, messages=messages, settings=settings)
        observations = None if self.same_wire else observe(completed, self.wire)
        paired_by_order = stripped.paired_by_order(conversation, observations)
        if may_hold_token(raw, messages, observations):
            messages, restored = self._restore(messages)
            completed, observations = replace(completed, messages=messages), None
        return ClientRequest(
            completed,
            observations=observations,
            restored_turns=restored,
            paired_by_order=paired_by_order,
            losses=stripped.losses,
        )

    def write_request(
        self, conversation: Conversation, request: ClientRequest, *, unchanged: bool = False
    ) -> UpstreamRequest:
        """A conversation as the model gets it.

        Args:
            conversation: what to send; it continues the conversation of `request`.
            request: what the client sent.
            unchanged: True if both are the same, so that the response may pass untranslated.
        """
        refused: tuple[Loss, ...] = ()
        if not self.same_wire and not conversation.settings.keys().isdisjoint(self._limits):
            conversation, refused = fit_settings(conversation, self.profile)
        encoded = translate_conversation(
            conversation,
            self.target,
            cache_breakpoints=self.cache_breakpoints,
            abandon_pending=True,
            observations=request.observations if conversation is request.conversation else None,
        )
        original = request.conversation
        client_body, body = original.source.body, encoded.body
        if not isinstance(body, dict) or not isinstance(client_body, dict):
            raise DecodeError(NOT_AN_OBJECT, wire=self.api.wire)
        custom_tools: frozenset[str] = frozenset()
        losses = real_losses(encoded.losses)
        if self.same_wire:
            if "model" not in client_body:  # the path names it
                body = {key: value for key, value in body.items() if key != "model"}
        else:
            sampling = sampling_settings(conversation.settings, self.sampling_fields, body)
            if self._reasoning_fields is not None and self._asks_for_reasoning(body):
                body = {**body, **self._reasoning_fields}
            if sampling:
                body = {**body, **sampling}
                losses = losses_without_settings(losses, sampling, conversation)
            for tool in original.tools:
                if tool.kind == "custom":
                    custom_tools |= {tool.name}
        return UpstreamRequest(
            body=body,
            client_body=client_body,
            ids=encoded.ids,
            passthrough=self.same_wire
            and unchanged
            and not encoded.ids.names
            and not replaces_functions(client_body, body),
            changes=tuple(encoded.changes),
            losses=(*request.losses, *refused, *losses),
            paired_by_order=request.paired_by_order,
            restored_turns=request.restored_turns,
            custom_tools=custom_tools,
        )

    def _asks_for_reasoning(self, body: Object) -> bool:
        """True if the answer to a request may hold reasoning."""
        return "reasoning" in body or _REASONS_BY_DEFAULT.match(self.model) is not None

    def _restore(self, messages: tuple[Message, ...]) -> tuple[tuple[Message, ...], int]:
        """The messages without continuation tokens, and with the turns that this model wants."""
        plain: list[Message] = []
        tokens: dict[int, list[tuple[int, str]]] = {}
        for n, message in enumerate(messages):
            found: list[tuple[int, str]] = []
            if message.role == "assistant":
                message, found = extract_tokens(message)
            plain.append(message)
            if found:
                tokens[n] = found
        return restore_history(plain, tokens, self.wire) if tokens else (messages, 0)

    # --- responses ---

    def response(self, data: bytes, request: UpstreamRequest) -> TranslatedResponse:
        """The model's response as the client gets it.

        Raises:
            DecodeError: it is not a response of the model's wire, or not JSON on the same wire.
        """
        if request.passthrough:
            parsed = parse_response(data, self.wire)
            if parsed is None:
                load(data, self.wire)  # raises an error that describes the incomplete body
            body, _ = self.rename_model(data, request)
            if self.api.call_marks:
                body = CallIds(self.api, request).add_to_bytes(body)
            if parsed is not None:
                body = IdentityFiller(self.api, request).fill_bytes(body, parsed)
            return TranslatedResponse(body, (), *outcome_of(parsed, self.wire))
        response = decode_body(data, self._model_wire, "response")
        if not response.messages:
            raise DecodeError(NO_MESSAGE, wire=self.wire)
        turn = response.messages[0]
        for_client = self.response_for_client(response, request)
        if self.same_wire and replaces_functions(request.client_body, request.body):
            for_client = _without_source(for_client)
        info = request.response_info()
        # A plain answer has nothing that a token would carry.
        encoded = plain = plain_answer(
            for_client,
            self._client_wire,
            self._client_profile,
            reverse_map=request.ids,
            request=info,
        )
        if encoded is None:
            encoded = encode(for_client, self.api.wire, "response", ids=request.ids, request=info)
        value = encoded.body
        losses = tuple(real_losses(encoded.losses))
        if self.api.call_marks and isinstance(value, dict):
            value = CallIds(self.api, request).add(value)
        if plain is None and isinstance(value, dict) and self.needs_token((turn,)):
            copied = parse_body(dump(value))
            assert isinstance(copied, dict)
            self.api.add_token(copied, encode_token(self.wire, (turn,), self._digest(value)))
            value, losses = copied, losses_without_token(losses)
        return TranslatedResponse(dump(value), losses, usage_of(response), turn.stop)

    def rename_model(self, data: bytes, request: UpstreamRequest) -> tuple[bytes, bool]:
        """The bytes of a response on the same wire, with the model name that the client asked for
        where clients compare it; and True if no later bytes have to be renamed."""
        model = request.client_body.get("model")
        if not self.api.signs_reasoning or not isinstance(model, str) or model == self.model:
            return data, True
        return rename_model(data, model)

    def response_for_client(self, response: Conversation, request: UpstreamRequest) -> Conversation:
        """A response with the calls of custom tools as the client defined them and, where clients
        compare it, the model name that the client asked for."""
        if request.custom_tools:
            messages = tuple(
                [
                    replace(
                        message,
                        parts=tuple([restore_custom_call(part, request) for part in message.parts]),
                    )
                    for message in response.messages
                ]
            )
            response = replace(response, messages=messages)
        if self.api.signs_reasoning:
            response = replace(response, settings=name_model(response.settings, request))
        return response

    def needs_token(self, turn: Sequence[Message]) -> bool:
        """True if the model wants a turn back that the client's wire cannot carry."""
        if self.same_wire:
            return False
        wants_reasoning = bool(self.profile.reasoning_to_return)
        capabilities = self._client_wire.capabilities
        return needs_token(turn, capabilities, unsigned_reasoning=wants_reasoning)

    def token(self, turn: Sequence[Message], request: UpstreamRequest) -> str:
        """The continuation token of a turn that was streamed. The client assembles the same
        response as it would get as a whole."""
        response = Conversation(tuple(turn), (), {}, self.wire, "response")
        client_response = self.response_for_client(response, request)
        info = request.response_info()
        body = encode(
            client_response, self.api.wire, "response", ids=request.ids, request=info
        ).body
        return encode_token(self.wire, turn, self._digest(body))

    def _digest(self, body: JSON) -> str:
        messages = decode(body, self.api.wire, "response").messages
        return digest_messages([message for message in messages if message.role == "assistant"])

    @property
    def stream_media_type(self) -> str:
        """The media type of the model's streams."""
        stream = self._model_wire.stream
        return stream.media if stream is not None else ""


def _without_source(response: Conversation) -> Conversation:
    """A response that its own wire writes from its parts instead of as it was read."""
    messages = tuple(
        [Message(message.role, message.parts, message.stop) for message in response.messages]
    )
    return Conversation(messages, (), response.settings, "", "response")
