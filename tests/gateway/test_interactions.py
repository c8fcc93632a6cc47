"""Gemini Interactions through the gateway: the official client, towards every upstream."""

from __future__ import annotations

import httpx
import pytest
from gateway.bodies import CHAT, CHAT_STREAM
from gateway.interactions_client import GoogleInteractions, fold_events, interactions_of, turn_of
from gateway.serving import UPSTREAMS, Gateways, gateway, row, serving
from gateway.turns import RequestRefused, Turn
from gateway.upstreams import ScriptedUpstream, answers, streams
from google.genai._gaos.types.interactions import Interaction, InteractionCompletedEvent
from google.genai._interactions import APIStatusError, BadRequestError, NotFoundError
from mock.tools import FINAL, QUESTION, TOOLS, run

MEMORY = '[responses]\nstore = "memory:"\n'
TOOL_DEFINITIONS = [
    {"type": "function", "name": name, "description": about, "parameters": schema}
    for name, (about, schema) in TOOLS.items()
]


def create(url: str, *, stream: bool, **fields: object) -> tuple[str, Turn]:
    """Create an interaction; return its id and the turn of the model."""
    interactions = interactions_of(url).interactions
    if stream:
        events = list(interactions.create(**fields, stream=True))  # type: ignore[call-overload]
        last = events[-1]
        assert isinstance(last, InteractionCompletedEvent)
        return last.interaction.id, turn_of(fold_events(events))
    answer = interactions.create(**fields)  # type: ignore[call-overload]
    assert isinstance(answer, Interaction) and answer.id and answer.steps
    steps = [step.model_dump(mode="json", exclude_none=True) for step in answer.steps]
    return answer.id, turn_of(steps)


def results_of(turn: Turn) -> list[dict[str, object]]:
    """The results of the calls of a turn, the last one first."""
    return [
        {"type": "function_result", "call_id": call_id, "name": name, "result": run(name, given)}
        for call_id, name, given in reversed(turn.calls)
    ]


WAYS = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


@WAYS
@pytest.mark.parametrize("upstream", UPSTREAMS)
def test_results_in_another_order_find_their_calls(
    gateways: Gateways, upstream: str, stream: bool
) -> None:
    client = GoogleInteractions()
    history, turns = client.begin(QUESTION), 0
    while True:
        turn = client.ask(gateways.url(upstream), "some-model", history, stream)
        if not turn.calls:
            break
        turns += 1
        history = [*history, *turn.kept, *results_of(turn)]
    assert turns == 2 and turn.text.splitlines() == list(FINAL)


@WAYS
@pytest.mark.parametrize("upstream", UPSTREAMS)
def test_an_interaction_continues_with_only_its_new_input(
    gateways: Gateways, upstream: str, stream: bool
) -> None:
    fields: dict[str, object] = {"input": QUESTION}
    with serving(gateway(MEMORY + row(upstream, f"{gateways.up}/{upstream}"))) as url:
        for _ in range(3):
            interaction_id, turn = create(
                url, stream=stream, model="some-model", tools=TOOL_DEFINITIONS, **fields
            )
            fields = {"input": results_of(turn), "previous_interaction_id": interaction_id}
        interactions_of.cache_clear()
    assert turn.text.splitlines() == list(FINAL)


@WAYS
def test_a_stored_interaction_is_shown_with_its_input_and_deleted(stream: bool) -> None:
    reply = streams(*CHAT_STREAM) if stream else answers({**CHAT, "id": "chatcmpl-c1"})
    with (
        serving(ScriptedUpstream(reply)) as at,
        serving(gateway(MEMORY + row("openai-chat", at))) as url,
    ):
        interaction_id, turn = create(url, stream=stream, model="m", input="hi")
        assert interaction_id == "v1_c1"
        interactions = interactions_of(url).interactions
        shown = interactions.get(interaction_id)
        assert isinstance(shown, Interaction)
        assert (shown.id, shown.status, shown.output_text) == ("v1_c1", "completed", turn.text)
        whole = httpx.get(f"{url}/v1beta/interactions/v1_c1?include_input=true").json()
        text = {"type": "text", "text": "hi"}
        assert whole["input"] == [{"type": "user_input", "content": [text]}]
        interactions.delete(interaction_id)
        with pytest.raises(NotFoundError, match="not found"):
            interactions.get(interaction_id)
        with pytest.raises(BadRequestError, match="not found"):
            create(url, stream=False, model="m", input="x", previous_interaction_id=interaction_id)
        interactions_of.cache_clear()


def test_without_a_store_the_error_names_the_setting() -> None:
    up = ScriptedUpstream(answers(CHAT))
    with serving(up) as at, serving(gateway(row("openai-chat", at))) as url:
        body = {"model": "m", "input": "hi", "previous_interaction_id": "v1_1"}
        refused = httpx.post(f"{url}/v1beta/interactions", json=body)
        message = refused.json()["error"]["message"]
        assert refused.status_code == 400 and "`input`, or set [responses] store" in message
        unknown = httpx.get(f"{url}/v1beta/interactions/v1_1")
        assert unknown.status_code == 404 and "[responses] store" in unknown.text
    assert not up.got


def test_a_stream_has_the_names_of_its_events_and_an_end(gateways: Gateways) -> None:
    body = {"model": "m", "input": "hello", "stream": True}
    answer = httpx.post(f"{gateways.url('anthropic')}/v1beta/interactions?alt=sse", json=body)
    lines = answer.text.splitlines()
    names = [line.removeprefix("event: ") for line in lines if line.startswith("event: ")]
    assert names[:3] == ["interaction.created", "interaction.status_update", "step.start"]
    assert names[-3:] == ["step.stop", "interaction.completed", "done"]
    assert answer.headers["content-type"].startswith("text/event-stream")


@pytest.mark.parametrize("upstream", ["openai-chat", "gemini-interactions"])
def test_an_error_of_the_model_is_one_that_the_client_reads(
    gateways: Gateways, upstream: str
) -> None:
    with pytest.raises(RequestRefused) as refused:
        client = GoogleInteractions()
        client.ask(gateways.url(upstream), "m", client.begin("[[error 400]]"), stream=False)
    assert refused.value.status == 400 and refused.value.words


def test_the_client_raises_its_own_error_for_an_unknown_model() -> None:
    with serving(gateway(row("openai-chat", "http://127.0.0.1:1", name="gpt-5"))) as url:
        with pytest.raises(APIStatusError, match="does not exist"):
            interactions_of(url).interactions.create(model="nope", input="hi")
        interactions_of.cache_clear()
