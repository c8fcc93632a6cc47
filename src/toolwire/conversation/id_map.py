"""The map from the ids and names that an encoding sent to those of its source."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct

from toolwire.conversation.json import JSON, Object
from toolwire.errors import UsageError

ApprovalDecision: TypeAlias = Literal["", "granted", "refused"]


class CallForm(Struct, frozen=True, omit_defaults=True):
    """What the wire could not express about a call."""

    family: str = ""
    """The family of the call, such as `custom` or `computer`, if it was sent as a function call."""
    raw_arguments: bool = False
    """True if the arguments were not a JSON object and were sent as text in the field `_raw`."""
    approval: ApprovalDecision = ""
    """The user's decision about the call, if it was sent in another message."""

    def merge(self, other: CallForm) -> CallForm:
        """Merge two forms; this one takes precedence."""
        return CallForm(
            self.family or other.family,
            self.raw_arguments or other.raw_arguments,
            self.approval or other.approval,
        )


class ResultForm(Struct, frozen=True, omit_defaults=True):
    """What the wire could not express about a result."""

    family: str = ""
    """The family of the result, if it was sent as the result of a function call."""
    error: bool = False
    """True if the result was an error and the wire has no error flag."""
    json_output: bool = False
    """True if the output was a JSON value and was sent as text."""

    def merge(self, other: ResultForm) -> ResultForm:
        """Merge two forms; this one takes precedence."""
        return ResultForm(
            self.family or other.family,
            self.error or other.error,
            self.json_output or other.json_output,
        )


PLAIN_CALL = CallForm()
CUSTOM_CALL = CallForm(family="custom")
"""A custom call, whose text was sent in the field `input` of a function call."""
RAW_ARGUMENTS = CallForm(raw_arguments=True)
PLAIN_RESULT = ResultForm()
ERROR_RESULT = ResultForm(error=True)
JSON_OUTPUT = ResultForm(json_output=True)


class IdMap(Struct, frozen=True, gc=False):
    """What an encoding changed, so that a translation back (`ids=`) can restore it.

    `to_dict` and `of` carry it through JSON.
    """

    ids: dict[str, str] = {}
    """Id that was sent → id in the source."""
    names: dict[str, str] = {}
    """Tool name that was sent → name in the source."""
    calls: dict[str, CallForm] = {}
    """What the wire could not express about calls, by the id that was sent."""
    results: dict[str, list[ResultForm]] = {}
    """What the wire could not express about the results of each call, in order, by the id that was
    sent."""

    defaults: dict[str, bool | int] = {}
    """Setting that the source lacks and the wire requires → the value that was sent."""

    def to_dict(self) -> Object:
        """Return the map as plain dicts, ready for JSON."""
        fields: Object = msgspec.to_builtins(self)
        return fields

    def after_repair(self, repaired: IdMap) -> IdMap:
        """Return the map that leads from a body repaired after this encoding back to the source."""
        if not repaired.ids and not repaired.names:
            return self
        ids = self.ids | {new: self.ids.get(old, old) for new, old in repaired.ids.items()}
        names = self.names | {new: self.names.get(old, old) for new, old in repaired.names.items()}
        calls, results = dict(self.calls), dict(self.results)
        for new, old in repaired.ids.items():
            if old in self.calls:
                calls[new] = self.calls[old]
            if old in self.results:
                results[new] = self.results[old]
        return IdMap(ids, names, calls, results, self.defaults)

    def after(self, earlier: IdMap) -> IdMap:
        """Return the map that leads back through this encoding and then through an earlier one."""
        if not earlier.ids and not earlier.names:
            return self
        ids = {sent: earlier.ids.get(before, before) for sent, before in self.ids.items()}
        names = {sent: earlier.names.get(before, before) for sent, before in self.names.items()}
        return IdMap(
            {**earlier.ids, **ids},
            {**earlier.names, **names},
            self.calls,
            self.results,
            {**earlier.defaults, **self.defaults},
        )

    @staticmethod
    def of(value: IdMap | Mapping[str, JSON] | None) -> IdMap:
        """Return a map from plain dicts. A map is returned unchanged; None gives an empty map.

        Raises:
            UsageError: The value is not what `to_dict` returns.
        """
        if value is None:
            return IdMap()
        if isinstance(value, IdMap):
            return value
        try:
            return msgspec.convert(value, IdMap)
        except msgspec.ValidationError as error:
            raise UsageError(f"not an id map as `to_dict` returns it: {error}") from None


NO_MAP = IdMap()
"""An empty map for internal use. Never return it to a caller: its dicts are mutable."""
