"""The tools, resources and prompts that the scenarios of MCP's conformance suite use."""

from __future__ import annotations

import asyncio
from base64 import b64decode
from typing import Annotated

from toolwire.conversation.json import JSON, Object, text_of
from toolwire.tools.errors import ToolError
from toolwire.tools.from_schema import from_schema
from toolwire.tools.function import tool
from toolwire.tools.prompts import prompt
from toolwire.tools.resources import resource
from toolwire.tools.runnable import ToolContext

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA="
IMAGE: Object = {"type": "image", "data": PNG, "mimeType": "image/png"}


@tool(id="test.simple_text@1.0.0")
def simple_text() -> str:
    """Return a text."""
    return "This is a simple text response for testing."


@tool(id="test.image_content@1.0.0")
def image_content() -> list[JSON]:
    """Return an image."""
    return [IMAGE]


@tool(id="test.audio_content@1.0.0")
def audio_content() -> list[JSON]:
    """Return a sound."""
    return [{"type": "audio", "data": WAV, "mimeType": "audio/wav"}]


@tool(id="test.embedded_resource@1.0.0")
def resource_in_result() -> list[JSON]:
    """Return a resource."""
    return [_resource("test://embedded-resource", "text/plain", "This is an embedded resource.")]


@tool(id="test.multiple_content_types@1.0.0")
def multiple_content_types() -> list[JSON]:
    """Return a text, an image and a resource."""
    text: Object = {"type": "text", "text": "Multiple content types test:"}
    resource = _resource("test://mixed-content-resource", "application/json", '{"test": "data"}')
    return [text, IMAGE, resource]


def _resource(uri: str, media_type: str, text: str) -> Object:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": media_type, "text": text}}


@tool(id="test.tool_with_logging@1.0.0")
async def tool_with_logging(context: ToolContext) -> str:
    """Send three log messages."""
    for message in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await context.log("info", message)
        await asyncio.sleep(0.05)
    return "done"


@tool(id="test.tool_with_progress@1.0.0")
async def tool_with_progress(context: ToolContext) -> str:
    """Report progress three times."""
    for progress in (0, 50, 100):
        await context.report_progress(progress, 100)
        await asyncio.sleep(0.05)
    return "done"


@tool(id="test.error_handling@1.0.0")
def error_handling() -> None:
    """Fail."""
    raise ToolError("This tool intentionally returns an error for testing")


@tool(id="test.reconnection@1.0.0")
async def reconnection() -> str:
    """Take a moment."""
    await asyncio.sleep(0.1)
    return "Reconnection test completed successfully"


@tool(id="test.sampling@1.0.0")
async def sampling(context: ToolContext, prompt: Annotated[str, "The prompt."]) -> str:
    """Ask the model of the client."""
    message = await context.sample(prompt, max_tokens=100)
    return f"LLM response: {text_of(message['content'])}"


@tool(id="test.elicitation@1.0.0")
async def elicitation(context: ToolContext, message: Annotated[str, "The message."]) -> str:
    """Ask the user for a name and an address."""
    properties: Object = {
        "username": {"type": "string", "description": "User's response"},
        "email": {"type": "string", "description": "User's email address"},
    }
    return await _elicit(context, message, properties, required=["username", "email"])


@tool(id="test.elicitation_sep1034_defaults@1.0.0")
async def elicitation_with_defaults(context: ToolContext) -> str:
    """Ask the user for values that have defaults."""
    properties: Object = {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {
            "type": "string",
            "enum": ["active", "inactive", "pending"],
            "default": "active",
        },
        "verified": {"type": "boolean", "default": True},
    }
    return await _elicit(context, "Please check the defaults.", properties)


@tool(id="test.elicitation_sep1330_enums@1.0.0")
async def elicitation_with_choices(context: ToolContext) -> str:
    """Ask the user to choose, in each of the five ways."""
    titled: list[JSON] = [
        {"const": "value1", "title": "First Option"},
        {"const": "value2", "title": "Second Option"},
        {"const": "value3", "title": "Third Option"},
    ]
    options: list[JSON] = ["option1", "option2", "option3"]
    properties: Object = {
        "untitledSingle": {"type": "string", "enum": options},
        "titledSingle": {"type": "string", "oneOf": titled},
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled}},
    }
    return await _elicit(context, "Please choose.", properties)


async def _elicit(
    context: ToolContext, message: str, properties: Object, *, required: list[JSON] | None = None
) -> str:
    schema: Object = {"type": "object", "properties": properties, "required": required or []}
    response = await context.elicit(message, schema)
    return f"User response: {response.action}, {text_of(dict(response.content))}"


address: Object = {
    "type": "object",
    "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
}
schema_tool = from_schema(
    "json.schema_2020_12_tool@1.0.0",
    "Tool with JSON Schema 2020-12 features",
    {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"address": address},
        "properties": {
            "name": {"type": "string", "description": "A name."},
            "address": {"$ref": "#/$defs/address", "description": "An address."},
        },
        "additionalProperties": False,
    },
    lambda arguments: "done",
)
assert b64decode(PNG).startswith(b"\x89PNG") and b64decode(WAV).startswith(b"RIFF")


# --- resources ------------------------------------------------------------------------------------


@resource("test://static-text", mime_type="text/plain")
def static_text() -> str:
    """A text."""
    return "This is the content of the static text resource."


@resource("test://static-binary", mime_type="image/png")
def static_binary() -> bytes:
    """An image."""
    return b64decode(PNG)


@resource("test://template/{id}/data", mime_type="application/json")
def template_data(id: str) -> Object:
    """The data of an id."""
    return {"id": id, "templateTest": True, "data": f"Data for ID: {id}"}


# --- prompts --------------------------------------------------------------------------------------


@prompt(name="test_simple_prompt")
def simple_prompt() -> str:
    """A prompt without arguments."""
    return "This is a simple prompt for testing."


@prompt(name="test_prompt_with_arguments", complete={"arg1": ["testing", "testimony", "other"]})
def prompt_with_arguments(
    arg1: Annotated[str, "First test argument"], arg2: Annotated[str, "Second test argument"]
) -> str:
    """A prompt with arguments."""
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


@prompt(name="test_prompt_with_embedded_resource")
def prompt_with_resource(resourceUri: Annotated[str, "URI of the resource to embed"]) -> list[JSON]:
    """A prompt with a resource."""
    text = "Embedded resource content for testing."
    return [
        {"role": "user", "content": _resource(resourceUri, "text/plain", text)},
        "Please process the embedded resource above.",
    ]


@prompt(name="test_prompt_with_image")
def prompt_with_image() -> list[JSON]:
    """A prompt with an image."""
    return [{"role": "user", "content": IMAGE}, "Please analyze the image above."]
