"""A provider that toolwire does not know: its address, its key, and the API that it follows.

The mock plays the provider here.

Prints:
    Calculator_Add(a=1, b=2) gave: 3
    POST /v1/chat/completions with model acme-large
"""

from toolwire import Agent, HttpModel, Provider, tool
from toolwire.testing import MockServer


@tool(id="Calculator.Add@1.0.0", read_only=True)
def add(a: int, b: int) -> int:
    """Add two numbers.

    Args:
        a: The first number.
        b: The second number.
    """
    return a + b


with MockServer("openai") as server:
    acme = Provider(
        name="acme",
        profile="openai-chat",
        base_url=server.base_url,  # https://api.acme.example/v1
        key_envs=("ACME_API_KEY",),
        headers=(("x-acme-version", "2"),),
    )
    model = HttpModel("acme-large", provider=acme, api_key="secret")
    print(Agent(model, add).run_sync("add 1 and 2").text)
    request = server.requests[-1]
    assert isinstance(request.body, dict)
    print(f"{request.method} {request.path} with model {request.body['model']}")
