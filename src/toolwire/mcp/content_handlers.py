"""The handlers of the requests of MCP about prompts, resources and completions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    CompleteRequestParams,
    GetPromptRequestParams,
    GetPromptResult,
    PaginatedRequestParams,
    PromptReference,
    ReadResourceRequestParams,
)
from pydantic import ValidationError

from toolwire.conversation.json import JSON, Object, replace_lone_surrogates
from toolwire.execution.errors import MissingRequirements
from toolwire.execution.tool_call import ToolCallResult
from toolwire.mcp import protocol as mcp
from toolwire.mcp.results import WITHOUT_OUTCOME
from toolwire.tools.completion import VALUE
from toolwire.tools.errors import InvalidInput
from toolwire.tools.prompts import Content, Prompt
from toolwire.tools.registry import Tools
from toolwire.tools.resources import Resource
from toolwire.tools.runnable import Runnable

Context: TypeAlias = ServerRequestContext[dict[str, object]]
Execute: TypeAlias = Callable[[Context, Runnable, Object], Awaitable[ToolCallResult]]
"""Runs a function for a request."""
MAX_VALUES = 100
"""The maximum number of completions in one response."""
_CACHING: Object = {"ttlMs": 0, "cacheScope": "private", "resultType": "complete"}


def add_content_handlers(server: Server[dict[str, object]], tools: Tools, execute: Execute) -> None:
    """Serve the prompts and resources beside the tools. Without any, the server declares none."""
    handlers = _ContentHandlers(tools, execute)
    if tools.prompts:
        server.add_request_handler("prompts/list", PaginatedRequestParams, handlers.list_prompts)
        server.add_request_handler("prompts/get", GetPromptRequestParams, handlers.get_prompt)
    if tools.resources:
        server.add_request_handler(
            "resources/list", PaginatedRequestParams, handlers.list_resources
        )
        server.add_request_handler(
            "resources/templates/list", PaginatedRequestParams, handlers.list_templates
        )
        server.add_request_handler(
            "resources/read", ReadResourceRequestParams, handlers.read_resource
        )
    if tools.prompts or tools.resources:
        server.add_request_handler("completion/complete", CompleteRequestParams, handlers.complete)


class _ContentHandlers:
    def __init__(self, tools: Tools, execute: Execute) -> None:
        self._tools = tools
        self._execute = execute

    async def list_prompts(self, ctx: Context, params: PaginatedRequestParams) -> Object:
        return {"prompts": [_prompt_entry(prompt) for prompt in self._tools.prompts], **_CACHING}

    async def get_prompt(self, ctx: Context, params: GetPromptRequestParams) -> Object:
        prompt = self._find_prompt(params.name)
        messages = await self._run(ctx, prompt, params.arguments or {})
        result: Object = {"description": prompt.description, "messages": messages}
        try:
            GetPromptResult.model_validate(result)
        except ValidationError:
            raise MCPError(INTERNAL_ERROR, "The prompt returned invalid messages.") from None
        return {**result, "resultType": "complete"}

    async def list_resources(self, ctx: Context, params: PaginatedRequestParams) -> Object:
        found = [resource for resource in self._tools.resources if not resource.is_template]
        return {"resources": [_resource_entry(resource, "uri") for resource in found], **_CACHING}

    async def list_templates(self, ctx: Context, params: PaginatedRequestParams) -> Object:
        found = [resource for resource in self._tools.resources if resource.is_template]
        entries: list[JSON] = [_resource_entry(resource, "uriTemplate") for resource in found]
        return {"resourceTemplates": entries, **_CACHING}

    async def read_resource(self, ctx: Context, params: ReadResourceRequestParams) -> Object:
        # A resource with exactly this URI comes before a template that matches it.
        for resource in sorted(self._tools.resources, key=lambda resource: resource.is_template):
            arguments = resource.match(params.uri)
            if arguments is not None:
                content = await self._run(ctx, resource, arguments)
                assert isinstance(content, dict)
                return {"contents": [{"uri": params.uri, **content}], **_CACHING}
        raise _unknown("resource", params.uri)

    async def complete(self, ctx: Context, params: CompleteRequestParams) -> Object:
        ref, argument = params.ref, params.argument
        content: Content[..., object]
        if isinstance(ref, PromptReference):
            content = self._find_prompt(ref.name)
        else:
            content = self._find_resource(ref.uri)
        if argument.name not in content.parameters:
            raise _unknown("argument", argument.name)
        completer = content.completers.get(argument.name)
        values: JSON = []
        if completer is not None:
            values = await self._call(ctx, completer, {VALUE: argument.value})
        assert isinstance(values, list)
        more = len(values) > MAX_VALUES
        completion: Object = {"values": values[:MAX_VALUES], "total": len(values), "hasMore": more}
        return {"completion": completion, "resultType": "complete"}

    def _find_prompt(self, name: str) -> Prompt[..., object]:
        for prompt in self._tools.prompts:
            if prompt.name == name:
                return prompt
        raise _unknown("prompt", name)

    def _find_resource(self, uri: str) -> Resource[..., object]:
        for resource in self._tools.resources:
            if resource.uri == uri:
                return resource
        raise _unknown("resource", uri)

    async def _run(
        self, ctx: Context, content: Content[..., object], arguments: dict[str, str]
    ) -> JSON:
        return await self._call(ctx, content.runnable, content.read_arguments(arguments))

    async def _call(self, ctx: Context, function: Runnable, arguments: Object) -> JSON:
        """The value that a function returns. Raises MCPError."""
        try:
            result = await self._execute(ctx, function, arguments)
        except InvalidInput as error:
            raise MCPError(mcp.INVALID_PARAMS, str(error), {"kind": "invalid_input"}) from None
        except MissingRequirements as error:
            data = {mcp.REQUIREMENTS: mcp.write_requirements(error.missing)}
            raise MCPError(mcp.INVALID_PARAMS, str(error), data) from None
        if result.failure is not None:
            raise MCPError(INTERNAL_ERROR, result.failure.message)
        if result.state != "done":
            raise MCPError(INTERNAL_ERROR, WITHOUT_OUTCOME["unavailable"].message)
        return replace_lone_surrogates(result.value)


def _unknown(what: str, name: str) -> MCPError:
    return MCPError(
        mcp.INVALID_PARAMS, f"Unknown {what}: {name[:200]}", {"kind": f"unknown_{what}"}
    )


def _prompt_entry(prompt: Prompt[..., object]) -> Object:
    arguments: list[JSON] = []
    for name, schema in prompt.parameters.items():
        argument: Object = {"name": name, "required": prompt.required(name)}
        if isinstance(schema, dict) and "description" in schema:
            argument["description"] = schema["description"]
        arguments.append(argument)
    return _entry(prompt, {"arguments": arguments})


def _resource_entry(resource: Resource[..., object], uri_field: str) -> Object:
    more: Object = {uri_field: resource.uri}
    if resource.mime_type is not None:
        more["mimeType"] = resource.mime_type
    return _entry(resource, more)


def _entry(content: Content[..., object], more: Object) -> Object:
    """An entry of a list, with the fields that every kind of entry has."""
    entry: Object = {"name": content.name, "description": content.description}
    if content.title is not None:
        entry["title"] = content.title
    entry.update(more)
    sent = replace_lone_surrogates(entry)
    assert isinstance(sent, dict)
    return sent
