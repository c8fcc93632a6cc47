"""A gateway inside a FastAPI application: any client API in front of any model.

    uvicorn gateway_embedded:app

Prints:
    POST /llm/v1/messages (Anthropic's API): hello from the demo
    POST /llm/v1/chat/completions (OpenAI's API): hello from the demo
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI
from fastapi.testclient import TestClient

from toolwire import Gateway

# [models."claude-*"] with upstream = "anthropic" serves real models.
gateway = Gateway.from_config(Path(__file__).with_name("gateway_demo.toml"))


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    await gateway.open()
    yield
    await gateway.close()


app = FastAPI(lifespan=lifespan)
app.mount("/llm", gateway)

if __name__ == "__main__":
    question = {"role": "user", "content": "[[text hello from the demo]]"}
    body = {"model": "demo", "messages": [question], "max_tokens": 100}
    with TestClient(app, base_url="http://localhost") as client:
        message = client.post("/llm/v1/messages", json=body).json()
        print("POST /llm/v1/messages (Anthropic's API):", message["content"][0]["text"])
        completion = client.post("/llm/v1/chat/completions", json=body).json()
        text = completion["choices"][0]["message"]["content"]
        print("POST /llm/v1/chat/completions (OpenAI's API):", text)
