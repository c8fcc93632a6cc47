"""The map from the ids and names that an encoding sent back to those of its source."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

CUSTOM_CALL = "custom"
"""Form of a call: it was a custom call, and its text was sent in the field `input`."""
RAW_ARGUMENTS = "raw"
"""Form of a call: its arguments were no JSON object, and were sent as text in the field `_raw`."""
ERROR_RESULT = "error"
"""Form of a result: it was an error, and the wire has no error flag."""
JSON_OUTPUT = "json"
"""Form of a result: its output was a JSON value, and was sent as text."""


def call_key(call_id: str) -> str:
    """Return the key of a call in `IdMap.forms`."""
    return call_id


def result_key(call_id: str, nth: int = 0) -> str:
    """Return the key in `IdMap.forms` of a result: the first of its call, or the `nth` after."""
    return f"={call_id}#{nth}" if nth else f"={call_id}"


class IdMap(Struct, frozen=True):
    """What an encoding changed, so that a translation back (`ids=`) can restore it.

    `to_dict` and `of` carry it through JSON.
    """

    ids: dict[str, str] = {}
    """Id that was sent → id in the source."""
    names: dict[str, str] = {}
    """Tool name that was sent → name in the source."""
    forms: dict[str, str] = {}
    """What the wire could not express about a call or a result: words separated by spaces.

    Keys are those of `call_key` and `result_key`, with the ids that were sent. The words are
    `CUSTOM_CALL` and `RAW_ARGUMENTS` (calls), `ERROR_RESULT` and `JSON_OUTPUT` (results), and the
    family of a call or result whose wire has types of its own, such as `computer`.
    """

    def to_dict(self) -> dict[str, dict[str, str]]:
        """Return the map as plain dicts, ready for JSON."""
        return {"ids": dict(self.ids), "names": dict(self.names), "forms": dict(self.forms)}

    def after_repair(self, repaired: IdMap) -> IdMap:
        """Return the map back from a body that was repaired after this encoding."""
        if not repaired.ids and not repaired.names:
            return self
        ids = self.ids | {new: self.ids.get(old, old) for new, old in repaired.ids.items()}
        names = self.names | {new: self.names.get(old, old) for new, old in repaired.names.items()}
        forms = dict(self.forms)
        for new, old in repaired.ids.items():
            for key_of in (call_key, result_key):
                if key_of(old) in self.forms:
                    forms[key_of(new)] = self.forms[key_of(old)]
        return IdMap(ids, names, forms)

    def after(self, earlier: IdMap) -> IdMap:
        """Return the map back through this one and then through an earlier one."""
        if not earlier.ids and not earlier.names:
            return self
        ids = {sent: earlier.ids.get(before, before) for sent, before in self.ids.items()}
        names = {sent: earlier.names.get(before, before) for sent, before in self.names.items()}
        return IdMap({**earlier.ids, **ids}, {**earlier.names, **names}, self.forms)

    @staticmethod
    def of(value: IdMap | Mapping[str, Mapping[str, str]] | None) -> IdMap:
        """Return a map from plain dicts; a map is returned as it is, None gives an empty one."""
        if value is None:
            return IdMap()
        if isinstance(value, IdMap):
            return value
        return IdMap(*(dict(value.get(key, {})) for key in ("ids", "names", "forms")))


NO_MAP = IdMap()
"""An empty map for internal use. Never return it to a caller: its dicts are mutable."""
