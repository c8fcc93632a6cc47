"""Strands Agents: an agent with the models of three providers."""

from common import API, IMAGE_BYTES, KEY, MODEL, PROMPT, URL, fail, measure
from strands import Agent, tool
from strands.models.anthropic import AnthropicModel
from strands.models.gemini import GeminiModel
from strands.models.openai import OpenAIModel

MODELS = {
    "openai-chat": lambda: OpenAIModel(
        client_args={"base_url": f"{URL}/v1", "api_key": KEY}, model_id=MODEL
    ),
    "anthropic": lambda: AnthropicModel(
        client_args={"base_url": URL, "api_key": KEY}, model_id=MODEL, max_tokens=999
    ),
    "gemini": lambda: GeminiModel(
        client_args={"api_key": KEY, "http_options": {"base_url": URL}}, model_id=MODEL
    ),
}


@tool
async def weather(city: str) -> str:
    """Current weather of a city."""
    return await measure(city)


@tool
def station_status(station: str) -> str:
    """Status of a weather station."""
    return fail(station)


@tool
def picture(place: str) -> dict:
    """A picture of a place."""
    image = {"format": "png", "source": {"bytes": IMAGE_BYTES}}
    return {"status": "success", "content": [{"image": image}]}


print(Agent(model=MODELS[API](), tools=[weather, station_status, picture])(PROMPT))
