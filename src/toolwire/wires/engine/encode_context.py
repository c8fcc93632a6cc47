"""The state of one encoding: which ids and names to send, the losses, and what to restore later.

Knows no wire by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from toolwire.conversation.id_map import (
    CUSTOM_CALL,
    ERROR_RESULT,
    JSON_OUTPUT,
    RAW_ARGUMENTS,
    IdMap,
    call_key,
    result_key,
)
from toolwire.conversation.ids import MINTED, is_minted, mint
from toolwire.conversation.json import JSON, JsonPath, Object, parse
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.model import SIGNATURE_LOST, Kind, Loss, Tool
from toolwire.conversation.part_map import PartMap
from toolwire.conversation.parts import (
    PLACEHOLDER_SIGNATURE,
    Call,
    Opaque,
    Output,
    Part,
    Result,
    Traceable,
    unsay_error,
)


class EncodeContext:
    """What the writers of a wire share while they write one body or stream.

    *Forms* are words about a call or a result that the target cannot express, such as "this result
    was an error" (see `IdMap.forms`). `record_form` collects them for the map that the caller gets;
    `forms_of` looks them up in the map of an earlier encoding, to restore them.
    """

    __slots__ = (
        "_nth_received",
        "_nth_sent",
        "assistant_content",
        "called_names",
        "forms",
        "ids",
        "kind",
        "losses",
        "minted_ids_sent",
        "names",
        "native",
        "needs_minted_ids",
        "no_mapping",
        "ordinal",
        "patching",
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
        ids: PartMap[Call | Result, str] | None,
        names: Mapping[str, str],
        reverse_map: IdMap,
    ) -> None:
        self.wire = wire
        self.kind = kind
        self.native = False
        """True if the conversation was read from a body of this wire and kind, which the writer
        changes only where the conversation was edited."""
        self.ids = ids
        """The id to send for each call and result; None if all are sent unchanged."""
        self.names = names
        """Tool name in the conversation → name to send, for the names that change."""
        self.reverse_map = reverse_map
        """The map of an earlier encoding, whose ids, names and forms are restored."""
        self.no_mapping = ids is None and not reverse_map.forms
        """True if ids and results are sent unchanged: nothing to map, nothing to restore."""
        self.minted_ids_sent: bool | None = None
        """True if minted ids are sent even where ids are optional; None until that is computed."""
        self.needs_minted_ids: Callable[[], bool] = bool
        """Returns True if pairing by name and order alone would pair calls and results
        differently."""
        self.results: Sequence[Result] = ()
        """Every result that is written, in order; a call may have several."""
        self._nth_received: PartMap[Result, int] | None = None
        self._nth_sent: PartMap[Result, int] | None = None
        self.assistant_content: Literal["", "text", "some"] = ""
        """What the content of an assistant message beside calls must be for the target."""
        self.losses: list[Loss] = []
        self.sent_ids: dict[str, str] = {}
        """Id that was sent → id in the conversation."""
        self.forms: dict[str, str] = {}
        """The forms that this encoding records."""
        self.called_names: dict[str, str] = {}
        """Call id → tool name, for the calls written so far."""
        self.ordinal = 0
        """The number of calls written so far."""
        self.patching = False
        """True while a block of the target's own wire is compared before and after an edit."""
        self.setting_path: JsonPath = ()
        """The path in the source of the setting that is written now."""
        self.seed = ""
        """The id of the response, from which a reader of the body mints call ids."""

    def report_loss(self, path: JsonPath | Traceable, reason: str) -> None:
        """Report something that the target cannot hold, by its path in the source."""
        self.losses.append(Loss(path.path if isinstance(path, Traceable) else path, reason))

    # --- ids and names ---

    def name(self, name: str) -> str:
        """Return the name to send for a tool."""
        return self.names.get(name, name) if self.names else name

    def result_name(self, result: Result) -> str:
        """Return the tool name to write on a result: the name of its call, if that is known."""
        called = self.called_names.get(result.call_id)
        name = result.name or called if self.patching else called or result.name
        return self.name(name or "")

    def call_id(self, call: Call) -> str:
        """Return the id to send for a call, and record it if it differs."""
        if self.ids is None:
            return call.id
        return self._record_id(self.ids.get(call, call.id), call.id)

    def result_id(self, result: Result) -> str:
        """Return the id to send for a result: the id of its call."""
        if self.ids is None:
            return result.call_id
        return self._record_id(self.ids.get(result, result.call_id), result.call_id)

    def hides_id(self, sent: str) -> bool:
        """Return True if an optional id is left out: it is minted, and pairing does not need it."""
        if not is_minted(sent):
            return False
        if self.minted_ids_sent is None:
            self.minted_ids_sent = self.needs_minted_ids()
        return not self.minted_ids_sent

    def _record_id(self, sent: str, original: str) -> str:
        if sent != original:
            self.sent_ids[sent] = original
        return sent

    def wire_id(self, call: Call) -> str | None:
        """Return the id for a wire on which ids are optional; None if a minted id is left out.

        The id that a reader of the body will mint instead is recorded in `sent_ids`.
        """
        sent = call.id if self.ids is None else self.call_id(call)
        hidden = sent[:3] == MINTED and self.hides_id(sent)
        if not self.patching:  # calls of messages that are kept verbatim are counted with these
            self.called_names[call.id] = call.name
            if hidden:
                self._record_id(mint(self.seed, self.ordinal, self.name(call.name)), sent)
            self.ordinal += 1
        return None if hidden else sent

    # --- arguments ---

    def arguments_object(self, call: Call) -> JSON:
        """Return the arguments as an object; anything else is sent under `_raw` and reported."""
        if call.family == "custom":
            self.report_loss(
                call, "a custom call is sent as a function call with one field, `input`"
            )
            self.record_form(call, CUSTOM_CALL)
            return {"input": call.args.text}
        value = call.args.value
        if isinstance(value, dict):
            return value if not self.reverse_map.forms else self._restore_arguments(call, value)
        if value is None and not call.args.broken:
            return {}
        self.report_loss(call, "the arguments are not a JSON object; they are sent under `_raw`")
        self.record_form(call, RAW_ARGUMENTS)
        return {"_raw": call.args.text}

    def _restore_arguments(self, call: Call, value: Object) -> JSON:
        """Return the object that an earlier encoding sent as text under `_raw`, if it is one."""
        raw = value.get("_raw") if RAW_ARGUMENTS in self.forms_of(call) else None
        inside = LazyJson(raw).value if isinstance(raw, str) else None
        return inside if isinstance(inside, dict) else value

    def arguments_text(self, call: Call) -> str:
        """Return the arguments as JSON text, without the `_raw` field of an earlier encoding."""
        if self.reverse_map.forms and RAW_ARGUMENTS in self.forms_of(call):
            value = call.args.value
            if isinstance(value, dict) and isinstance(value.get("_raw"), str):
                return str(value["_raw"])
        return call.args.text or "{}"

    def schema_of(self, tool: Tool) -> JSON:
        """Return the schema of a tool for a wire that has only functions.

        A custom tool becomes a function with one text field, `input`, and is reported.
        """
        if tool.kind != "custom":
            return tool.schema
        self.report_loss(tool, "a custom tool is defined as a function with one field, `input`")
        return {
            "type": "object",
            "properties": {"input": {"type": "string"}},
            "required": ["input"],
        }

    # --- results ---

    def is_error(self, result: Result) -> bool:
        """Return True if the result is an error, also if an earlier wire had no flag for it."""
        return result.error or (
            bool(self.reverse_map.forms) and ERROR_RESULT in self.forms_of(result)
        )

    def output(self, result: Result) -> Output:
        """Return the output as it was before an earlier wire had to change its form."""
        output = result.output
        if not self.reverse_map.forms:
            return output
        forms = self.forms_of(result)
        if JSON_OUTPUT in forms and isinstance(output, str):
            try:
                output = parse(output)
            except ValueError:
                return output
        return unsay_error(output) if ERROR_RESULT in forms and not result.error else output

    def record_result_form(self, result: Result, *, flag: bool, structure: bool) -> None:
        """Record what the target cannot express about a result.

        Args:
            result: The result that is written.
            flag: True if the target marks errors.
            structure: True if the target holds this output as a JSON value instead of text.
        """
        if isinstance(result.output, str) and (flag or not result.error):
            return
        if result.error and not flag:
            self.record_form(result, ERROR_RESULT)
        if not structure and not isinstance(result.output, str | tuple):
            self.record_form(result, JSON_OUTPUT)

    # --- forms ---

    def record_form(self, part: Call | Result, form: str) -> None:
        """Record a form of a call or a result, so that a translation back can restore it."""
        if isinstance(part, Call):
            key = call_key(self.call_id(part))
        else:
            key = result_key(self.result_id(part), self._nth(part, sent=True))
        forms = self.forms.get(key, "").split()
        if form not in forms:
            self.forms[key] = " ".join((*forms, form))

    def forms_of(self, part: Call | Result) -> list[str]:
        """Return the forms that an earlier encoding recorded about a call or a result."""
        if not self.reverse_map.forms:
            return []
        call_id = part.id if isinstance(part, Call) else part.call_id
        forms = self._look_up_forms(part, call_id)
        if forms is None and is_minted(call_id):
            # The id was left out, and the reader of the body minted another.
            forms = self._look_up_forms(part, self.reverse_map.ids.get(call_id, call_id))
        return forms.split() if forms else []

    def _look_up_forms(self, part: Call | Result, call_id: str) -> str | None:
        if isinstance(part, Call):
            return self.reverse_map.forms.get(call_key(call_id))
        return self.reverse_map.forms.get(result_key(call_id, self._nth(part, sent=False)))

    def _nth(self, result: Result, *, sent: bool) -> int:
        """Return how many results of the same call precede this one.

        `sent` counts by the ids that are sent, otherwise by the ids in the conversation.
        """
        positions = self._nth_sent if sent else self._nth_received
        if positions is None:
            positions = self._count_results(sent=sent)
            if sent:
                self._nth_sent = positions
            else:
                self._nth_received = positions
        return positions.get(result, 0)

    def _count_results(self, *, sent: bool) -> PartMap[Result, int]:
        """Return the position of every result that is not the first of its call."""
        positions: PartMap[Result, int] = PartMap()
        counts: dict[str, int] = {}
        for result in self.results:
            call_id = result.call_id
            if sent and self.ids is not None:
                call_id = self.ids.get(result, call_id)
            nth = counts.get(call_id, 0)
            counts[call_id] = nth + 1
            if nth:
                positions[result] = nth
        return positions

    # --- unknown fields ---

    def report_unknown_fields(self, read: Traceable, *, keeps_signature: bool = False) -> None:
        """Report the fields and the signature of a block of another wire that are not carried."""
        raw, spec = read.raw, read.spec
        signature = read.signature if isinstance(read, Part) and not keeps_signature else None
        if signature not in (None, PLACEHOLDER_SIGNATURE):
            self.report_loss(read, SIGNATURE_LOST)
        if not isinstance(raw, dict) or spec is None or isinstance(read, Opaque):
            return
        if not spec.keys.issuperset(raw):
            self._report_fields(read.path, raw, spec.keys)
            if (
                isinstance(read, Call | Result)
                and "type" in raw
                and "type" not in spec.keys
                and read.family != "function"
            ):
                # The target writes a plain call; a translation back restores the type.
                self.record_form(read, read.family)
        for name, keys in spec.inner:
            inside = raw.get(name)
            if isinstance(inside, dict) and not keys.issuperset(inside):
                self._report_fields((*read.path, name), inside, keys)

    def _report_fields(self, path: JsonPath, raw: Object, keys: frozenset[str]) -> None:
        for key, value in raw.items():
            if key not in keys and value is not None and value != []:
                self.report_loss((*path, key), "no such field on this wire")
