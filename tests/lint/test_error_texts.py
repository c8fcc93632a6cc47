"""Errors of public issues and programs: each one leads to its rule, or to its kind.

`error_texts.jsonl` has a text per line, with the issue or the file it is from and the rules that are right as
the first explanation; for an error that is not about tool calls, its kind. A part of the texts is
held out: patterns are written for the others, and these show how well they generalize. Do not read
them when you change a pattern. `set` names the collection of a text: each one was labelled before
`explain` saw it, and its first score is how well unseen texts are explained: A 63 of 101, B 68 of
80, C 54 of 68, D 45 of 52, E 42 of 54, F 80 of 86, G 56 of 70, H 43 of 54, I 19 of 25, J 91 of 105,
K 43 of 53, L 52 of 63, M 15 of 16, N 97 of 110, O 27 of 30, P 17 of 20, Q 32 of 38, R 64 of 72, S 35
of 44, T 42 of 53, W 106 of 121, X 90 of 114, Y 76 of 86, Z 15 of 16. Of the texts about histories
alone, F 51 of 55, G 31 of 37, H 21 of 24, I 16 of 18, J 66 of 76, K 30 of 38, L 38 of 45, M 10 of 11,
N 59 of 67, O 10 of 12, P 16 of 19, Q 16 of 18, R 46 of 52, S 20 of 23, T 16 of 22, W 73 of 87, X 65 of
87, Y 44 of 48, Z 11 of 12. Half of R, of T and of Y was learned from before the other half was
measured. T has only texts whose wording no earlier collection has. W and X were labelled without
knowledge of the patterns. AA is the hardest: a search for rare wordings, without the texts that were
known; 94 of 103 in the part to learn from, and in the part set aside 67 of 81 (40 of 48) before and 68
(38) after learning from the other; after that, most of its misses were learned from too. AB has texts
as people paste them most often: 28 of 29 (18 of 18), both before and after. Texts that are still wrong
are held out, whichever part they are from. Measure a new collection in the same way before you learn
from it.

U and V are not from issues: they are messages in the source of servers, SDKs, frameworks and agents,
with the file that raises them, and values in the place of variables. They are much harder. U was
divided by a hash: the half to learn from had 64 of 113 right at first, the half set aside 61 of 96 (46
of 77 about histories) before and 72 (54) after learning from the other half. V was collected after
that, from other repositories: 32 of 45 (25 of 36). Texts of U and V that are still explained wrongly
are held out too, whichever half they are from.

AC is from issues, and AD from source files, which the search that found them shows without their path:
they have its number. Both have no text that an earlier collection has, and were labelled before
`explain` saw them. A hash divided them: the half to learn from had 73 of 91 right at first (58 of 72
about histories, 15 of 19 about other things), the half set aside 98 of 119 (71 of 82, 27 of 37), and
100 (73, 27) after learning from the other half and from sentences in our own words. The last 51 texts
of AD were collected after the first part of that: 16 of 23 were right in their half to learn from, and
24 of 28 in the half set aside, before and after. After these measurements most misses were learned from
too; a text that was wrong before that is not held out, unless it still is wrong. The last five of AC are
from after that: 2 of 5.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from cases import DEEP
from rows import rows

from toolwire.lint import all_rules
from toolwire.lint.explain import UNRELATED_CODE, explain
from toolwire.lint.provider_errors import ERROR_KINDS, OTHER_ERROR

MIN_RATE = 0.95
"""The share of the held-out texts from issues whose first explanation has to be right."""
MIN_SOURCE_RATE = 0.6
"""The same for messages in source code."""
SOURCE_SETS = ("U", "V", "AD")
"""The collections of messages in source code."""


class ErrorText(msgspec.Struct, frozen=True):
    """A text from an issue or a source file, and what it means."""

    source: str
    held_out: bool
    text: str
    rules: tuple[str, ...] = ()
    kind: str = ""
    set: str = ""

    def is_explained(self) -> bool:
        """True if the first explanation is right, or nothing but the kind is said."""
        names = [(one.code, one.name) for one in explain(self.text)]
        if self.kind == OTHER_ERROR.kind:  # nothing says what is wrong
            return all(code == UNRELATED_CODE for code, _ in names)
        if self.kind:
            return names == [(UNRELATED_CODE, self.kind)]
        return bool(names) and names[0][1] in self.rules


LINES = (Path(__file__).parent / "error_texts.jsonl").read_text(encoding="utf-8").splitlines()
TEXTS = [msgspec.convert(json.loads(line), ErrorText) for line in LINES]
HELD_OUT = [one for one in TEXTS if one.held_out and one.set not in SOURCE_SETS]
SOURCE_HELD_OUT = [one for one in TEXTS if one.held_out and one.set in SOURCE_SETS]
LEARNED = [one for one in TEXTS if not one.held_out]


def test_there_are_enough_texts_of_both_parts() -> None:
    assert len([one for one in TEXTS if one.rules]) >= 250
    assert len([one for one in TEXTS if one.kind]) >= 60
    assert len(HELD_OUT) >= 160
    assert len({one.text for one in TEXTS}) == len(TEXTS)


def test_every_rule_and_kind_of_a_text_exists() -> None:
    names = {rule.name for rule in all_rules()}
    assert {name for one in TEXTS for name in one.rules} <= names
    kinds = {error.kind for error in (*ERROR_KINDS, OTHER_ERROR)}
    assert {one.kind for one in TEXTS} - {""} <= kinds


@rows(
    "error",
    LEARNED,
    ids=lambda error: f"{error.source}-{error.text[:24].strip()}",
    group=lambda error: error.source[:1],
    share=2,
)
def test_a_pasted_error_leads_to_its_rule_or_kind(error: ErrorText) -> None:
    assert error.is_explained(), explain(error.text)[:1]


@pytest.mark.parametrize("about_calls", [True, False])
def test_errors_that_no_pattern_was_written_for_are_explained_too(about_calls: bool) -> None:
    held_out = [one for one in HELD_OUT if bool(one.rules) == about_calls]
    right = sum(one.is_explained() for one in held_out)
    assert right >= MIN_RATE * len(held_out), f"{right} of {len(held_out)}"


def test_messages_in_source_code_that_no_pattern_was_written_for_are_explained_too() -> None:
    right = sum(one.is_explained() for one in SOURCE_HELD_OUT)
    assert right >= MIN_SOURCE_RATE * len(SOURCE_HELD_OUT), f"{right} of {len(SOURCE_HELD_OUT)}"


def colour(text: str) -> str:
    """A text as a terminal shows it, with a colour for every second word."""
    words = re.split(r"(\s+)", text)
    return "".join(
        f"\x1b[1;31m{word}\x1b[0m" if n % 4 == 0 else word for n, word in enumerate(words)
    )


WRAPPERS: dict[str, Callable[[str], str]] = {
    "json": lambda text: json.dumps({"error": {"message": text}}),
    "json in json": lambda text: json.dumps({"error": json.dumps({"message": text})}),
    "bytes": lambda text: repr(text.encode()),
    "colours": colour,
    "colours in json": lambda text: json.dumps({"error": colour(text)}),
    "windows": lambda text: text.replace("\n", "\r\n"),
}


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_a_wrapped_error_means_the_same(wrapper: str) -> None:
    """An error in JSON, in JSON in a string, in bytes, or with the colours of a terminal."""
    texts = [one for one in LEARNED if one.rules and one.text.isascii()][::15]
    wrapped = [msgspec.structs.replace(one, text=WRAPPERS[wrapper](one.text)) for one in texts]
    right = sum(one.is_explained() for one in wrapped)
    assert right >= 0.99 * len(wrapped), f"{right} of {len(wrapped)}"


@pytest.mark.parametrize("columns", [97, 120])
def test_a_terminal_may_break_an_error_anywhere(columns: int) -> None:
    """A line that is broken inside a word is put together again; so is one in a frame."""
    for one in LEARNED[:: 1 if DEEP else 10]:
        if one.rules and "\n" not in one.text:
            pieces = [one.text[at : at + columns] for at in range(0, len(one.text), columns)]
            first = explain(one.text)[0].name
            assert explain("\n    ".join(pieces))[0].name == first
            assert explain("\n│ ".join(pieces))[0].name == first
            box = "\n".join(f"│ {piece:<{columns}} │" for piece in pieces)
            assert explain(box)[0].name == first
