"""Complete a clipped text that starts or ends in the middle of a known message.

Terminals, titles of issues and logs cut errors off, often before the words that state the problem.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from itertools import takewhile

_WORDS_BEFORE = 3
_WORDS_AFTER = 4
"""The number of whole words before the last one, and after the first one, by which a known message
is found. A text that lacks its start is rare, and a short sentence looks like the end of a longer
one."""
_MAX_WORDS = 40
_PUNCTUATION = ".,:;!?()[]{}<>\"'`"


class KnownMessages:
    """Messages of providers, by which both ends of a text are completed."""

    def __init__(self, messages: Iterable[str]) -> None:
        known = tuple(messages)
        self._forwards = _KnownEndings(known, _WORDS_BEFORE)
        self._backwards = _KnownEndings(map(_reverse, known), _WORDS_AFTER)

    def complete(self, form: str) -> str:
        """A searchable form with the rest of the known message that it ends with, otherwise with
        the start of the one that it starts with."""
        completed = self._forwards.complete(form)
        if completed != form:
            return completed
        return _reverse(self._backwards.complete(_reverse(form)))


def _reverse(text: str) -> str:
    return text[::-1]


class _KnownEndings:
    """Messages of providers by the words in them."""

    def __init__(self, messages: Iterable[str], key_length: int) -> None:
        self._key_length = key_length
        self._words = [message.split() for message in messages]
        self._places: dict[tuple[str, ...], list[tuple[int, int]]] = {}
        for number, words in enumerate(self._words):
            keys = [_key(word) for word in words]
            for end in range(key_length, len(keys)):
                self._places.setdefault(tuple(keys[end - key_length : end]), []).append(
                    (number, end)
                )

    def complete(self, form: str) -> str:
        """A searchable form with the rest of the known message that it ends with.

        The form is unchanged if no message matches. If several match, the words are added that all
        of them continue with, if there are at least two.
        """
        if not form[-1:].isalnum():
            return form
        words = form[-_MAX_WORDS * 20 :].split()[-_MAX_WORDS:]
        keys = [_key(word) for word in words]
        if len(keys) <= self._key_length:
            return form
        last = keys[-1]
        found: dict[str, int] = {}
        for number, end in self._places.get(tuple(keys[-self._key_length - 1 : -1]), ()):
            rest = self._words[number][end:]
            if _key(rest[0]).startswith(last) and not _may_end(rest, last):
                length = self._count_equal(number, end, keys)
                found[" ".join(rest)] = max(length, found.get(" ".join(rest), 0))
        best = [rest for rest, length in found.items() if length == max(found.values())]
        ending = _common_start(best)
        return f"{form[: len(form) - len(words[-1])]}{ending}" if ending else form

    def _count_equal(self, number: int, end: int, keys: list[str]) -> int:
        """The number of words before a position that are equal to those before the last word of a
        text."""
        words = self._words[number]
        count = 0
        for at, key in zip(range(end - 1, -1, -1), reversed(keys[:-1]), strict=False):
            if _key(words[at]) != key:
                break
            count += 1
        return count


def _common_start(endings: list[str]) -> str:
    """The words that all endings start with; empty if it is only one word of several endings."""
    if len(endings) < 2:
        return "".join(endings)
    columns = zip(*(ending.split() for ending in endings), strict=False)
    common = [words[0] for words in takewhile(lambda words: len(set(words)) == 1, columns)]
    return " ".join(common) if len(common) > 1 else ""


def _may_end(rest: list[str], last: str) -> bool:
    """True if a sentence may end with the last word of a text, so that the text is not clipped."""
    ends = len(rest) == 1 or rest[0][-1] in _PUNCTUATION or rest[1][0] in _PUNCTUATION
    return ends and _key(rest[0]) == last


@cache
def _key(word: str) -> str:
    """A word in the form that is compared: without punctuation; all ids and numbers are equal."""
    bare = word.strip(_PUNCTUATION)
    return "#" if any(character.isdigit() for character in bare) else bare
