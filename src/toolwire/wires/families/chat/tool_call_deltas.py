"""Calls that come in pieces, from servers that agree on little: which call a piece belongs to, and
what of it is new.

- first-id-wins: a later id on a bare piece is another name of the same call; a new id with a tool's
  name is a new call.
- index-is-a-label: it may be missing, start anywhere, or be the same for all.
- a-name-may-come-in-pieces: it grows only until the first argument text.
- arguments-may-be-said-again: whole at the end, or all so far with every piece. A complete object
  is never added to.
- braces-may-come-first: `{}` is held back, for a server may mean "more to come" by it.

Memory does not grow with the arguments: what has passed is known by its length, checksum and open
brackets. Knows no wire.
"""

from __future__ import annotations

import re
from zlib import crc32

from toolwire.conversation.json import JSON, Object, text_of
from toolwire.conversation.lazy_json import LazyJson

_NOT = frozenset({"", "null", "None"})
"""Words that are no id and no name."""
_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_TAIL = re.compile(r"\\*$")
_ENDS = "}] \n\r\t"
"""A piece that ends so may have completed the object."""
_BEFORE = ":[,"
"""What an object inside another one follows."""
_AT_ONCE = 64
"""So many pieces are looked at in one go."""


def number_of(value: JSON) -> int | None:
    """An index that came as text, or with a point."""
    if isinstance(value, str):
        return int(value) if value.isdecimal() else None
    return int(value) if isinstance(value, float) and value.is_integer() else None


def word_of(value: JSON) -> str:
    """An id or a name; empty if it is none."""
    if isinstance(value, str):
        return "" if value in _NOT or not value.strip() else value
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else ""


def _sum(text: str, before: int = 0) -> int:
    return crc32(text.encode("utf-8", "surrogatepass"), before)


class Arguments:
    """The argument text of one call. The texts that `add` and `close` give, joined, are the
    arguments."""

    __slots__ = (
        "_again",
        "_depth",
        "_doubts",
        "_escaped",
        "_held",
        "_last",
        "_length",
        "_object",
        "_open",
        "_pending",
        "_quoted",
        "_sum",
        "begun",
        "plain",
    )

    def __init__(self, *, plain: bool = False) -> None:
        self.plain = plain
        """Whether it is free text, in which nothing has a meaning."""
        self.begun = False
        """Whether any text has come."""
        self._open = plain
        """Whether the next piece is nothing but that, unless it begins with a brace."""
        self._held = False
        """Whether `{}` was all so far, and is held back."""
        self._pending: list[str] = []
        self._length = 0
        self._sum = 0
        self._depth = 0
        self._quoted = False
        self._escaped = False
        self._last = ""
        self._doubts: list[str] = []
        """Pieces each of which could be the next one, or all so far."""
        self._again = ""
        """What is said once more after the object was complete."""
        self._object: Object | None = None

    def add(self, piece: JSON) -> str:
        """What a piece adds, as far as that is sure."""
        if piece is None or piece == "":
            return ""
        if not isinstance(piece, str):
            return self._value(piece)
        return piece if self.grow(piece) else self._careful(piece)

    def grow(self, piece: str) -> bool:
        """Take in a piece that is nothing but the next one; False, and nothing is done, if it could
        be more than that."""
        if not piece or not self._open or (piece[0] == "{" and not self.plain):
            return False
        self.begun = True
        pending = self._pending
        pending.append(piece)
        if len(pending) >= _AT_ONCE:
            self._scan()
        if piece[-1] in _ENDS and not self.plain:
            self._open = False
        return True

    def _careful(self, piece: str) -> str:
        self.begun = True
        opens = piece.lstrip()[:1] == "{"
        if self._doubts:
            return self._doubted(piece)
        if self._again or (self._object and piece.strip()):
            self._again += piece
            return ""
        if self._held:
            if not piece.strip():
                return ""
            self._held = False
            return self._careful(piece) if opens else self._passed("{}") + self._careful(piece)
        self._object = None
        if not self._length and not self._pending:
            if "".join(piece.split()) == "{}":
                self._held = True
                return ""
            return self._passed(piece)
        if self.complete:
            self._again = piece if opens else ""
            return "" if piece.strip() else self._passed(piece)
        if opens and self._repeats(piece):
            if self._last in _BEFORE and self._last:
                self._doubts, self._open = [piece], False
                return ""
            return self._snapshot(piece)
        return self._passed(piece)

    def _doubted(self, piece: str) -> str:
        """One piece more after one that could be read in two ways."""
        doubts = self._doubts
        if not piece.startswith(doubts[-1]):  # so they were pieces
            self._doubts = []
            return self._passed("".join(doubts)) + self._careful(piece)
        if (
            "".join(doubts).rstrip()[-1:] not in _BEFORE
        ):  # no object can stand there: so it is all so far, each time
            self._doubts = []
            return self._snapshot(piece)
        doubts.append(piece)
        return ""

    def _value(self, piece: JSON) -> str:
        """Arguments that are no text: objects are merged and told at the end."""
        if isinstance(piece, dict) and not self._length and not self._pending and not self._held:
            self.begun = True
            self._object = _merged(self._object or {}, piece)
            return ""
        return self.add(text_of(piece))

    def _passed(self, text: str) -> str:
        if text:
            self._pending.append(text)
            self._open = text[-1] not in _ENDS or self.plain
        return text

    def _snapshot(self, piece: str) -> str:
        """All so far, and a bit more: only the bit is new."""
        self._scan()
        return self._passed(piece[self._length :])

    def _repeats(self, piece: str) -> bool:
        self._scan()
        return len(piece) >= self._length and _sum(piece[: self._length]) == self._sum

    def _scan(self) -> None:
        """Take in the pieces that passed: length, checksum, open brackets."""
        if not self._pending:
            return
        text = "".join(self._pending)
        self._pending.clear()
        self._length += len(text)
        self._sum = _sum(text, self._sum)
        if self._escaped:
            text = text[1:]
        if self._quoted:
            text = '"' + text
        outside = _STRINGS.sub('""', text)
        path = outside.replace('""', "  ").find('"')
        self._quoted = path >= 0
        self._escaped = False
        if self._quoted:
            slashes = _TAIL.search(outside)
            self._escaped = slashes is not None and len(slashes.group()) % 2 == 1
            outside = outside[:path]
        self._depth += (
            outside.count("{") + outside.count("[") - outside.count("}") - outside.count("]")
        )
        self._last = '"' if self._quoted else (outside.rstrip()[-1:] or self._last)

    @property
    def complete(self) -> bool:
        """Whether what came is a whole object: nothing can follow it."""
        if self._object is not None or self._held:
            return True
        self._scan()
        return not self._quoted and self._depth <= 0 and self._last in ("}", "]")

    def same(self, piece: JSON) -> bool:
        """Whether a piece says once more what is complete already."""
        if isinstance(piece, dict) and self._object is not None:
            return piece == self._object
        text = piece if isinstance(piece, str) else text_of(piece)
        self._scan()
        return len(text) == self._length and _sum(text) == self._sum

    def close(self) -> tuple[str, str | None]:
        """What is left to add; and the whole text, if it is not what was added."""
        again = self._again if isinstance(LazyJson(self._again or "0").value, dict) else ""
        if self._object is not None:
            return again or text_of(self._object), None
        if self._held:
            return "{}", None
        if self._doubts:
            pieces, last = "".join(self._doubts), self._doubts[-1]
            self._scan()
            length, state = self._length, (self._depth, self._quoted, self._last)
            self._pending.append(pieces)
            if self.complete:
                return pieces, None
            self._depth, self._quoted, self._last = state
            return last[length:], None
        return "", again if again and not self.same(again) else None


def _merged(old: Object, new: Object) -> Object:
    out = dict(old)
    for key, value in new.items():
        before = out.get(key)
        out[key] = (
            _merged(before, value)
            if isinstance(before, dict) and isinstance(value, dict)
            else value
        )
    return out


class Growing:
    """A call that is being put together."""

    __slots__ = (
        "aliases",
        "arguments",
        "chunk",
        "family",
        "fresh",
        "id",
        "index",
        "made",
        "more",
        "name",
        "named",
        "ready",
        "slot",
        "texts",
    )

    def __init__(self, index: int | None, family: str) -> None:
        self.index = index
        self.family = family
        self.id = ""
        self.aliases: set[str] = set()
        self.name = ""
        self.named = 0
        """How many pieces had the name."""
        self.arguments = Arguments(plain=family == "custom")
        self.slot = -1
        """Under which it was announced; -1 as long as it was not."""
        self.chunk = 0
        """The number of the event that last touched it."""
        self.ready = False
        """Whether its name cannot grow any more."""
        self.fresh: tuple[str, str] | None = None
        """The id and name of a piece that may have been the beginning of another call: the next
        text will tell."""
        self.made = False
        """Whether it was announced under an id that was made for it."""
        self.more: Object = {}
        """Fields that nobody knows."""
        self.texts: list[str] = []
        """Text that came before the announcement, or all of it when the whole body is wanted."""


class Calls:
    """The calls of one answer, found for each piece."""

    __slots__ = ("_by_id", "_by_index", "_used", "every", "last")

    def __init__(self) -> None:
        self.every: list[Growing] = []
        self.last: Growing | None = None
        self._by_index: dict[int, Growing] = {}
        self._by_id: dict[str, Growing] = {}
        self._used: set[str] = set()

    def label(self, index: JSON) -> Growing | None:
        """The call with that index, if nothing is open about it."""
        held = self._by_index.get(index) if isinstance(index, int) else None
        return held if held is None or held.fresh is None else None

    def find(
        self, index: int | None, one: str, name: str, given: JSON, family: str, chunk: int
    ) -> Growing:
        """The call that a piece belongs to, a new one if it opens one. Its id and name are taken
        in."""
        held = (
            self._by_index.get(index)
            if index is not None
            else self._unlabelled(one, name, given, chunk)
        )
        if held is not None and held.fresh is not None and not name:
            (again, called), held.fresh = held.fresh, None
            if _opening(given) and not (again and again == held.id and held.arguments.same(given)):
                one, name, held = one or again, called, None
        if held is None or (held.family != family and name) or self._opens(held, one, name, given):
            held = self._new(index, family)
        if one and one != held.id:
            self._identify(held, one)
        if name:
            self._name(held, name)
        held.chunk = chunk
        self.last = held
        return held

    def _new(self, index: int | None, family: str) -> Growing:
        made = Growing(index, family)
        self.every.append(made)
        if index is not None:
            self._by_index[index] = made
        return made

    def _unlabelled(self, one: str, name: str, given: JSON, chunk: int) -> Growing | None:
        """A piece without an index goes by its id; one with a name opens a call; any other belongs
        to the last."""
        last = self.last
        if one:
            known = self._by_id.get(one)
            if known is not None or last is None:
                return known
            return (
                last
                if not last.id and name in ("", last.name) and not last.arguments.complete
                else None
            )
        if last is None or not name or not last.name:
            return last
        if name != last.name or last.chunk == chunk:
            return None
        return None if last.arguments.complete and _opening(given) else last

    def _opens(self, held: Growing, one: str, name: str, given: JSON) -> bool:
        """Whether a piece that leads to a call is the beginning of another one."""
        whole = held.arguments.complete if name else False
        if (
            whole
            and given in (None, "")
            and name == held.name
            and held.named == 1
            and one in ("", held.id)
        ):
            held.fresh = (one, name)
            return False
        if one and held.id and one != held.id and one not in held.aliases:
            return bool(name)
        if not name or not held.name or not whole or not _opening(given):
            return bool(name and held.name and name != held.name and held.arguments.begun and whole)
        if one and not held.id:
            return True
        if name != held.name:
            return True
        # A name is fresh if the pieces before came without one; the same call said again is not.
        return held.named == 1 and not (one and one == held.id and held.arguments.same(given))

    def _identify(self, held: Growing, one: str) -> None:
        if held.id:
            held.aliases.add(one)
        elif one not in self._used:
            held.id = one
            self._used.add(one)
            self._by_id[one] = held
        else:  # two calls under one id: the second has none of its own
            held.aliases.add(one)
            self._by_id[one] = held

    def _name(self, held: Growing, name: str) -> None:
        held.named += 1
        if not held.name:
            held.name = name
        elif name != held.name and not held.arguments.begun:
            held.name = name if name.startswith(held.name) else held.name + name


def _opening(given: JSON) -> bool:
    return isinstance(given, dict) or (isinstance(given, str) and given.lstrip()[:1] == "{")
