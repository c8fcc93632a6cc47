"""Whatever a server sends, a client gets a value or a documented error: valid responses with one
change."""

from __future__ import annotations

from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from toolwire.conversation.json import JSON, JsonPath, Object, dump, put
from toolwire.mcp import protocol as mcp
from toolwire.mcp import results
from toolwire.oxp import OxpError
from toolwire.oxp.dialects import (
    RawResponse,
    read_call_response,
    read_error,
    read_tool_list,
    retry_after_ms,
    should_retry,
)
from toolwire.tools.errors import ToolError

VALUES: list[JSON] = [None, True, -1, 1e300, "", "x", [], {}, [None], {"id": None}, "9" * 5000]
ODD = st.recursive(
    st.sampled_from(VALUES),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
LISTED: Object = {
    "items": [
        {
            "id": "Kit.Tool@1.0.0",
            "name": "Kit_Tool",
            "version": "1.0.0",
            "description": "d",
            "input_schema": {"parameters": {"type": "object"}},
            "output_schema": {},
            "requirements": {
                "authorization": [{"id": "g", "oauth2": {"scopes": ["s"]}}],
                "secrets": [{"id": "k"}],
                "user_id": True,
            },
        },
        {"id": "other@1.0.0"},
    ]
}
ANSWERED: Object = {
    "result": {
        "call_id": "c",
        "success": False,
        "duration": 1,
        "error": {"message": "m", "retry_after_ms": 5},
    }
}
REFUSED: Object = {
    "message": "m",
    "detail": [{"loc": ["body", "input", "b"], "msg": "m"}],
    "parameter_errors": {"b": "m"},
    "missing_requirements": {
        "authorization": [{"id": "c", "url": "u", "check_url": "v"}],
        "secrets": [{"id": "k"}],
    },
}
RESULT: Object = {
    "content": [{"type": "text", "text": "t"}, {"type": "image"}],
    "structuredContent": {"a": 1},
    "_meta": {
        "toolwire/json": True,
        "toolwire/error": {
            "kind": "k",
            "can_retry": True,
            "retry_after_ms": 5,
            "additional_prompt_content": "p",
        },
        "toolwire/requirements": {
            "authorization": [{"id": "g", "oauth2": {"scopes": ["s"]}}],
            "secrets": [{"id": "k"}],
        },
    },
}


def places(value: JSON, at: JsonPath = ()) -> list[JsonPath]:
    """Every path in a value."""
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    return [at, *(place for key, one in inner for place in places(one, (*at, key)))]


@st.composite
def bodies_with_a_change(draw: st.DrawFn) -> JSON:
    """A body with one change."""
    body = draw(st.sampled_from([LISTED, ANSWERED, REFUSED, RESULT]))
    return put(body, draw(st.sampled_from(places(body))), draw(ODD))


@given(
    bodies_with_a_change(),
    st.sampled_from([200, 400, 401, 404, 422, 429, 500, 503, 302]),
    st.booleans(),
)
def test_an_oxp_answer_is_read_or_is_an_error_of_ours(
    body: JSON, status: int, broken: bool
) -> None:
    content = dump(body)
    raw = RawResponse(
        status, {"Retry-After": str(body)[:20]}, content[: len(content) // 2] if broken else content
    )
    with suppress(OxpError):
        found = read_tool_list(raw, "Remote")
        assert len({one.id for one in found}) == len(found)
    with suppress(OxpError):
        read_call_response(raw, "c")
    assert isinstance(read_error(raw), OxpError)
    assert isinstance(should_retry(raw), bool)
    assert (retry_after_ms(raw.headers) or 0) >= 0


@given(bodies_with_a_change())
def test_an_mcp_result_is_always_read(body: JSON) -> None:
    if isinstance(body, dict):
        results.read_value(body)
        assert isinstance(results.read_failure(body), ToolError)
        meta = body.get("_meta")
        mcp.read_requirements(meta if isinstance(meta, dict) else {})
