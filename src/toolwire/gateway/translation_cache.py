"""Requests that are like one before, with a little more at their end: what was translated once is
not translated again.

A client sends its whole history with each request. It is cut into units that no translation looks
beyond: what the user says, and what the assistant says with the results of its calls. Each unit is
translated once, by the way that all requests go, in a request of its own; a later request is put
together from their bytes. Only where that gives the same bytes as translating the whole: a history
that is not tidy, or in which an id or a name has to change, goes the long way. Bounded, and
forgotten with the process. Knows no wire by name.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Raw, Struct
from msgspec.json import Decoder

from toolwire.codec import decode, encode
from toolwire.conversation.id_map import IdMap
from toolwire.conversation.ids import is_minted
from toolwire.conversation.json import JSON, Object, dump, parse
from toolwire.conversation.model import Conversation, Loss
from toolwire.conversation.parts import Call, Media, Message, Result, Text
from toolwire.errors import WireError

PLACE = "\ue000toolwire\ue000"
"""Stands where the units go."""
_MARK = dump([PLACE])
SHELLS = 64
"""Kinds of requests that are remembered: their tools, settings and prompts."""
BYTES = 6 * 1024 * 1024
"""Of units, and of items, for each way from a front to a model."""
NEW = 8
"""Units that are learnt from one request: each takes about as long as the long way without a
history."""
ENTRY = 400
"""Bytes that remembering something takes beside the thing itself."""
LONGEST = 256 * 1024
"""A unit that is longer is not kept."""

_COPIES = 4
"""How often the tools, settings and prompts of a request are held: as they came, as values, and as
they went."""

_top = Decoder(dict[str, Raw]).decode
_list = Decoder(list[Raw]).decode


class CachedTranslation(Struct, frozen=True, eq=False):
    """A request that went the long way."""

    body: Object
    ids: IdMap
    losses: tuple[Loss, ...]
    tidy: bool
    """Whether nothing had to be mended, and it was seen without asking the rules."""
    asked: Object
    customs: frozenset[str]


class MergedBody(Struct, frozen=True, eq=False):
    """A request put together from what is known."""

    shell: Object
    units: tuple[bytes, ...]
    ids: IdMap
    losses: tuple[Loss, ...]
    asked: Object
    customs: frozenset[str]
    ends: dict[object, tuple[bytes, bytes]]
    """What stands before and after the units, by how it was dressed."""

    def data(self, dress: Callable[[Object], Object], how: object = None) -> bytes:
        """The bytes to send. `how`, if it is given, is the same whenever `dress` does the same."""
        ends = self.ends.get(how)
        if ends is None:
            head, _, tail = dump(dress(self.shell)).partition(_MARK)
            ends = head + b"[", b"]" + tail
            if how is not None:
                self.ends[how] = ends
        return b"%b%b%b" % (ends[0], b",".join(self.units), ends[1])


class _CacheEntry(Struct, frozen=True):
    """What has to be known of one item of a history to see where a unit ends."""

    role: str
    calls: tuple[str, ...] = ()
    results: tuple[str, ...] = ()


class _BodyShell(Struct, eq=False):
    """All of a request but its history."""

    made: CachedTranslation
    body: Object
    key: str
    """The field of the model's request that holds the history."""
    dummy: bytes
    """What the user's first words became."""
    units: dict[bytes, bytes]
    forms: dict[bytes, dict[str, str]]
    ends: dict[object, tuple[bytes, bytes]]


class TranslationCache:
    """What is known of the way from one front to one model. `make` goes the long way with a body of
    the front."""

    def __init__(self, wire: str, make: Callable[[bytes], CachedTranslation]) -> None:
        self._wire = wire
        self._make = make
        self._key: str | None = None
        self._word = b""
        """One word of the user, in the wire of the front."""
        self._cards: dict[bytes, _CacheEntry | None] = {}
        self._carded = 0
        """Bytes of the items whose cards are kept."""
        self._shells: dict[tuple[str | bytes, ...], _BodyShell | None] = {}
        self.held = 0
        """Bytes of units, as they came and as they went."""

    def woven(self, raw: bytes) -> MergedBody | None:
        """A request put together; None if it has to go the long way."""
        try:
            top = _top(raw)
            if self._key is None:
                self._key = self._learnt(raw)
            items = list(map(bytes, _list(top.pop(self._key))))
            return self._woven(top, items)
        except (ValueError, KeyError, RecursionError, WireError):
            return None

    def _woven(self, top: dict[str, Raw], items: list[bytes]) -> MergedBody | None:
        known_cards = self._cards
        cards = [known_cards[one] if one in known_cards else self._card(one) for one in items]
        if None in cards:
            return None
        first = 0
        role = ""
        for card in cards:
            role = "" if card is None else card.role
            if role != "system":
                break
            first += 1
        if role != "user":
            return None
        shell = self._shell(top, items[:first])
        cut = None if shell is None else _cut(cards, first)
        if shell is None or cut is None:
            return None
        units: list[bytes] = []
        forms: dict[str, str] = {}
        left = NEW
        for start, end in cut:
            unit = items[start] if end == start + 1 else b",".join(items[start:end])
            known = shell.units.get(unit)
            if known is None:
                if not left:
                    return None
                known = self._unit(shell, top, items[:first], unit)
                left -= 1
            if not known:
                return None
            units.append(known)
            if shell.forms and unit in shell.forms:
                forms |= shell.forms[unit]
        made = shell.made
        ids = (
            made.ids
            if not forms
            else IdMap(made.ids.ids, made.ids.names, {**made.ids.forms, **forms})
        )
        asked = made.asked
        if (
            cards[-1] is not None and cards[-1].role == "assistant"
        ):  # how an answer opens may depend on what it goes on with
            asked = {**asked, str(self._key): [parse(items[-1])]}
        return MergedBody(
            shell.body, tuple(units), ids, made.losses, asked, made.customs, shell.ends
        )

    # --- learning ---

    def _learnt(self, raw: bytes) -> str:
        """The field of the front's requests that holds the history: the same in all of them."""
        places = {
            message.path[0] for message in decode(raw, self._wire).messages if len(message.path) > 1
        }
        (key,) = places
        said = encode(Conversation((Message("user", (Text("."),)),)), self._wire).body
        items = said.get(str(key)) if isinstance(said, dict) else None
        if not isinstance(items, list) or len(items) != 1:
            raise KeyError(key)
        self._word = dump(items[0])
        return str(key)

    def _card(self, item: bytes) -> _CacheEntry | None:
        """What an item is; None if it is something that units cannot be made of."""
        known = self._cards.get(item, False)
        if known is not False:
            return known  # type: ignore[return-value]
        try:
            read = decode(b'{"%b":[%b]}' % (str(self._key).encode(), item), self._wire).messages
            card = _read(read[0]) if len(read) == 1 else None
        except WireError:
            card = None
        if len(item) <= LONGEST:
            self._carded += len(item) + ENTRY
            if self._carded > BYTES:
                self._cards.clear()
                self._carded = len(item) + ENTRY
            self._cards[item] = card
        return card

    def _shell(self, top: dict[str, Raw], system: list[bytes]) -> _BodyShell | None:
        mark: tuple[str | bytes, ...] = (*top, *map(bytes, top.values()), *system)
        if mark not in self._shells:
            made = self._made_shell(top, system)
            takes = _COPIES * sum(map(len, mark)) + ENTRY
            self.held += takes
            if len(self._shells) >= SHELLS or self.held > BYTES:
                self._shells.clear()
                self.held = takes
            self._shells[mark] = made
        return self._shells[mark]

    def _made_shell(self, top: dict[str, Raw], system: list[bytes]) -> _BodyShell | None:
        made = self._make(self._body(top, [*system, self._word]))
        if not made.tidy or made.ids.ids or made.ids.names:
            return None
        lists = [
            key
            for key, value in made.body.items()
            if isinstance(value, list) and len(value) == 1 and _says(value[0])
        ]
        if len(lists) != 1:
            return None
        value = made.body[lists[0]]
        assert isinstance(value, list)
        return _BodyShell(
            made, {**made.body, lists[0]: [PLACE]}, lists[0], dump(value[0]), {}, {}, {}
        )

    def _unit(
        self, shell: _BodyShell, top: dict[str, Raw], system: list[bytes], unit: bytes
    ) -> bytes:
        """A unit in the model's wire; nothing if it cannot be told by itself, which is remembered
        too."""
        made = self._make(self._body(top, [*system, self._word, unit]))
        out = _alone(made, shell)
        forms = {
            key: value
            for key, value in made.ids.forms.items()
            if shell.made.ids.forms.get(key) != value
        }
        if len(unit) > LONGEST:
            return b"" if forms else out
        self.held += len(unit) + len(out) + ENTRY
        if self.held > BYTES:
            self._shells.clear()
            self.held = len(unit) + len(out) + ENTRY
        shell.units[unit] = out
        if forms:
            shell.forms[unit] = forms
        return out

    def _body(self, top: dict[str, Raw], items: list[bytes]) -> bytes:
        fields = [b"%b:%b" % (dump(key), bytes(value)) for key, value in top.items()]
        return b"{%b}" % b",".join((*fields, b"%b:[%b]" % (dump(str(self._key)), b",".join(items))))


def _alone(made: CachedTranslation, shell: _BodyShell) -> bytes:
    """What a unit became in a request of its own; nothing if something else became of the rest of
    that request too."""
    told = made.body.get(shell.key)
    if (
        not made.tidy
        or made.ids.ids
        or made.ids.names
        or made.losses != shell.made.losses
        or not isinstance(told, list)
        or not told
    ):
        return b""
    first, rest = told[0], told[1:]
    if not rest or dump(first) != shell.dummy or {**made.body, shell.key: [PLACE]} != shell.body:
        return b""
    return dump(rest)[1:-1]


def _says(value: JSON) -> bool:
    return isinstance(value, dict) and value.get("role") == "user"


def _read(message: Message) -> _CacheEntry | None:
    calls: list[str] = []
    results: list[str] = []
    for part in message.parts:
        if isinstance(part, Call):
            if (
                part.origin != "wire"
                or part.executor != "client"
                or is_minted(part.id)
                or part.signature is not None
            ):
                return None
            calls.append(part.id)
        elif isinstance(part, Result):
            if (
                part.origin != "wire"
                or part.executor != "client"
                or is_minted(part.call_id)
                or part.signature is not None
            ):
                return None
            results.append(part.call_id)
        elif not isinstance(part, Text | Media) or part.signature is not None:
            return None
    if calls and message.role != "assistant":
        return None
    return _CacheEntry("tool" if results else message.role, tuple(calls), tuple(results))


def _cut(cards: list[_CacheEntry | None], first: int) -> list[tuple[int, int]] | None:
    """Where units begin and end; None if a turn is not whole, or an id comes twice."""
    out: list[tuple[int, int]] = []
    called: set[str] = set()
    n, many = first, len(cards)
    while n < many:
        card = cards[n]
        assert card is not None
        if card.role in ("system", "tool"):
            return None
        end = n + 1
        if card.role == "assistant":
            due = list(card.calls)
            while end < many and (more := cards[end]) is not None and more.role == "assistant":
                due += more.calls
                end += 1
            if len(called.union(due)) < len(called) + len(due):
                return None
            called.update(due)
            while due and end < many and (told := cards[end]) is not None and told.role == "tool":
                if list(told.results) != due[: len(told.results)]:
                    return None
                del due[: len(told.results)]
                end += 1
            if due and end < many:
                return None
        out.append((n, end))
        n = end
    return out
