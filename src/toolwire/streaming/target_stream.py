"""The target of a stream: its writer, and the rules that fit parts, ids and settings to it.

Knows wires only through their specs.
"""

from __future__ import annotations

from msgspec.structs import replace

from toolwire.codec import IdMapInput, resolve
from toolwire.conversation.fitting import IdFitter
from toolwire.conversation.id_map import NO_MAP, IdMap
from toolwire.conversation.id_rules import IdRule
from toolwire.conversation.model import Setting
from toolwire.conversation.parts import Call, Opaque, Part
from toolwire.errors import UsageError
from toolwire.profiles.table import PROFILES, Profile
from toolwire.streaming.stream_input import resolve_stream
from toolwire.wires.engine.encode_context import EncodeContext, RequestInfo
from toolwire.wires.engine.part_lowering import lower_opening, lower_part, takes_signature
from toolwire.wires.engine.settings_lowering import lower_settings
from toolwire.wires.engine.specs import Wire
from toolwire.wires.engine.stream import StreamWriter

UNKNOWN_PART = "a stream that is rewritten cannot hold a part of unknown type here"
_ANY = IdRule()


class TargetStream:
    """The writer of one stream. Each part is lowered and fitted before it is written."""

    def __init__(
        self,
        name: str,
        *,
        source: Wire | None,
        ids: IdMapInput,
        version: int | None,
        request: RequestInfo,
    ) -> None:
        """Prepare the wire, profile or provider `name`; the arguments are those of
        `EventTranslator`."""
        self.wire, self.spec = resolve_stream(name)
        if version is not None and version not in self.spec.versions:
            known = ", ".join(map(str, sorted(self.spec.versions))) or "none"
            raise UsageError(
                f"no such version of this wire: {version}; there are {known}", wire=name
            )
        _, profile = resolve(name)
        self._capabilities = self.wire.capabilities
        self._on_own_wire = source is self.wire
        source_name = (source or self.wire).name
        source_profile = PROFILES.get(source_name) or Profile(source_name, source_name)
        self.reverse_map = NO_MAP if ids is None else IdMap.of(ids)
        self.fitter = IdFitter(
            _ANY if self._on_own_wire else profile.id_rule,
            _ANY if self._on_own_wire else profile.name_rule,
            unique=profile.ids_unique_in_request,
            reverse_map=self.reverse_map,
            source_rules=(source_profile.id_rule, source_profile.name_rule),
        )
        self._sent_calls: dict[str, str] = {}
        """Id in the source → id sent for the newest call that has it, without approval requests,
        which may have the id of the call that they are about."""
        self.context = EncodeContext(
            self.wire.name,
            "response",
            ids=None,
            names={},
            reverse_map=self.reverse_map,
            request=request,
        )
        self.writer: StreamWriter = self.spec.writer(self.context, version)

    @property
    def ids(self) -> IdMap:
        """The id map so far, from the ids and names that were sent to those of the source."""
        sent = self.fitter.sent
        unsent = {new: sent.get(old, old) for new, old in self.context.sent_ids.items()}
        return IdMap(
            {**sent, **unsent},
            dict(self.fitter.names),
            dict(self.context.call_forms),
            dict(self.context.result_forms),
        )

    def fit_call(self, call: Call) -> Call:
        """The call with the id and name to send. If it asks for approval of another call, it refers
        to the id under which that call was sent last."""
        original_id, call = call.id, self.fitter.call(call)
        if call.approval_for is None:
            self._sent_calls[original_id] = call.id
            return call
        about = self._sent_calls.get(call.approval_for, call.approval_for)
        return call if about == call.approval_for else replace(call, approval_for=about)

    def is_known_call(self, call: Call) -> bool:
        """True if the client of the target has the call from an earlier stream."""
        original = replace(call, id=self.reverse_map.ids.get(call.id, call.id))
        return self.writer.can_skip_call(original, self.context.call_form(call).approval)

    def lower(self, part: Part) -> Part | None:
        """A complete part in a form that the target can hold; None if there is none."""
        if self._on_own_wire and isinstance(part, Opaque):
            if self.writer.repeats_unknown_parts:
                return part
            self.context.report_loss(part, UNKNOWN_PART)
            return None
        lowered = lower_part(
            part, self._capabilities, "assistant", kind="response", losses=self.context.losses
        )
        return lowered[0] if lowered else None

    def lower_opening(self, part: Part) -> Part | None:
        """A part that starts, in a form that the target can hold; None if there is none."""
        return lower_opening(part, self._capabilities, losses=self.context.losses)

    def lower_settings(self, settings: dict[str, Setting]) -> dict[str, Setting]:
        """The settings in the form that the target can hold."""
        if self._on_own_wire:
            return settings
        return lower_settings(settings, self._capabilities, {}, self.context.losses)

    def report_unknown_fields(self, part: Part) -> None:
        """Report the signature and the fields of a part that only its own wire can hold."""
        source = part.source
        is_clean = source.is_complete or source.spec is None or source.spec.clean(source.raw)
        if part.signature is not None or not is_clean:
            keeps_signature = self.takes_signature(part)
            self.context.report_unknown_fields(part, keeps_signature=keeps_signature)

    def takes_signature(self, part: Part) -> bool:
        """True if the maker of the target's models signed the part."""
        return takes_signature(part, self._capabilities)
