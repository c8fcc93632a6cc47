"""Read a body, fit it, write it, report: between the bodies of wires and the conversation they
hold.

What a target cannot hold is a loss, never an exception and never silence. Tools that a provider ran
itself become something the target can hold. Knows wires only through their tables.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeAlias

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from toolwire.conversation.ids import (
    NO_MAP,
    IdMap,
    IdRule,
    fit_calls,
    fit_names,
    follow_calls,
    invalid_ids,
    is_minted,
    matcher,
    minted_ids_needed,
)
from toolwire.conversation.json import JSON, Body, dump, load
from toolwire.conversation.model import Change, Choice, Conversation, Kind, Loss
from toolwire.conversation.pairing import pairs
from toolwire.conversation.parts import Call, Message, Pair, Reasoning, Result, Text, Traceable
from toolwire.errors import LocalError, RemoteError
from toolwire.profiles.table import PROFILES, Profile
from toolwire.wires import wire
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.lowering import lower
from toolwire.wires.engine.server_tools import POLICIES, ServerToolPolicy, lower_server_tools
from toolwire.wires.engine.specs import Wire, patch_parts

IdMapInput: TypeAlias = "IdMap | Mapping[str, Mapping[str, str]] | None"


class Encoded:
    """A body of a wire: as a value, as bytes, with what was lost and the map that leads home."""

    __slots__ = ("_body", "_bytes", "changes", "ids", "losses", "tidy")

    def __init__(
        self,
        body: JSON,
        losses: list[Loss],
        ids: IdMap,
        raw: bytes | None = None,
        *,
        changes: list[Change] | None = None,
    ) -> None:
        self._body = body
        self._bytes = raw
        self.losses = losses
        self.ids = ids
        self.changes: list[Change] = changes if changes is not None else []
        """What was mended for the target."""
        self.tidy = False
        """Whether it was seen on the way that there is nothing to mend; if not, somebody has to
        look."""

    @property
    def body(self) -> JSON:
        """The body as plain dicts and lists. It may share parts with the body it was made from:
        copy before changing it."""
        return self._body

    def json(self) -> bytes:
        """The body as JSON; the very bytes that came in, if nothing had to change."""
        if self._bytes is None:
            self._bytes = dump(self._body)
        return self._bytes

    def __repr__(self) -> str:
        return f"Encoded({len(self.json())} bytes, {len(self.losses)} losses)"


def resolve(name: str) -> tuple[Wire, Profile]:
    """The wire and the rules that a name of a wire or profile stands for."""
    try:
        return _RESOLVED[name]
    except (KeyError, TypeError):
        spec = PROFILES.get(name) if isinstance(name, str) else None
    found = (wire(name), Profile(name, name)) if spec is None else (wire(spec.wire), spec)
    _RESOLVED[name] = found
    return found


_RESOLVED: dict[str, tuple[Wire, Profile]] = {}
"""Names that were asked for before; there are only as many as there are wires and profiles."""


def decode(body: Body, wire: str, kind: Kind = "request") -> Conversation:
    """The conversation a body holds. Unknown blocks, missing ids and broken arguments are data.

    Raises RemoteError if the body is not JSON, or not of this wire.
    """
    spoken, _ = resolve(wire)
    _known(kind)
    value, raw = load(body, spoken.name)
    try:
        read = spoken.read(value, kind)
    except RecursionError:
        raise RemoteError(spoken.name, (), "nested too deeply") from None
    messages = read.messages
    if kind == "response":
        messages = tuple([_stopped(message) for message in messages])
    source = replace(
        read.source, raw=raw, messages=messages, tools=read.tools, settings=read.settings
    )
    return replace(read, messages=messages, source=source)


def _stopped(message: Message) -> Message:
    """An answer that asks for tools stopped for them, whatever reason its server gives."""
    if message.stop != "stop" or not any(
        part.__class__ is Call and part.executor == "client" for part in message.parts
    ):
        return message
    return replace(message, stop="tool")


def encode(
    conversation: Conversation,
    wire: str,
    kind: Kind = "request",
    *,
    ids: IdMapInput = None,
    hosted: ServerToolPolicy = "text",
) -> Encoded:
    """The conversation as a body of a wire: its own gets back what it sent, to the letter.

    Raises LocalError if the wire does not exist or a value is none that JSON can hold.
    """
    spoken, rules = resolve(wire)
    _known(kind)
    if hosted not in POLICIES:
        raise LocalError(wire, (), f"hosted is one of {', '.join(POLICIES)}, not {hosted!r}")
    if spoken.name == conversation.wire and kind == conversation.kind and conversation.pristine:
        return Encoded(conversation.source.body, [], IdMap(), conversation.source.raw)
    home = IdMap.of(ids)
    if kind == "response" and (glanced := _glanced(conversation, spoken, rules, home)) is not None:
        said = _written(conversation, spoken, glanced)
        home_again = (
            IdMap(glanced.sent_ids, {}, glanced.notes)
            if glanced.sent_ids or glanced.notes
            else IdMap()
        )
        return Encoded(
            said, list(dict.fromkeys(glanced.losses)) if glanced.losses else [], home_again
        )
    if (
        conversation.wire and conversation.source.messages is None
    ):  # made by hand: it has no body that could be gone back to
        conversation = replace(conversation, wire="")
    conversation, led = _followed(conversation)
    own = spoken.name == conversation.wire and kind == conversation.kind
    if own and not home.ids and not home.names:
        body = _edited(conversation, spoken)
        if not isinstance(body, UnsetType):
            return Encoded(body, _torn(led, body, spoken, kind), IdMap())
    survey = _Survey(conversation, spoken.name)
    told: list[Loss] = []
    if survey.hosted and not (spoken.hosts and kind == "response" and hosted != "drop"):
        conversation, told = lower_server_tools(
            conversation, spoken.name, hosted, whole=kind == "request"
        )
        survey = _Survey(conversation, spoken.name)
    if conversation.wire != spoken.name:
        nameless = [
            tool
            for tool in conversation.tools
            if not tool.name and tool.kind in ("function", "custom")
        ]
        if nameless:
            told += [
                Loss(tool.path, "a tool without a name cannot be offered") for tool in nameless
            ]
            conversation = replace(
                conversation,
                tools=tuple(tool for tool in conversation.tools if tool not in nameless),
            )
    lowered = lower(conversation, spoken.capabilities, wire=spoken.name, kind=kind)
    if lowered.conversation is not conversation:
        conversation = lowered.conversation
        survey = _Survey(conversation, spoken.name, survey.foreign)
    context = _page(conversation, survey, spoken, rules, kind, home)
    context.losses += told
    context.losses += lowered.losses
    for read in survey.foreign:
        context.report_unknown_fields(read)
    body = _written(conversation, spoken, context)
    if own:
        context.losses += _torn(led, body, spoken, kind)
    changed = context.sent_ids or context.names or context.notes
    ids_home = (
        IdMap(context.sent_ids, {new: old for old, new in context.names.items()}, context.notes)
        if changed
        else IdMap()
    )
    encoded = Encoded(body, list(dict.fromkeys(context.losses)), ids_home)
    encoded.tidy = (
        survey.tidy and conversation.kind == "request" and _easy(rules, survey, conversation)
    )
    return encoded


def _written(conversation: Conversation, spoken: Wire, context: EncodeContext) -> JSON:
    try:
        return spoken.write(conversation, context)
    except RecursionError:
        raise LocalError(spoken.name, (), "nested too deeply") from None


def _followed(conversation: Conversation) -> tuple[Conversation, list[Pair]]:
    """The conversation with the results that lean on an edited call edited along, and
    their pairs.
    """
    before = conversation.source.messages or conversation.messages
    if before is conversation.messages or not isinstance(before, tuple):
        return conversation, []
    messages = follow_calls(conversation.messages, before, ordered=conversation.ordered)
    if messages is conversation.messages:
        return conversation, []
    kept = {id(result) for result in conversation.results()}
    followed = replace(conversation, messages=messages)
    return followed, [
        pair for pair in followed.pairs() if pair.result is not None and id(pair.result) not in kept
    ]


def _torn(led: list[Pair], body: JSON, spoken: Wire, kind: Kind) -> list[Loss]:
    """Results that followed their call and are not found by it in the body all the same: the wire
    has no place for the tie."""
    if not led:
        return []
    found = {_told(pair) for pair in spoken.read(body, kind).pairs()} - {None}
    why = "it found its call by what was edited, and this wire cannot tell it otherwise"
    return [
        Loss(pair.result.path, why)
        for pair in led
        if pair.result is not None and _told(pair) not in found
    ]


def _told(pair: Pair) -> tuple[str, str, str] | None:
    return (
        (pair.call.name, pair.call.arguments, pair.result.text)
        if pair.call and pair.result
        else None
    )


def _edited(conversation: Conversation, spoken: Wire) -> JSON | UnsetType:
    """The body a conversation was read from with the edits of single parts; UNSET if more than that
    was changed."""
    if (
        conversation.source.messages is None
        or conversation.source.tools is not conversation.tools
        or conversation.source.settings is not conversation.settings
    ):
        return UNSET
    context = EncodeContext(spoken.name, conversation.kind, ids=None, names={}, home=NO_MAP)
    before = spoken.read(conversation.source.body, conversation.kind)
    if [len(message.parts) for message in before.messages] != [
        len(message.parts) for message in conversation.messages
    ]:
        return UNSET  # messages were joined or parted
    return patch_parts(conversation.parts(), before.parts(), conversation.source.body, (), context)


class _Survey:
    """One look at every part before writing: calls, results, and what another wire left in them.

    `tidy`: it begins with the user, and the results of a turn stand right behind its calls, one
    each, in their order; those of the last turn may be still to come.
    """

    __slots__ = (
        "calls",
        "errors",
        "foreign",
        "hosted",
        "mixed",
        "native",
        "results",
        "thoughts",
        "tidy",
    )

    def __init__(
        self, conversation: Conversation, target: str, leftovers: list[Traceable] | None = None
    ) -> None:
        calls: list[Call] = []
        results: list[Result] = []
        foreign: list[Traceable] = []
        native: dict[str, str] = {}
        hosted = False
        due: list[str] = []
        asking: Message | None = None
        told: Message | None = None
        errors = mixed = thoughts = False
        tidy = _opened(conversation.messages)
        for message in conversation.messages:
            raw, parts = message.raw, message.parts
            if message.wire == target:
                tidy = False
                for part in parts:
                    if part.__class__ is Call and part.executor == "client":
                        calls.append(part)
                        native[part.id] = part.id
                    elif part.__class__ is Result:
                        results.append(part)
                continue
            if raw.__class__ is dict and message.spec is not None:
                only = parts[0] if len(parts) == 1 else None
                if (
                    len(raw) == 2
                    and only.__class__ is Text
                    and only.raw.__class__ is str
                    and "role" in raw
                ):
                    if due:
                        tidy = False
                    continue  # a role and a plain text: nothing more can be in it
                if not message.spec.keys.issuperset(raw):
                    foreign.append(message)
            for part in parts:
                if part.__class__ is Text:
                    if due:
                        tidy = False
                    if told is message:
                        mixed = True
                    if part.raw.__class__ is str and part.signature is None:
                        continue
                elif part.__class__ is Call:
                    calls.append(part)
                    if due and asking is not message:
                        tidy = False
                    asking = message
                    due.append(part.id)
                    if part.executor != "client":
                        hosted = True
                elif part.__class__ is Result:
                    results.append(part)
                    told = message
                    if part.error:
                        errors = True
                    if due and due[0] == part.call_id:
                        del due[0]
                    else:
                        tidy = False
                    if part.executor != "client":
                        hosted = True
                    if part.output.__class__ is tuple:
                        foreign += part.output
                else:
                    thoughts = thoughts or part.__class__ is Reasoning
                    mixed = mixed or told is message
                if part.raw is not raw and (
                    part.signature is not None
                    or not (part.spec is None or part.spec.clean(part.raw))
                ):
                    foreign.append(part)
        if conversation.wire != target:
            foreign += conversation.tools
        if leftovers is not None:  # what lowering replaced has been looked at before
            foreign = leftovers
        self.calls, self.results, self.foreign, self.hosted, self.native = (
            calls,
            results,
            foreign,
            hosted,
            native,
        )
        self.tidy, self.errors, self.mixed, self.thoughts = tidy, errors, mixed, thoughts


def _easy(rules: Profile, survey: _Survey, conversation: Conversation) -> bool:
    """Whether a tidy history is all that a target asks for."""
    if (
        rules.no_user_after_tool
        or rules.must_end_with_user_or_tool
        or rules.rejects_same_role_twice
        or rules.assistant_content
        or rules.own_id_pattern
        or not rules.has_id_field
    ):
        return False
    if rules.reasoning_to_return:
        asked = conversation.settings
        model = asked.get("model")
        if survey.thoughts or "effort" in asked or "budget" in asked:
            return False
        if (
            rules.reasoning_models
            and isinstance(model, str)
            and re.search(rules.reasoning_models, model)
        ):
            return False
    if rules.rejects_blank_text and survey.errors:
        return False
    return not (
        rules.calls_need_tool_definitions and survey.calls and not conversation.tools
    ) and not (rules.result_placement == "alone" and survey.mixed)


def _opened(messages: tuple[Message, ...]) -> bool:
    """Whether the user speaks first."""
    return next((message.role == "user" for message in messages if message.role != "system"), True)


def _glanced(
    conversation: Conversation, spoken: Wire, rules: Profile, home: IdMap
) -> EncodeContext | None:
    """The page for an answer of words and calls that can be sent as they are: what most answers
    are. None for any other."""
    came = PROFILES.get(conversation.wire)
    if (
        conversation.source.messages is not conversation.messages
        or conversation.wire == spoken.name
        or conversation.tools
    ):
        return None
    if came is None or home.ids or home.names or home.forms or len(conversation.messages) != 1:
        return None
    message = conversation.messages[0]
    raw = message.raw
    if (
        message.wire == spoken.name
        or message.spec is None
        or raw.__class__ is not dict
        or not message.spec.keys.issuperset(raw)
    ):
        return None
    ids: list[str] = []
    fits = _fits(rules, came)
    for part in message.parts:
        if part.signature is not None or part.spec is None or not part.spec.clean(part.raw):
            return None
        if part.__class__ is Call:
            if (
                part.executor != "client"
                or part.origin != "wire"
                or part.family != "function"
                or not fits.both(part.id, part.name)
            ):
                return None
            ids.append(part.id)
        elif part.__class__ is not Text:
            return None
    if len(ids) > 1 and len(set(ids)) < len(ids):
        return None
    return EncodeContext(spoken.name, "response", ids=None, names={}, home=home)


class _Fits(Struct):
    """What two profiles take as it is: the one that is written, and the one that it came from."""

    ids: tuple[Callable[[str], object], ...]
    names: tuple[Callable[[str], object], ...]
    known: set[str]
    """Names of tools that fit."""

    def both(self, id: str, name: str) -> bool:
        """Whether an id and a name go as they are, and would come home as they are."""
        if is_minted(id):
            return False
        for fits in self.ids:
            if not fits(id):
                return False
        if name not in self.known:
            if not all(fits(name) for fits in self.names):
                return False
            if len(self.known) > 1000:
                self.known.clear()
            self.known.add(name)
        return True


_FITS: dict[tuple[str, str], _Fits] = {}


def _fits(rules: Profile, came: Profile) -> _Fits:
    found = _FITS.get((rules.name, came.name))
    if found is None:
        pair = (rules, came)
        ids = tuple(dict.fromkeys(one.id_rule for one in pair if one.id_rule != IdRule()))
        names = tuple(dict.fromkeys(one.name_rule for one in pair))
        found = _Fits(tuple(map(matcher, ids)), tuple(map(matcher, names)), set())
        _FITS[rules.name, came.name] = found
    return found


def _page(
    conversation: Conversation,
    survey: _Survey,
    spoken: Wire,
    rules: Profile,
    kind: Kind,
    home: IdMap,
) -> EncodeContext:
    """The page to write on, with ids and names fitted to the rules of the target."""

    def owners() -> dict[int, Call]:
        walked = pairs(conversation.messages, ordered=conversation.ordered)
        return {
            id(pair.result): pair.call
            for pair in walked
            if pair.call is not None and pair.result is not None
        }

    known = {**survey.native, **home.ids} if survey.native else home.ids
    sent = fit_calls(
        survey.calls,
        survey.results,
        owners,
        rules.id_rule,
        unique=rules.ids_unique_in_request and not survey.native,
        home=known,
        messages=conversation.messages,
    )
    names: dict[str, str] = {}
    came = PROFILES.get(conversation.wire)
    if conversation.wire != spoken.name or home.names:
        choice = conversation.settings.get("choice")
        used = {call.name for call in survey.calls}
        if conversation.tools:
            used.update([tool.name for tool in conversation.tools if tool.name])
        if isinstance(choice, Choice):
            used.update(choice.names)
        if used:
            names = fit_names(used, rules.name_rule, home.names)
            if came is not None:
                names |= {
                    name: name
                    for name in sorted(invalid_ids(used, came.name_rule))
                    if name not in names
                }
    context = EncodeContext(spoken.name, kind, ids=sent, names=names, home=home)
    context.results = survey.results
    context.minted_ids_needed = partial(
        minted_ids_needed, conversation.messages, ordered=conversation.ordered
    )
    if survey.calls and came is not None and came.wire != spoken.name:
        context.sent_ids = {
            one: one
            for one in invalid_ids(
                [call.id for call in survey.calls if not is_minted(call.id)], came.id_rule
            )
        }
    return context


def _known(kind: str) -> None:
    if kind not in ("request", "response"):
        raise LocalError("", (), f"kind is request or response, not {kind!r}")
