"""The page a wire writes on: which ids and names to use, and a place to say what could not be
carried.

Knows no wire by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from toolwire.conversation.ids import MINTED, IdMap, is_minted, mint
from toolwire.conversation.json import JSON, JsonPath, Object, parse
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.model import Kind, Loss, Tool
from toolwire.conversation.parts import (
    PLACEHOLDER_SIGNATURE,
    Call,
    Opaque,
    Output,
    Part,
    Result,
    Traceable,
)


class EncodeContext:
    """One encoding under way."""

    __slots__ = (
        "_came",
        "_went",
        "called_names",
        "ids",
        "kind",
        "losses",
        "minted_ids_needed",
        "minted_ids_sent",
        "names",
        "notes",
        "ordinal",
        "patching",
        "plain",
        "results",
        "reverse_map",
        "seed",
        "sent_ids",
        "setting_path",
        "wire",
    )

    def __init__(
        self,
        wire: str,
        kind: Kind,
        *,
        ids: dict[int, str] | None,
        names: Mapping[str, str],
        home: IdMap,
    ) -> None:
        self.wire = wire
        self.kind = kind
        self.ids = ids
        self.names = names
        self.reverse_map = home
        self.plain = ids is None and not home.forms
        """Whether ids and results go as they are: nothing to map, nothing to restore."""
        self.minted_ids_sent: bool | None = None
        """Whether minted ids are sent even where they are optional; not known before somebody asks.
        """
        self.minted_ids_needed: Callable[[], bool] = bool
        """Says whether a reader who sees no minted ids would pair otherwise."""
        self.results: Sequence[Result] = ()
        """Every result that is being written, in order: a call may have several."""
        self._came: dict[int, int] | None = None
        self._went: dict[int, int] | None = None
        self.losses: list[Loss] = []
        self.sent_ids: dict[str, str] = {}
        self.notes: dict[str, str] = {}
        self.called_names: dict[str, str] = {}
        self.ordinal = 0
        self.patching = False
        """True while a block of the target's own wire is compared before and after an edit."""
        self.setting_path: JsonPath = ()
        """Where the setting that is being written stood in the source."""
        self.seed = ""

    def report_loss(self, path: JsonPath | Traceable, reason: str) -> None:
        """Report something that stays behind."""
        self.losses.append(Loss(path.path if isinstance(path, Traceable) else path, reason))

    # --- ids and names ---

    def name(self, name: str) -> str:
        """A tool's name as this wire takes it."""
        return self.names.get(name, name) if self.names else name

    def result_name(self, result: Result) -> str:
        """The tool name to write on a result: the name of its call, as far as that is known."""
        called = self.called_names.get(result.call_id)
        name = result.name or called if self.patching else called or result.name
        return self.name(name or "")

    def call_id(self, call: Call) -> str:
        """The id to send for a call, remembered for the way home."""
        return call.id if self.ids is None else self._sent(self.ids.get(id(call), call.id), call.id)

    def result_id(self, result: Result) -> str:
        """The id to send for a result: that of its call."""
        if self.ids is None:
            return result.call_id
        return self._sent(self.ids.get(id(result), result.call_id), result.call_id)

    def hides_id(self, sent: str) -> bool:
        """Whether an id stays away from a wire on which it is optional: only we ever gave it, and
        pairing needs it not."""
        if not is_minted(sent):
            return False
        if self.minted_ids_sent is None:
            self.minted_ids_sent = self.minted_ids_needed()
        return not self.minted_ids_sent

    def _sent(self, sent: str, before: str) -> str:
        if sent != before:
            self.sent_ids[sent] = before
        return sent

    def wire_id(self, call: Call) -> str | None:
        """The id for a wire on which it is optional: None if nobody but us ever gave one.

        What a reader of the body will mint in its place is remembered for the way home.
        """
        sent = call.id if self.ids is None else self.call_id(call)
        self.ordinal += 1
        self.called_names[call.id] = call.name
        if sent[:3] != MINTED or not self.hides_id(sent):
            return sent
        self._sent(mint(self.seed, self.ordinal - 1, self.name(call.name)), sent)
        return None

    # --- arguments ---

    def arguments_object(self, call: Call) -> JSON:
        """The arguments as the object a wire wants; what is not one goes under `_raw`, reported."""
        if call.family == "custom":
            self.report_loss(
                call, "a custom call is sent as a function call with one field, `input`"
            )
            self.note(call, "custom")
            return {"input": call.args.text}
        value = call.args.value
        if isinstance(value, dict):
            return value if not self.reverse_map.forms else self._restored(call, value)
        if value is None and not call.args.broken:
            return {}
        self.report_loss(call, "the arguments are not a JSON object; they are sent under `_raw`")
        self.note(call, "raw")
        return {"_raw": call.args.text}

    def _restored(self, call: Call, value: Object) -> JSON:
        """What an earlier encoding put under `_raw`, if it is an object after all."""
        raw = value.get("_raw") if "raw" in self.notes_about(call) else None
        inside = LazyJson(raw).value if isinstance(raw, str) else None
        return inside if isinstance(inside, dict) else value

    def arguments_text(self, call: Call) -> str:
        """The arguments as JSON text, as they were before an earlier encoding put them under
        `_raw`."""
        if self.reverse_map.forms and "raw" in self.notes_about(call):
            value = call.args.value
            if isinstance(value, dict) and isinstance(value.get("_raw"), str):
                return str(value["_raw"])
        return call.args.text or "{}"

    def schema_of(self, tool: Tool) -> JSON:
        """The schema of a tool for a wire that knows functions only: a custom one takes its text in
        one field."""
        if tool.kind != "custom":
            return tool.schema
        self.report_loss(tool, "a custom tool is offered as a function with one field, `input`")
        return {
            "type": "object",
            "properties": {"input": {"type": "string"}},
            "required": ["input"],
        }

    # --- results ---

    def is_error(self, result: Result) -> bool:
        """Whether the result is an error, also when an earlier wire had no flag for it."""
        return result.error or (
            bool(self.reverse_map.forms) and "error" in self.notes_about(result)
        )

    def output(self, result: Result) -> Output:
        """The output, parsed again if an earlier wire had to send JSON as text."""
        if (
            self.reverse_map.forms
            and isinstance(result.output, str)
            and "json" in self.notes_about(result)
        ):
            try:
                return parse(result.output)
            except ValueError:
                return result.output
        return result.output

    def note_result_form(self, result: Result, *, flag: bool, structure: bool) -> None:
        """Keep for the way home what this wire cannot say of a result: that it is an error, or JSON
        and not text."""
        if isinstance(result.output, str) and (flag or not result.error):
            return
        if result.error and not flag:
            self.note(result, "error")
        if not structure and not isinstance(result.output, str | tuple):
            self.note(result, "json")

    # --- what is kept for the way home ---

    def note(self, part: Call | Result, word: str) -> None:
        """Keep a word about a call or a result that this wire cannot say."""
        key = (
            self.call_id(part)
            if isinstance(part, Call)
            else f"={self.result_id(part)}{self._nth(part, sent=True)}"
        )
        kept = self.notes.get(key, "").split()
        if word not in kept:
            self.notes[key] = " ".join((*kept, word))

    def notes_about(self, part: Call | Result) -> list[str]:
        """What an earlier encoding kept about a call or a result."""
        if not self.reverse_map.forms:
            return []
        one, form = (
            (part.id, "{}")
            if isinstance(part, Call)
            else (part.call_id, f"={{}}{self._nth(part, sent=False)}")
        )
        found = self.reverse_map.forms.get(form.format(one))
        if found is None and is_minted(
            one
        ):  # it was not sent, and made anew by whoever read the body
            found = self.reverse_map.forms.get(form.format(self.reverse_map.ids.get(one, one)))
        return found.split() if found else []

    def _nth(self, result: Result, *, sent: bool) -> str:
        """Which of the results of its call this is, if there was one before: counted by the ids
        that are sent, or that came."""
        known = self._went if sent else self._came
        if known is None:
            known = {}
            seen: dict[str, int] = {}
            for one in self.results:
                key = (
                    self.ids.get(id(one), one.call_id)
                    if sent and self.ids is not None
                    else one.call_id
                )
                seen[key] = seen.get(key, -1) + 1
                if seen[key]:
                    known[id(one)] = seen[key]
            if sent:
                self._went = known
            else:
                self._came = known
        nth = known.get(id(result), 0)
        return f"#{nth}" if nth else ""

    # --- what is left ---

    def report_unknown_fields(self, read: Traceable) -> None:
        """Report what something of another wire has that this one cannot carry, whatever it becomes
        here."""
        raw, spec = read.raw, read.spec
        if isinstance(read, Part) and read.signature not in (None, PLACEHOLDER_SIGNATURE):
            self.report_loss(read, "a signature that only its own provider can read")
        if not isinstance(raw, dict) or spec is None or isinstance(read, Opaque):
            return
        if not spec.keys.issuperset(raw):
            self._extra(read.path, raw, spec.keys)
            if (
                isinstance(read, Call | Result)
                and "type" in raw
                and "type" not in spec.keys
                and read.family != "function"
            ):
                self.note(
                    read, read.family
                )  # here it is a call like any other; its own wire gets its kind back
        for name, known in spec.inner:
            inside = raw.get(name)
            if isinstance(inside, dict) and not known.issuperset(inside):
                self._extra((*read.path, name), inside, known)

    def _extra(self, path: JsonPath, raw: Object, keys: frozenset[str]) -> None:
        for key, value in raw.items():
            if key not in keys and value is not None and value != []:
                self.report_loss((*path, key), "no such field on this wire")
