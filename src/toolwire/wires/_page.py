"""The page a wire writes on: which ids and names to use, and a place to say what could not be carried.

Knows no wire by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from toolwire._json import JSON, At, Json, Object, parse
from toolwire.identity import MINTED, IdMap, is_minted, mint
from toolwire.model import Kind, Loss, Tool
from toolwire.parts import Call, Opaque, Output, Part, Read, Result


class Page:
    """One encoding under way."""

    __slots__ = (
        "_again", "called", "forms", "home", "ids", "kind", "losses", "names",
        "needed", "ordinal", "place", "plain", "results", "reveal", "seed", "sent", "wire",
    )  # fmt: skip

    def __init__(self, wire: str, kind: Kind, *, ids: dict[int, str] | None, names: Mapping[str, str], home: IdMap) -> None:
        self.wire = wire
        self.kind = kind
        self.ids = ids
        self.names = names
        self.home = home
        self.plain = ids is None and not home.forms
        """Whether ids and results go as they are: nothing to map, nothing to restore."""
        self.reveal: bool | None = None
        """Whether minted ids are sent even where they are optional; not known before somebody asks."""
        self.needed: Callable[[], bool] = bool
        """Says whether a reader who sees no minted ids would pair otherwise."""
        self.results: Sequence[Result] = ()
        """Every result that is being written, in order: a call may have several."""
        self._again: dict[int, int] | None = None
        self.losses: list[Loss] = []
        self.sent: dict[str, str] = {}
        self.forms: dict[str, str] = {}
        self.called: dict[str, str] = {}
        self.ordinal = 0
        self.place: At = ()
        """Where the setting that is being written stood in the source."""
        self.seed = ""

    def lose(self, at: At | Read, reason: str) -> None:
        """Report something that stays behind."""
        self.losses.append(Loss(at.at if isinstance(at, Read) else at, reason))

    # --- ids and names ---

    def name(self, name: str) -> str:
        """A tool's name as this wire takes it."""
        return self.names.get(name, name) if self.names else name

    def call_id(self, call: Call) -> str:
        """The id to send for a call, remembered for the way home."""
        return call.id if self.ids is None else self._sent(self.ids.get(id(call), call.id), call.id)

    def result_id(self, result: Result) -> str:
        """The id to send for a result: that of its call."""
        if self.ids is None:
            return result.call_id
        return self._sent(self.ids.get(id(result), result.call_id), result.call_id)

    def hides(self, sent: str) -> bool:
        """Whether an id stays away from a wire on which it is optional: only we ever gave it, and pairing needs it not."""
        if not is_minted(sent):
            return False
        if self.reveal is None:
            self.reveal = self.needed()
        return not self.reveal

    def _sent(self, sent: str, before: str) -> str:
        if sent != before:
            self.sent[sent] = before
        return sent

    def wire_id(self, call: Call) -> str | None:
        """The id for a wire on which it is optional: None if nobody but us ever gave one.

        What a reader of the body will mint in its place is remembered for the way home.
        """
        sent = call.id if self.ids is None else self.call_id(call)
        self.ordinal += 1
        self.called[call.id] = call.name
        if sent[:3] != MINTED or not self.hides(sent):
            return sent
        self._sent(mint(self.seed, self.ordinal - 1, self.name(call.name)), sent)
        return None

    # --- arguments ---

    def object_of(self, call: Call) -> JSON:
        """The arguments as the object a wire wants; what is not one goes under `_raw`, reported."""
        if call.family == "custom":
            self.lose(call, "a custom call is sent as a function call with one field, `input`")
            self.forms[self.call_id(call)] = "custom"
            return {"input": call.args.text}
        value = call.args.value
        if isinstance(value, dict):
            return value if not self.home.forms else self._restored(call, value)
        if value is None and not call.args.broken:
            return {}
        self.lose(call, "the arguments are not a JSON object; they are sent under `_raw`")
        self.forms[self.call_id(call)] = "raw"
        return {"_raw": call.args.text}

    def _restored(self, call: Call, value: Object) -> JSON:
        """What an earlier encoding put under `_raw`, if it is an object after all."""
        raw = value.get("_raw") if self.home.forms.get(call.id) == "raw" else None
        inside = Json(raw).value if isinstance(raw, str) else None
        return inside if isinstance(inside, dict) else value

    def text_of(self, call: Call) -> str:
        """The arguments as JSON text, as they were before an earlier encoding put them under `_raw`."""
        if self.home.forms and self.home.forms.get(call.id) == "raw":
            value = call.args.value
            if isinstance(value, dict) and isinstance(value.get("_raw"), str):
                return str(value["_raw"])
        return call.args.text or "{}"

    def schema_of(self, tool: Tool) -> JSON:
        """The schema of a tool for a wire that knows functions only: a custom one takes its text in one field."""
        if tool.kind != "custom":
            return tool.schema
        self.lose(tool, "a custom tool is offered as a function with one field, `input`")
        return {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}

    # --- results ---

    def failed(self, result: Result) -> bool:
        """Whether the result is an error, also when an earlier wire had no flag for it."""
        return result.error or (bool(self.home.forms) and "error" in self._form(result))

    def output(self, result: Result) -> Output:
        """The output, parsed again if an earlier wire had to send JSON as text."""
        if self.home.forms and isinstance(result.output, str) and "json" in self._form(result):
            try:
                return parse(result.output)
            except ValueError:
                return result.output
        return result.output

    def _form(self, result: Result) -> str:
        return self.home.forms.get(self._key(result.call_id, result), "")

    def _key(self, call_id: str, result: Result) -> str:
        """Under which a form is kept: the call's id, and which of its results this is if there was one before."""
        if self._again is None:
            seen: dict[str, int] = {}
            self._again = {}
            for one in self.results:
                nth = seen.get(one.call_id, 0)
                seen[one.call_id] = nth + 1
                if nth:
                    self._again[id(one)] = nth
        nth = self._again.get(id(result), 0)
        return f"={call_id}#{nth}" if nth else f"={call_id}"

    def remember(self, result: Result, *, flag: bool, structure: bool) -> None:
        """Keep for the way home what this wire cannot say of a result: that it is an error, or JSON and not text."""
        if isinstance(result.output, str) and (flag or not result.error):
            return
        words = ["error"] if result.error and not flag else []
        if not structure and not isinstance(result.output, str | tuple):
            words.append("json")
        if words:
            self.forms[self._key(self.result_id(result), result)] = " ".join(words)

    # --- what is left ---

    def leftovers(self, read: Read) -> None:
        """Report what something of another wire has that this one cannot carry, whatever it becomes here."""
        raw, row = read.raw, read.row
        if isinstance(read, Part) and read.seal is not None:
            self.lose(read, "a signature that only its own provider can read")
        if not isinstance(raw, dict) or row is None or isinstance(read, Opaque):
            return
        if not row.keys.issuperset(raw):
            self._extra(read.at, raw, row.keys)
        for name, known in row.inner:
            inside = raw.get(name)
            if isinstance(inside, dict) and not known.issuperset(inside):
                self._extra((*read.at, name), inside, known)

    def _extra(self, at: At, raw: Object, keys: frozenset[str]) -> None:
        for key, value in raw.items():
            if key not in keys and value is not None and value != []:
                self.lose((*at, key), "no such field on this wire")
