"""`POST /v1/responses/compact`: passed on, or done with a summary by any model."""

from __future__ import annotations

import json

import openai
import pytest
from gateway.bodies import CHAT, WHOLE
from gateway.serving import UPSTREAMS, Gateways, gateway, row, serving
from gateway.upstreams import ScriptedUpstream, answers, scripted_gateway
from openai.types.responses import CompactedResponse

from toolwire.conversation.json import JSON, Object
from toolwire.gateway.responses_state.compaction import PREFIX, expand_summaries

ITEMS: list[JSON] = [
    {"role": "user", "content": "What is the weather in Oslo?"},
    {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": '{"city": "Oslo"}'},
    {"type": "function_call_output", "call_id": "c1", "output": "-3 degrees"},
    {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "Cold.", "annotations": []}],
    },
]
NEXT: JSON = {"role": "user", "content": "And in Rome?"}


def compact(url: str, items: list[JSON]) -> CompactedResponse:
    with openai.OpenAI(base_url=f"{url}/v1", api_key="any", max_retries=0) as client:
        return client.responses.compact(model="m", input=items)  # type: ignore[arg-type]


def items_of(done: CompactedResponse) -> list[JSON]:
    """The next input. The types of the client know no message of a user in an output, and warn."""
    return [one.to_dict(warnings=False) for one in done.output]  # type: ignore[misc]


def ask(url: str, items: list[JSON]) -> None:
    with openai.OpenAI(base_url=f"{url}/v1", api_key="any", max_retries=0) as client:
        client.responses.create(model="m", input=items)  # type: ignore[arg-type]


def test_a_summary_of_the_model_replaces_everything_but_user_messages() -> None:
    choice: Object = {
        "index": 0,
        "message": {"role": "assistant", "content": "Oslo has -3 degrees."},
        "finish_reason": "stop",
    }
    up = ScriptedUpstream(answers({**CHAT, "choices": [choice]}), answers(CHAT))
    with serving(up) as at, serving(gateway(row("openai-chat", at))) as url:
        done = compact(url, ITEMS)
        assert done.object == "response.compaction" and done.usage.total_tokens == 3
        user, item = done.output
        assert user.to_dict(warnings=False)["content"] == [
            {"type": "input_text", "text": "What is the weather in Oslo?"}
        ]
        assert item.type == "compaction" and item.encrypted_content.startswith(PREFIX)
        asked = up.got[0].json["messages"]
        assert isinstance(asked, list) and "Summarize" in str(asked[-1])
        assert "-3 degrees" in json.dumps(asked)
        ask(url, [*items_of(done), NEXT])
        sent_messages = json.dumps(up.got[1].json["messages"])
        assert (
            "Summary of the conversation so far" in sent_messages
            and "Oslo has -3 degrees." in sent_messages
        )
        assert PREFIX not in sent_messages and "And in Rome?" in sent_messages


@pytest.mark.parametrize("upstream", [name for name in UPSTREAMS if name != "openai-responses"])
def test_every_model_can_compact_and_continue(gateways: Gateways, upstream: str) -> None:
    url = gateways.url(upstream)
    done = compact(url, ITEMS)
    again = compact(url, [*items_of(done), NEXT])
    assert [one.type for one in again.output] == ["message", "message", "compaction"]
    ask(url, [*items_of(again), NEXT])


def test_a_provider_of_the_api_compacts_itself() -> None:
    back: Object = {
        "id": "resp_1",
        "object": "response.compaction",
        "created_at": 1,
        "output": [{"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAAA"}],
        "usage": WHOLE["openai-responses"]["usage"],
    }
    with scripted_gateway("openai-responses", answers(back), model="real") as gw:
        done = compact(gw.url, ITEMS)
        assert done.to_dict() == back
        assert gw.up.got[0].path == "/v1/responses/compact"
        assert gw.up.got[0].json == {"model": "real", "input": ITEMS}


@pytest.mark.parametrize("content", [f"{PREFIX}not-one", PREFIX, "gAAAA", 3])
def test_an_item_that_cannot_be_read_stays(content: JSON) -> None:
    item: JSON = {"type": "compaction", "encrypted_content": content}
    raw = json.dumps({"input": [item], "note": PREFIX}).encode()
    assert json.loads(expand_summaries(raw))["input"] == [item]
