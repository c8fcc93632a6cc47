"""The names of the clients on the page of real clients, in its order, and their omissions."""

from __future__ import annotations

TITLES = {
    "claude-code": "Claude Code",
    "codex": "Codex CLI",
    "gemini-cli": "Gemini CLI",
    "opencode": "opencode",
    "qwen-code": "Qwen Code",
    "llm": "`llm`",
    "aider": "aider",
    "pydantic-ai": "Pydantic AI",
    "langchain": "LangChain",
    "openai-agents": "OpenAI Agents SDK",
    "llama-index": "LlamaIndex",
    "smolagents": "smolagents",
    "strands": "Strands Agents",
    "agno": "Agno",
    "haystack": "Haystack",
    "semantic-kernel": "Semantic Kernel",
    "ai-sdk": "npm `ai`",
    "genkit": "npm `genkit`",
    "fastmcp": "`fastmcp` client",
}
PACKAGES = {
    ("ai-sdk", "openai-chat"): "@ai-sdk/openai",
    ("ai-sdk", "openai-responses"): "@ai-sdk/openai",
    ("ai-sdk", "anthropic"): "@ai-sdk/anthropic",
    ("ai-sdk", "gemini"): "@ai-sdk/google",
    ("ai-sdk", "openai-compatible"): "@ai-sdk/openai-compatible",
    ("genkit", "openai-chat"): "@genkit-ai/compat-oai",
    ("genkit", "anthropic"): "@genkit-ai/anthropic",
    ("genkit", "gemini"): "@genkit-ai/google-genai",
}
"""The package with which a client speaks an API, where it is one of several."""
NOTES = {
    "gemini-cli": "it sends the image that a tool returned to other models, but not to `gemini-3-pro`, without a gateway too",
    "qwen-code": "it sends no images to the models here: it says that they cannot read any; with its setting `tools.toolSearch.enabled`, on by default, its model has to search for the tools of MCP servers, so the setting is off here",
    "pydantic-ai": "on `openai-chat` it sends the images of tools as a message of the user, which the script of the model cannot follow",
    "strands": "no image on `gemini`: it writes those of tools into the JSON of the result",
    "llama-index": "it drops the image of a tool on `openai-chat`; `llama-index-llms-anthropic` 0.12.3 does not run with `anthropic` 2.8.0",
    "smolagents": "it sends calls and results as text without ids: what counts is that every text came; the tool that fails returns its error",
    "genkit": "an exception of a tool ends its turn: the tool that fails returns its error",
    "aider": "it defines no tools; the conversation is two questions and two answers",
}
