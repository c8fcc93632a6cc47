"""All checks of a strict mock, in the order in which servers make them: single fields, types,
ranges, settings, then pairs and turns."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from toolwire.conversation.json import Object
from toolwire.conversation.model import Finding
from toolwire.lint.facts import Facts
from toolwire.mock.error_bodies import ErrorResponse
from toolwire.mock.history_checks import check_history
from toolwire.mock.limits import check_limits
from toolwire.mock.request_checks import check_turns
from toolwire.mock.schema_errors import check_schema
from toolwire.mock.setting_checks import check_settings


def check_request(
    view: Facts, body: Object, *, model: str, headers: Mapping[str, str]
) -> tuple[ErrorResponse | None, list[Finding]]:
    """The refusal of a request that its provider would refuse, and the violations that it would
    accept."""
    history = check_history(view)
    schema = check_schema(body, view.profile, headers)
    if schema is not None:
        schema = replace(schema, rule=history.rule_at(schema.violation_path))
    field = history.refusal if history.about_field else None
    if field is not None and schema is not None and field.rule == schema.rule == "field-refused":
        field = schema  # `check_schema` has the text of the provider
    refusal = (
        field
        or schema
        or check_limits(body, view.profile)
        or check_settings(body, view.profile, model)
        or history.refusal
        or check_turns(body, view.profile)
    )
    return refusal, history.accepted
