"""The fast path for responses of text and calls, which are most responses of a model.

Such an answer needs no lowering, and its ids and names fit unchanged. So it is written without the
passes over its parts that look for work.
"""

from __future__ import annotations

from toolwire.codec.encoded import Encoded, write
from toolwire.codec.fit import RulesOfBoth, rules_of_both
from toolwire.conversation.id_map import IdMap
from toolwire.conversation.model import Conversation
from toolwire.conversation.parts import Call, Message, Source, Text
from toolwire.profiles.table import PROFILES, Profile
from toolwire.wires.engine.encode_context import EncodeContext, RequestInfo
from toolwire.wires.engine.settings_lowering import lower_settings
from toolwire.wires.engine.specs import Wire


def plain_answer(
    conversation: Conversation,
    target: Wire,
    profile: Profile,
    *,
    reverse_map: IdMap,
    request: RequestInfo,
) -> Encoded | None:
    """Write an answer of text and calls; None for any other answer, which `encode` writes."""
    source_profile = PROFILES.get(conversation.wire)
    if source_profile is None or conversation.wire == target.name:
        return None
    if reverse_map.ids or reverse_map.names or reverse_map.calls or reverse_map.results:
        return None
    if conversation.source.messages is not conversation.messages or conversation.tools:
        return None
    if len(conversation.messages) != 1:
        return None
    message = conversation.messages[0]
    if not _is_plain(message, target, rules_of_both(profile, source_profile)):
        return None
    context = EncodeContext(
        target.name, "response", ids=None, names={}, reverse_map=reverse_map, request=request
    )
    settings = lower_settings(
        conversation.settings,
        target.capabilities,
        conversation.source.setting_paths,
        context.losses,
    )
    if settings is not conversation.settings:
        conversation = Conversation(
            conversation.messages,
            conversation.tools,
            settings,
            conversation.wire,
            conversation.kind,
            conversation.source,
        )
    return write(conversation, target, context)


def _is_plain(message: Message, target: Wire, rules: RulesOfBoth) -> bool:
    """True if a message of another wire holds only texts and calls that are sent unchanged."""
    if message.role != "assistant":
        return False
    source = message.source
    if not source.is_complete and not (source.raw.__class__ is dict and _has_known_fields(source)):
        return False
    text_after_calls = target.capabilities.text_after_calls
    call_ids: list[str] = []
    for part in message.parts:
        source = part.source
        if part.signature is not None or not (source.is_complete or _has_known_fields(source)):
            return False
        if type(part) is Text:
            if part.refusal or (call_ids and not text_after_calls):
                return False
        elif type(part) is Call:
            if part.executor != "client" or part.origin != "wire" or part.family != "function":
                return False
            if not rules.accept_call(part.id, part.name):
                return False
            call_ids.append(part.id)
        else:
            return False
    return len(call_ids) < 2 or len(set(call_ids)) == len(call_ids)


def _has_known_fields(source: Source) -> bool:
    """False if a block has fields that only its own wire knows, or was not read from a body."""
    return source.spec is not None and source.spec.clean(source.raw)
