"""The state of one encoding: ids, names, losses, what to restore later. Knows no wire by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType

from toolwire.conversation.id_map import (
    CUSTOM_CALL,
    ERROR_RESULT,
    JSON_OUTPUT,
    PLAIN_CALL,
    PLAIN_RESULT,
    RAW_ARGUMENTS,
    CallForm,
    IdMap,
    ResultForm,
)
from toolwire.conversation.ids import MINTED, is_minted, mint
from toolwire.conversation.json import JSON, JsonPath, Object, parse
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.model import SIGNATURE_LOST, Kind, Loss, Tool
from toolwire.conversation.part_map import PartMap, PartSet
from toolwire.conversation.parts import (
    PLACEHOLDER_SIGNATURE,
    Call,
    Message,
    Opaque,
    Output,
    Part,
    Result,
    Traceable,
    without_error_mark,
)
from toolwire.wires.engine.incidental import severity_of_field

UNKNOWN_FIELD = "no such field on this wire"
VALUE_CHANGED = "the stream has another value later; the value that was sent first stays"


class RequestInfo(Struct, frozen=True, gc=False):
    """Facts about the request of a response, for fields that its source does not have."""

    body: Object = {}
    """The request, on the wire of the response: its model, and the fields that responses repeat."""
    created: int = 0
    """When the response was created, in seconds since 1970; 0 if that is not known."""
    id: str = ""
    """A text that distinguishes this response from every other."""
    elapsed: Callable[[], float] = lambda: 0.0
    """Returns the seconds since the request arrived."""


NO_REQUEST = RequestInfo()

BREAKPOINT_FIELDS = frozenset({"cache_control", "cachePoint", "prompt_cache_breakpoint"})
"""The fields that mark a block as the end of a prefix to cache. Their loss changes no answer."""
Breakpoints: TypeAlias = PartMap[Traceable, bool]
"""The parts and tools to mark, and True for a prefix with a long lifetime."""
_NO_MESSAGES: PartSet[Message] = PartSet()


class EncodeContext(Struct, eq=False, gc=False):
    """The state that the writers of a wire share while they write one body or stream.

    A *form* holds what the target cannot express about a call or a result, such as "this result was
    an error". `record_call_form` and `record_result_form` collect forms for the id map that the
    caller gets; `call_form` and `result_form` look them up in the map of an earlier encoding.
    """

    wire: str
    kind: Kind
    ids: PartMap[Call | Result, str] | None
    """The id to send for each call and result; None if all are sent unchanged."""
    names: Mapping[str, str]
    """Tool name in the conversation → name to send, for the names that change."""
    reverse_map: IdMap
    """The map of an earlier encoding, whose ids, names and forms are restored."""
    request: RequestInfo = NO_REQUEST
    """Facts about the request of a response."""
    messages: Sequence[Message] = ()
    """The messages of a response, unless it is streamed."""
    answer_id: str = ""
    """The id of a response whose source has none, without a prefix; minted on first use."""
    native: bool = False
    """True if the body was read from this wire and kind: only edits are written."""
    unedited: PartSet[Message] = _NO_MESSAGES
    """The messages of that body as they were read: they are written verbatim."""
    restores_forms: bool = False
    """True if an earlier encoding recorded forms, which are restored now."""
    no_mapping: bool = False
    """True if ids and results are sent unchanged."""
    minted_ids_sent: bool | None = None
    """True if minted ids are sent even where ids are optional; None until that is computed."""
    needs_minted_ids: Callable[[], bool] = bool
    """Returns True if pairing by name and order alone would give other pairs."""
    results: Sequence[Result] = ()
    """Every result that is written, in order; a call may have several."""
    nth_received: PartMap[Result, int] | None = None
    """The position of each result among those of its call, by ids in the conversation, if known."""
    nth_sent: PartMap[Result, int] | None = None
    """The same positions by the ids that are sent."""
    assistant_content: Literal["", "text", "some"] = ""
    """The content that the target requires beside calls in an assistant message."""
    legacy_calls: bool = False
    """True if the client of a response reads a call only from the legacy field of its wire."""
    breakpoints: Breakpoints | None = None
    """The parts that get cache breakpoints; None if there are none."""
    extra_settings: bool = False
    """True if the target accepts settings that most other servers of its wire do not know."""
    losses: list[Loss] = []
    sent_ids: dict[str, str] = {}
    """Id that was sent → id in the conversation."""
    call_forms: dict[str, CallForm] = {}
    """The forms of calls that this encoding records, by the id that is sent."""
    result_forms: dict[str, list[ResultForm]] = {}
    defaults: dict[str, bool | int] = {}
    """Setting that the source did not have → the value that is sent."""
    has_unique_ids: bool = False
    """True if no two calls share an id, so that the id of a result identifies its call."""
    may_hide_ids: bool = True
    """False if no id can be one that is left out where ids are optional."""
    called_names: dict[str, str] = {}
    """Call id → tool name, for the calls written so far."""
    names_of_id: dict[str, set[str]] = {}
    """Id that several calls without a result share → their tool names."""
    answered_ids: set[str] = set()
    """Ids under which a result was written since their last call."""
    ordinal: int = 0
    """The number of calls written so far."""
    text_is_read: bool = False
    """True if a text was written that this wire reads as calls, results or tools."""
    patching: bool = False
    """True while a block of the target's own wire is compared before and after an edit."""
    setting_name: str = ""
    """The setting that is written now."""
    setting_paths: Mapping[str, JsonPath] = {}
    """The path of each setting in the source."""
    opening: str = ""
    """A digest of the events of a stream up to its first content; empty for a body."""
    seed: str = ""
    """The id of the response, from which readers mint call ids; empty if it is minted itself."""

    def __post_init__(self) -> None:
        if self.reverse_map.calls or self.reverse_map.results:
            self.restores_forms = True
        elif self.ids is None:
            self.no_mapping = True

    def text_in_result(self, text: str, part: Part) -> str:
        """Return a text inside a result for a target that refuses blank texts: a blank one becomes
        empty."""
        if not text or text.strip():
            return text
        self.report_info(part, "a blank text in a result is left out")
        return ""

    @property
    def setting_path(self) -> JsonPath:
        """The path in the source of the setting that is written now."""
        return self.setting_paths.get(self.setting_name) or (self.setting_name,)

    def report_loss(self, path: JsonPath | Traceable, reason: str) -> None:
        """Report something that the target cannot hold, by its path in the source."""
        self.losses.append(Loss(path.path if isinstance(path, Traceable) else path, reason))

    def report_unknown_field(self, path: JsonPath, value: JSON | UnsetType = UNSET) -> None:
        """Report a field without a neutral form, which only its own wire can hold."""
        severity = severity_of_field(path, self.kind, value)
        self.losses.append(Loss(path, UNKNOWN_FIELD, severity=severity))

    def report_info(self, path: JsonPath | Traceable, reason: str) -> None:
        """Report something that the target cannot hold and that changes no meaning."""
        where = path.path if isinstance(path, Traceable) else path
        self.losses.append(Loss(where, reason, severity="info"))

    def record_default(self, setting: str, value: int) -> int:
        """Record a value that is sent because the wire requires one and the source has none, and
        return it. A translation back leaves it out."""
        self.defaults[setting] = value
        return value

    # --- ids and names ---

    def name(self, name: str) -> str:
        """Return the name to send for a tool."""
        return self.names.get(name, name) if self.names else name

    def result_name(self, result: Result) -> str:
        """Return the tool name to write on a result: the name of its call, if that is known."""
        name = self.called_name(result)
        if not name or (self.patching and result.name):
            # While an edit is compared, the name on the result takes precedence.
            name = result.name or name or ""
        return self.names.get(name, name) if self.names else name

    def called_name(self, result: Result) -> str | None:
        """Return the name of the call of a result, if it is known. If several calls share the id,
        it is the name on the result if one of them has it, otherwise the name of the last call."""
        if not self.has_unique_ids:
            self.answered_ids.add(result.call_id)
            if self.names_of_id and result.name in self.names_of_id.get(result.call_id, ()):
                return result.name
        return self.called_names.get(result.call_id)

    def record_name(self, call: Call) -> None:
        """Record the name of a call for its result."""
        if not self.has_unique_ids:
            previous = self.called_names.get(call.id)
            if call.id in self.answered_ids:
                self.answered_ids.discard(call.id)
                self.names_of_id.pop(call.id, None)
            elif previous is not None and previous != call.name:
                self.names_of_id.setdefault(call.id, {previous}).add(call.name)
        self.called_names[call.id] = call.name

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
        return is_minted(sent) and not self.sends_minted_ids()

    def sends_minted_ids(self) -> bool:
        """Return True if optional ids are sent, because pairing needs them."""
        if self.minted_ids_sent is None:
            self.minted_ids_sent = self.needs_minted_ids()
        return self.minted_ids_sent

    def _record_id(self, sent: str, original: str) -> str:
        if sent != original:
            self.sent_ids[sent] = original
        return sent

    def wire_id(self, call: Call) -> str | None:
        """Return the id for a wire on which ids are optional; None if a minted id is left out. The
        id that a reader of the body will mint instead is recorded in `sent_ids`."""
        sent = call.id if self.ids is None else self.call_id(call)
        hidden = sent[:3] == MINTED and self.hides_id(sent)
        if not self.patching:  # calls of verbatim messages are counted with these
            self.record_name(call)
            if hidden:
                self._record_id(mint(self.seed, self.ordinal, self.name(call.name)), sent)
            self.ordinal += 1
        return None if hidden else sent

    def record_dropped_id(self, call: Call) -> None:
        """Record the id that a reader will mint for a call that is sent without its id."""
        if not self.patching:
            self._record_id(mint(self.seed, self.ordinal, self.name(call.name)), call.id)
            self.ordinal += 1

    # --- arguments ---

    def arguments_object(self, call: Call) -> JSON:
        """Return the arguments as an object; anything else is sent under `_raw` and reported."""
        if call.family == "custom":
            self.report_loss(
                call, "a custom call is sent as a function call with one field, `input`"
            )
            self.record_call_form(call, CUSTOM_CALL)
            return {"input": call.args.text}
        value = call.args.value
        if isinstance(value, dict):
            return value if not self.restores_forms else self._restore_arguments(call, value)
        if value is None and not call.args.broken:
            return {}
        self.report_loss(call, "the arguments are not a JSON object; they are sent under `_raw`")
        self.record_call_form(call, RAW_ARGUMENTS)
        return {"_raw": call.args.text}

    def _restore_arguments(self, call: Call, value: Object) -> JSON:
        """Return the object that an earlier encoding sent as text under `_raw`, otherwise the
        value."""
        raw = value.get("_raw") if self.call_form(call).raw_arguments else None
        inside = LazyJson(raw).value if isinstance(raw, str) else None
        return inside if isinstance(inside, dict) else value

    def arguments_text(self, call: Call) -> str:
        """Return the arguments as JSON text, without the `_raw` field of an earlier encoding."""
        if self.restores_forms and self.call_form(call).raw_arguments:
            value = call.args.value
            if isinstance(value, dict) and isinstance(value.get("_raw"), str):
                return str(value["_raw"])
        return call.args.text or "{}"

    def schema_of(self, tool: Tool) -> JSON:
        """Return the schema of a tool for a wire that has only functions. A custom tool becomes a
        function with one text field, `input`, and is reported."""
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
        """Return True if the result is an error, even if an earlier wire had no flag for it."""
        return result.error or (self.restores_forms and self.result_form(result).error)

    def output(self, result: Result) -> Output:
        """Return the output in the form it had before an earlier wire changed it."""
        output = result.output
        if not self.restores_forms:
            return output
        form = self.result_form(result)
        if form.json_output and isinstance(output, str):
            try:
                output = parse(output)
            except ValueError:
                return output
        return without_error_mark(output) if form.error and not result.error else output

    def record_result_form(self, result: Result, *, flag: bool, structure: bool) -> None:
        """Record what the target cannot express about a result.

        Args:
            result: The result that is written.
            flag: True if the target has an error flag.
            structure: True if the target holds this output as a JSON value instead of text.
        """
        if isinstance(result.output, str) and (flag or not result.error):
            return
        if result.error and not flag:
            self._record_result_form(result, ERROR_RESULT)
        if not structure and not isinstance(result.output, str | tuple):
            self._record_result_form(result, JSON_OUTPUT)

    # --- forms ---

    def record_call_form(self, call: Call, form: CallForm) -> None:
        """Record a form of a call, so that a translation back can restore it."""
        call_id = self.call_id(call)
        previous = self.call_forms.get(call_id)
        self.call_forms[call_id] = form if previous is None else previous.merge(form)

    def _record_result_form(self, result: Result, form: ResultForm) -> None:
        forms = self.result_forms.setdefault(self.result_id(result), [])
        nth = self._nth(result, sent=True)
        forms += [PLAIN_RESULT] * (nth + 1 - len(forms))
        forms[nth] = forms[nth].merge(form)

    def call_form(self, call: Call) -> CallForm:
        """Return the form that an earlier encoding recorded about a call."""
        forms = self.reverse_map.calls
        if not forms:
            return PLAIN_CALL
        form = forms.get(call.id)
        if form is None and is_minted(call.id):
            # The id was left out, and the reader of the body minted a new one.
            form = forms.get(self.reverse_map.ids.get(call.id, call.id))
        return form or PLAIN_CALL

    def result_form(self, result: Result) -> ResultForm:
        """Return the form that an earlier encoding recorded about a result."""
        if not self.reverse_map.results:
            return PLAIN_RESULT
        call_id = result.call_id
        form = self._look_up_result_form(result, call_id)
        if form is None and is_minted(call_id):
            original = self.reverse_map.ids.get(call_id, call_id)
            form = self._look_up_result_form(result, original)
        return form or PLAIN_RESULT

    def _look_up_result_form(self, result: Result, call_id: str) -> ResultForm | None:
        forms = self.reverse_map.results.get(call_id)
        if forms is None:
            return None
        nth = self._nth(result, sent=False)
        return forms[nth] if nth < len(forms) else None

    def _nth(self, result: Result, *, sent: bool) -> int:
        """Return how many results of the same call precede this one: by the ids that are sent if
        `sent`, otherwise by the ids in the conversation."""
        positions = self.nth_sent if sent else self.nth_received
        if positions is None:
            positions = self._count_results(sent=sent)
            if sent:
                self.nth_sent = positions
            else:
                self.nth_received = positions
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
        """Report the unknown fields and the signature of a block of another wire."""
        raw, spec = read.raw, read.spec
        signature = read.signature if isinstance(read, Part) and not keeps_signature else None
        if signature not in (None, PLACEHOLDER_SIGNATURE):
            self.report_loss(read, SIGNATURE_LOST)
        is_lost = isinstance(read, Opaque) and read.type not in BREAKPOINT_FIELDS
        if not isinstance(raw, dict) or spec is None or is_lost:
            return
        if not spec.keys.issuperset(raw):
            self._report_fields(read.path, raw, spec.keys, spec.required)
            if (
                isinstance(read, Call | Result)
                and "type" in raw
                and "type" not in spec.keys
                and read.family != "function"
            ):
                # The target writes a function call; a translation back restores the type.
                if isinstance(read, Call):
                    self.record_call_form(read, CallForm(family=read.family))
                else:
                    self._record_result_form(read, ResultForm(family=read.family))
        for name, keys in spec.inner:
            inside = raw.get(name)
            if isinstance(inside, dict) and not keys.issuperset(inside):
                self._report_fields((*read.path, name), inside, keys, {})

    def _report_fields(
        self, path: JsonPath, raw: Object, keys: frozenset[str], required: Mapping[str, JSON]
    ) -> None:
        for key, value in raw.items():
            if key in keys or value is None or value == [] or key in BREAKPOINT_FIELDS:
                continue
            if key not in required or required[key] != value:
                self.report_unknown_field((*path, key), value)
