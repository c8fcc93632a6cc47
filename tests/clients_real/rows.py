"""The names of the clients on the page of real clients, in its order, and what they leave out."""

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
    "ai-sdk": "npm `ai` with `@ai-sdk/openai-compatible`",
    "genkit": "npm `genkit`",
    "fastmcp": "`fastmcp` client",
}
NOTES = {
    "claude-code": "the version is that of `claude-agent-sdk`, which brings the program along",
    "gemini-cli": "it sends the image that a tool returned to other models, but not to `gemini-3-pro`, without a gateway too",
    "qwen-code": "it sends no images to the models here: it says that they cannot read any",
    "pydantic-ai": "images were tried on `anthropic`; on `openai-chat` it sends them as a message of the user",
    "strands": "no image on `gemini`: it writes those of tools into the JSON of the result",
    "llama-index": "`llama-index-llms-anthropic` 0.12.3 does not run with `anthropic` 2.8.0",
    "aider": "it defines no tools; the conversation is a question and an answer",
}
