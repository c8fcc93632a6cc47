"""The official clients use the mock over loopback, and read its responses as those of their
provider."""

from __future__ import annotations

import re

import pytest
from mock.hosting import serve_mock
from mock.talks import TALKS
from mock.tools import FINAL, QUESTION

LOOKS = {
    "openai-chat": r"call_\w{24}",
    "azure-openai": r"call_\w{24}",
    "openai-responses": r"call_\w{24}",
    "anthropic": r"toolu_01\w{22}",
    "bedrock": r"tooluse_\w{22}",
    "mistral": r"[a-zA-Z0-9]{9}",
    "cohere": r"Calculator_(Add|Multiply)_[a-z0-9]{12}",
    "gemini": r"call_\d{7}",
    "ollama": "",
}
"""A pattern for the ids of each provider; the client of the last one shows none."""


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("name", TALKS)
def test_a_client_calls_one_tool_twice_at_once_and_another_with_the_results_and_reads_every_result(
    name: str, stream: bool
) -> None:
    profile, talk = TALKS[name]
    with serve_mock(profile) as server:
        turns, text = talk(server.url, QUESTION, stream)
    assert [[called for _, called in turn] for turn in turns] == [
        ["Calculator_Add", "Calculator_Add"],
        ["Calculator_Multiply"],
    ]
    assert text.splitlines() == list(FINAL)
    ids = [one for turn in turns for one, _ in turn]
    assert all(re.fullmatch(LOOKS[profile], one) for one in ids)
    assert not any(ids) or len(set(ids)) == len(ids)
    assert [seen.status for seen in server.mock.requests] == [200, 200, 200]


@pytest.mark.parametrize("name", TALKS)
def test_a_client_gets_a_text_answer_when_no_tool_matches(name: str) -> None:
    profile, talk = TALKS[name]
    with serve_mock(profile) as server:
        turns, text = talk(server.url, "hello there", False)
    assert (turns, text) == ([], "You said: hello there\nNo tool matches the question.")
