"""Items of tools that the provider runs."""

from __future__ import annotations

from msgspec.structs import replace

from toolwire.conversation.json import JsonPath, Object, get
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.parts import Media, Output, Part, Result, Source
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.specs import Block, text_or_none
from toolwire.wires.families.items.item_outputs import (
    BLOCKS,
    OutputForm,
    in_field,
    plain_output,
    read_field,
)
from toolwire.wires.families.items.item_specs import call_item, provider_item, result_item

RUNNING = frozenset({"queued", "in_progress", "searching", "interpreting", "generating", "calling"})
"""The status of an item that has no result yet."""


def _read_mcp_output(block: Object, path: JsonPath) -> Output:
    return read_field(block, "output") if block.get("error") is None else block["error"]


def _read_web_search(block: Object, path: JsonPath, spec: Block) -> Part:
    """Read a web search: the action without its sources, which belong to the result."""
    assert _WEB_SEARCH.read is not None
    call, action = _WEB_SEARCH.read(block, path, spec), block.get("action")
    if not isinstance(action, dict) or "sources" not in action:
        return call
    query = {key: value for key, value in action.items() if key != "sources"}
    return replace(call, args=LazyJson.from_value(query))


def _read_web_results(block: Object, path: JsonPath) -> Output:
    """Read the sources of the action, and the results if the request included them."""
    out: Object = {}
    sources = get(block, ("action", "sources"))
    if isinstance(sources, list):
        out["sources"] = sources
    if block.get("results") is not None:
        out["results"] = block["results"]
    return out


def _write_web_results(result: Result, context: EncodeContext) -> Object:
    output = result.output
    if not isinstance(output, dict) or not output.keys() <= {"sources", "results"}:
        return {"output": plain_output(output), "action": {}}
    fields = dict(output)
    sources: Object = {"sources": fields.pop("sources")} if "sources" in fields else {}
    return {**fields, "action": sources}


def _read_generated_image(block: Object, path: JsonPath) -> Output:
    if block.get("error") is not None:
        return block["error"]
    data = block.get("result")
    if not isinstance(data, str):
        return read_field(block, "result")
    mime = f"image/{text_or_none(block.get('output_format')) or 'png'}"
    return (Media("image", mime, data=data, source=Source(data, (*path, "result"))),)


def _write_generated_image(result: Result, context: EncodeContext) -> Object:
    match result.output:
        case (Media(data=str(data)),):
            return {"result": data}
    return {"error" if result.error else "output": plain_output(result.output)}


_WEB_SEARCH = provider_item(
    "web_search_call",
    "web-search",
    name="web_search",
    arguments="action",
    output=OutputForm(_read_web_results, _write_web_results, ("results",)),
)
SERVER_ITEMS = (
    call_item(
        "program",
        "program",
        "provider",
        name="program",
        arguments=("code",),
        signature_field="fingerprint",
    ),
    result_item("program_output", "program", "provider", output=in_field("result")),
    call_item("multi_agent_call", "multi-agent", "provider", name_field="action", as_text=True),
    result_item("multi_agent_call_output", "multi-agent", "provider", output=BLOCKS),
    provider_item(
        "code_interpreter_call",
        "code-interpreter",
        name="code_interpreter",
        arguments=("code",),
        output=in_field("outputs"),
    ),
    provider_item(
        "file_search_call",
        "file-search",
        name="file_search",
        arguments=("queries",),
        output=in_field("results"),
    ),
    provider_item(
        "image_generation_call",
        "image-gen",
        name="image_generation",
        arguments=("prompt", "revised_prompt"),
        output=OutputForm(_read_generated_image, _write_generated_image, ("result",)),
    ),
    provider_item(
        "mcp_call",
        "mcp",
        name="mcp",
        as_text=True,
        output=OutputForm(
            _read_mcp_output,
            lambda result, context: {
                "error" if result.error else "output": plain_output(result.output)
            },
        ),
    ),
    replace(_WEB_SEARCH, read=_read_web_search),
    provider_item(
        "x_search_call", "x-search", name="x_search", arguments="action", output=in_field("results")
    ),
    provider_item(
        "mcp_list_tools",
        "mcp-list-tools",
        name="mcp_list_tools",
        arguments=("server_label",),
        output=in_field("tools"),
    ),
)
