"""An agent with one tool.

`demo:` is the offline model. A real one is `anthropic:claude-opus-5` or `openai:gpt-5`, with its
key in the environment.

Prints:
    Weather_Get(city="Oslo") gave: -3 degrees in Oslo
    2 messages of the model
"""

from toolwire import Agent, tool


@tool(id="Weather.Get@1.0.0", read_only=True)
def weather(city: str) -> str:
    """Get the weather.

    Args:
        city: The name of the city.
    """
    return f"-3 degrees in {city}"


result = Agent("demo:", weather).run_sync("What is the weather in Oslo?")
print(result.text)
replies = [message for message in result.conversation.messages if message.role == "assistant"]
print(f"{len(replies)} messages of the model")
