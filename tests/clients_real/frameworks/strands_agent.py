"""Strands Agents: an agent with the models of three providers."""

from common import API, IMAGE_BYTES, KEY, MODEL, PROMPTS, URL, fail, measure
from strands import Agent, tool


def openai_model() -> object:
    from strands.models.openai import OpenAIModel

    return OpenAIModel(client_args={"base_url": f"{URL}/v1", "api_key": KEY}, model_id=MODEL)


def anthropic_model() -> object:
    from strands.models.anthropic import AnthropicModel

    client = {"base_url": URL, "api_key": KEY}
    return AnthropicModel(client_args=client, model_id=MODEL, max_tokens=999)


def gemini_model() -> object:
    from strands.models.gemini import GeminiModel

    client = {"api_key": KEY, "http_options": {"base_url": URL}}
    return GeminiModel(client_args=client, model_id=MODEL)


MODELS = {"openai-chat": openai_model, "anthropic": anthropic_model, "gemini": gemini_model}


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


agent = Agent(model=MODELS[API](), tools=[weather, station_status, picture])
for prompt in PROMPTS:
    print(agent(prompt))
