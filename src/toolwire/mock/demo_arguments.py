"""Find the arguments of a call in the text of a question, by the schema of the tool.

Explicit values (`city=Oslo`, `limit: 3`) come first; then values of an enum, numbers in their
order, quoted texts, and names after a preposition. Several values for the only parameter of a tool
are several calls.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from json import JSONDecoder
from operator import itemgetter
from sys import float_info

from msgspec import Struct

from toolwire.conversation.json import JSON, Object, parse


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


_JSON = JSONDecoder(parse_constant=_no_constant)
_NUMBER = re.compile(r"(?<![\w.])-?\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w])")
_RESULT = re.compile(
    r"\b(?:the\s+)?(?:(?:previous|last|first|second|both)\s+)?(?:results?|answers?|outputs?|sums?|products?|it|them|that)\b",
    re.I,
)
_QUOTED = re.compile(r"\"([^\"]*)\"|“([^”]*)”|(?<!\w)'([^']*)'(?!\w)|`([^`]*)`")
_PREPOSITION = re.compile(
    r"\b(in|for|of|at|to|from|about|on|named|called|with|into|than)\s+", re.IGNORECASE
)
_PROPER = r"[A-ZÀ-ÞА-Я][\w'’.-]*(?:\s+[A-ZÀ-ÞА-Я][\w'’-]*)*|[぀-鿿]+"
_LIST = re.compile(rf"({_PROPER})((?:\s*(?:,\s*and|,|and|&|or)\s+(?:in\s+|for\s+)?(?:{_PROPER}))*)")
_SEPARATE = re.compile(r"\s*(?:,\s*and|,|\band\b|&|\bor\b)\s+(?:in\s+|for\s+)?")
_HINTS = {
    "from": ("from", "origin", "source", "start", "sender"),
    "to": ("to", "destination", "dest", "target", "end", "recipient"),
    "about": ("subject", "topic", "query", "about"),
    "on": ("date", "day", "on"),
    "at": ("time", "at"),
    "in": ("in", "city", "location", "place", "country", "unit", "units"),
    "into": ("to", "target", "language", "unit"),
}
"""Prepositions, and the words in parameter names that they point to."""


class Clause(Struct, frozen=True):
    """A piece of a question that asks for one tool: its words, those that name the tool, and the
    results so far."""

    text: str
    naming: frozenset[str]
    results: tuple[JSON, ...] = ()


def arguments(clause: Clause, schema: JSON) -> list[tuple[Object, tuple[str, ...]]]:
    """The arguments of each call that a clause asks for, and the required arguments that it
    lacks."""
    shape = schema if isinstance(schema, dict) else {}
    properties = shape.get("properties")
    fields: dict[str, Object] = (
        {key: field if isinstance(field, dict) else {} for key, field in properties.items()}
        if isinstance(properties, dict)
        else {}
    )
    wanted = shape.get("required")
    required = [key for key in wanted if isinstance(key, str)] if isinstance(wanted, list) else []
    found = _FoundValues(clause, fields, required)
    several = found.argument_sets()
    return [
        (arguments, tuple(key for key in required if key not in arguments)) for arguments in several
    ]


def kind_of(field: Object) -> str:
    """The type of a parameter; a union counts as the first type in it that is not null."""
    types = field.get("type")
    options = types if isinstance(types, list) else [types]
    for name in ("anyOf", "oneOf"):
        union = field.get(name)
        if types is None and isinstance(union, list):
            options = [option.get("type") for option in union if isinstance(option, dict)]
    known = [
        type_name.lower()
        for type_name in options
        if isinstance(type_name, str) and type_name.lower() != "null"
    ]
    if known:
        return known[0]
    return "object" if "properties" in field else "string"


class _FoundValues:
    """The values in a clause for the fields of a schema. Each piece of text is used for one field
    only."""

    def __init__(self, clause: Clause, fields: dict[str, Object], required: Sequence[str]) -> None:
        self.clause = clause
        self.text = clause.text
        self.fields = fields
        self.required = required
        self.given: Object = {}
        self.more: tuple[str, list[JSON]] | None = None
        """The one field that has several values, and the values."""

    def argument_sets(self) -> list[Object]:
        """The arguments, once for each value of the field that has several."""
        self._find_explicit()
        self._find_enum_values()
        self._find_quoted()
        self._find_numbers()
        self._find_names()
        self._switches()
        self._fill_rest()
        ordered = [key for key in self.fields if key in self.given]
        arguments: Object = {key: self.given[key] for key in ordered}
        if self.more is None:
            return [arguments]
        key, values = self.more
        return [
            {
                name: value if name == key else arguments[name]
                for name in self.fields
                if name in arguments
            }
            for value in values
        ]

    # --- the most certain ones first ---

    def _find_explicit(self) -> None:
        """Find `key=value`, `key: value` and `key is value`."""
        for key, field in self.fields.items():
            words = r"[\s_-]*".join(re.escape(word) for word in re.split(r"[\s_-]+", key))
            match = re.search(rf"(?<!\w){words}\s*(?:=|:|\bis\b)\s*", self.text, re.IGNORECASE)
            if match is None:
                continue
            value, end = self._value(match.end(), kind_of(field))
            if value is not None:
                self.given[key] = value
                self._blank(match.start(), end)

    def _value(self, at: int, kind: str) -> tuple[JSON, int]:
        rest = self.text[at:]
        if rest[:1] in ("{", "["):
            try:
                value, end = _JSON.raw_decode(rest)
                return value, at + end
            except (ValueError, RecursionError):
                pass
        match = _QUOTED.match(rest)
        if match is not None:
            return next(group for group in match.groups() if group is not None), at + match.end()
        word = re.match(r"[^\s,;]+", rest)
        if word is None:
            return None, at
        text = word[0].rstrip(".?!)")
        if kind in ("integer", "number") and _NUMBER.fullmatch(text):
            return _number(text, kind), at + len(text)
        if kind == "boolean":
            return text.lower() in ("true", "yes", "on", "1"), at + len(text)
        return text, at + len(text)

    def _find_enum_values(self) -> None:
        """Find values of an enum."""
        for key, field in self._open():
            options = field.get("enum")
            for option in options if isinstance(options, list) else []:
                match = re.search(
                    rf"(?<!\w){re.escape(str(option))}(?!\w)", self.text, re.IGNORECASE
                )
                if match is not None and str(option).lower() not in self.clause.naming:
                    self.given[key] = option
                    self._blank(*match.span())
                    break

    def _find_numbers(self) -> None:
        """Find numbers in their order, and references to results among them."""
        fields = [(key, kind_of(field), field) for key, field in self._open()]
        scalars = [(key, kind) for key, kind, _ in fields if kind in ("integer", "number")]
        lists = [
            key
            for key, kind, field in fields
            if kind == "array" and _of(field) in ("integer", "number", "")
        ]
        if not scalars and not lists:
            return
        found: list[tuple[int, JSON]] = [
            (match.start(), _number(match[0], "number")) for match in _NUMBER.finditer(self.text)
        ]
        counted = [number for result in self.clause.results for number in _numbers_in(result)]
        reference = _RESULT.search(self.text) if counted else None
        if reference is not None:
            plural = re.search(
                r"\b(?:results|answers|outputs|sums|products|them|both)\b",
                reference[0],
                re.IGNORECASE,
            )
            found += [
                (reference.start(), number) for number in (counted if plural else counted[-1:])
            ]
        values = [value for _, value in sorted(found, key=itemgetter(0))]
        if not scalars:
            if values:
                self.given[lists[0]] = values
            return
        self._assign(scalars, values)

    def _assign(self, fields: Sequence[tuple[str, str]], values: Sequence[JSON]) -> None:
        if len(values) > 1 and self._only([key for key, _ in fields]):
            key, kind = fields[0]
            self.given[key] = _as_kind(values[0], kind)
            self.more = (key, [_as_kind(value, kind) for value in values])
            return
        for (key, kind), value in zip(fields, values, strict=False):
            self.given[key] = _as_kind(value, kind)

    def _find_quoted(self) -> None:
        """Find quoted texts, in order; a JSON list or object for a field of that type."""
        for key, field in self._open():
            kind = kind_of(field)
            if kind not in ("array", "object"):
                continue
            at = self.text.find("[" if kind == "array" else "{")
            value, end = self._value(at, kind) if at >= 0 else (None, 0)
            if isinstance(value, list | dict):
                self.given[key] = value
                self._blank(at, end)
        quoted = [
            (match.span(), next(group for group in match.groups() if group is not None))
            for match in _QUOTED.finditer(self.text)
        ]
        texts = [key for key, field in self._open() if kind_of(field) == "string"]
        if len(quoted) > 1 and self._only(texts):
            self.given[texts[0]] = quoted[0][1]
            self.more = (texts[0], [value for _, value in quoted])
        for key, ((start, end), value) in zip(texts, quoted, strict=False):
            self.given.setdefault(key, value)
            self._blank(start, end)

    def _find_names(self) -> None:
        """Find names after a preposition; without one, any names."""
        texts = self._texts()
        for match in list(_PREPOSITION.finditer(self.text)):
            if not texts:
                return
            names = _LIST.match(self.text, match.end())
            if names is None:
                continue
            values = [name for name in _SEPARATE.split(names[0].rstrip(".?!,")) if name]
            hinted = [
                key
                for key in texts
                if set(re.split(r"[\s_-]+", key.lower())) & set(_HINTS.get(match[1].lower(), ()))
            ]
            self._assign_names((hinted or texts)[0], values)
            texts = self._texts()
        for names in list(_LIST.finditer(self.text)):
            if not texts:
                return
            first = not self.text[: names.start()].strip("\0 \t\n")
            if first or "\0" in names[0]:
                continue  # a sentence begins with a capital letter
            self._assign_names(
                texts[0], [name for name in _SEPARATE.split(names[0].rstrip(".?!,")) if name]
            )
            texts = self._texts()

    def _texts(self) -> list[str]:
        return [
            key
            for key, field in self._open()
            if kind_of(field) == "string" and (key in self.required or not self.required)
        ]

    def _assign_names(self, key: str, values: list[str]) -> None:
        self.given[key] = values[0]
        if len(values) > 1 and self.more is None:
            self.more = (key, [*values])
        for value in values:
            at = self.text.find(value)
            self._blank(at, at + len(value))

    def _switches(self) -> None:
        for key, field in self._open():
            if kind_of(field) == "boolean" and re.search(
                rf"(?<!\w){re.escape(key)}(?!\w)", self.text, re.IGNORECASE
            ):
                self.given[key] = not re.search(
                    rf"\b(?:no|not|without)\s+{re.escape(key)}\b", self.text, re.IGNORECASE
                )

    def _fill_rest(self) -> None:
        """Set a required text that was not found to a result that the clause refers to, or to the
        unused words."""
        for key, field in self._open():
            if key not in self.required or kind_of(field) != "string":
                continue
            if self.clause.results and _RESULT.search(self.text):
                last = self.clause.results[-1]
                self.given[key] = last if isinstance(last, str) else str(last)
                continue
            words = re.findall(r"[^\s\0]+", self.text)
            left = " ".join(word for word in words if not _naming(word, self.clause.naming)).strip(
                " ,;.?!:"
            )
            led = list(_PREPOSITION.finditer(left))
            text = left[led[-1].end() :] if led and left[led[-1].end() :].strip() else left
            if text:
                self.given[key] = text
                return

    # --- helpers ---

    def _open(self) -> list[tuple[str, Object]]:
        return [(key, field) for key, field in self.fields.items() if key not in self.given]

    def _only(self, keys: Sequence[str]) -> bool:
        """True if a field is the only one of its type, so that several values mean
        several calls.
        """
        return len(keys) == 1 and self.more is None

    def _blank(self, start: int, end: int) -> None:
        if 0 <= start < end:
            self.text = self.text[:start] + "\0" * (end - start) + self.text[end:]


def _naming(word: str, naming: Iterable[str]) -> bool:
    plain = re.sub(r"\W", "", word.lower())
    return any(
        plain == word or (len(word) > 2 and plain.startswith(word) and len(plain) - len(word) < 4)
        for word in naming
    )


def _of(field: Object) -> str:
    items = field.get("items")
    return kind_of(items) if isinstance(items, dict) else ""


def _number(text: str, kind: str) -> JSON:
    """The number that a text stands for; the largest one instead of one that no float can hold."""
    is_json = re.fullmatch(r"-?(?:0|[1-9][\d_]*)(?:\.\d+)?(?:[eE][+-]?\d+)?", text)
    try:
        value = parse(text.replace("_", "")) if is_json else int(float(text))
    except (ValueError, OverflowError):
        value = -float_info.max if text.startswith("-") else float_info.max
    return _as_kind(value, kind)


def _as_kind(value: JSON, kind: str) -> JSON:
    """The number as an integer if the field is one and the value has no fraction."""
    return (
        int(value)
        if kind == "integer" and isinstance(value, float) and value.is_integer()
        else value
    )


def _numbers_in(result: JSON) -> list[JSON]:
    """The first number in a result."""
    if isinstance(result, bool) or result is None:
        return []
    if isinstance(result, int | float):
        return [result]
    if isinstance(result, str):
        match = _NUMBER.search(result)
        return [_number(match[0], "number")] if match else []
    inside = result if isinstance(result, list) else list(result.values())
    return next((found for element in inside if (found := _numbers_in(element))), [])
