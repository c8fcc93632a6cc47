"""What an id is, point by point. The names of the tests are quoted in docs/explanation/identity.md."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from itertools import permutations

import pytest
from growth import GROWTH_LIMIT, growth
from hypothesis import given
from hypothesis import strategies as st

import toolwire
from toolwire import Call, Result
from toolwire.conversation.fitting import fit, fit_names
from toolwire.conversation.id_map import IdMap
from toolwire.conversation.id_rules import IdRule
from toolwire.conversation.ids import is_minted, mint
from toolwire.conversation.json import JSON

Turn = tuple[Sequence[tuple[str, str]], Sequence[tuple[str, str]]]


def chat(*turns: Turn, between: str | None = "next") -> dict[str, JSON]:
    """A chat history: each turn is calls (id, name) and results (id, text)."""
    messages: list[JSON] = [{"role": "user", "content": "go"}]
    for n, (calls, results) in enumerate(turns):
        if n and between is not None:
            messages.append({"role": "user", "content": between})
        tool_calls: list[JSON] = [
            {"id": i, "type": "function", "function": {"name": f, "arguments": "{}"}}
            for i, f in calls
        ]
        messages.append({"role": "assistant", "content": None, "tool_calls": tool_calls})
        messages += [{"role": "tool", "tool_call_id": i, "content": text} for i, text in results]
    return {"model": "m", "messages": messages}


def gemini(*turns: tuple[Sequence[str], Sequence[tuple[str, str]]]) -> dict[str, JSON]:
    """A Gemini history without ids: each turn is called names and responses (name, text)."""
    contents: list[JSON] = [{"role": "user", "parts": [{"text": "go"}]}]
    for calls, results in turns:
        contents.append(
            {
                "role": "model",
                "parts": [{"functionCall": {"name": name, "args": {}}} for name in calls],
            }
        )
        answers: list[JSON] = [
            {"functionResponse": {"name": name, "response": {"output": text}}}
            for name, text in results
        ]
        contents.append({"role": "user", "parts": answers})
    return {"contents": contents}


def pairs_by_text(body: JSON, wire: str) -> list[tuple[str, str | None, str | None]]:
    """Pairs as (call id, text of the result, how)."""
    pairs = toolwire.decode(body, wire).pairs()
    return [
        (p.call.id if p.call else "-", p.result.text if p.result else None, p.how) for p in pairs
    ]


# --- 1. never empty -------------------------------------------------------------------------------


@pytest.mark.parametrize("missing", ["absent", None, "", "  ", "null"])
def test_1_no_consumer_ever_meets_an_empty_id(missing: str | None) -> None:
    call: dict[str, JSON] = {"type": "function", "function": {"name": "f", "arguments": "{}"}}
    result: dict[str, JSON] = {"role": "tool", "content": "1"}
    if missing != "absent":
        call["id"] = result["tool_call_id"] = missing
    messages: list[JSON] = [{"role": "assistant", "tool_calls": [call]}, result]
    [pair] = toolwire.decode({"messages": messages}, "openai-chat").pairs()
    assert pair.call is not None and pair.result is not None
    assert pair.call.id and pair.call.id == pair.result.call_id
    assert pair.call.origin == "minted"


# --- 2. the origin is kept ------------------------------------------------------------------------


def test_2_the_origin_says_that_the_adapter_had_no_id() -> None:
    [minted] = toolwire.decode(gemini((["f"], [])), "gemini").calls()
    [call] = toolwire.decode(chat(([("call_1", "f")], [])), "openai-chat").calls()
    assert (minted.origin, call.origin) == ("minted", "wire")


def test_2_a_minted_id_is_not_sent_to_the_wire_that_has_none() -> None:
    body = gemini((["f", "f"], [("f", "1"), ("f", "2")]))
    over = toolwire.translate(body, "gemini", "openai-chat")
    restored = toolwire.translate(over.body, "openai-chat", "gemini")
    assert restored.body == body
    assert b'"id"' not in restored.json()


MINTED_IDS = ("tw-0123456789abcdef", "tw-0123456789abcdee")


@pytest.mark.parametrize("target", ["gemini", "ollama", "genkit", "adk", "text"])
@pytest.mark.parametrize(
    ("calls", "results", "id_is_sent"),
    [
        (
            [MINTED_IDS],
            [[MINTED_IDS[1], MINTED_IDS[0]]],
            False,
        ),  # permuted: written in the order of the calls
        ([MINTED_IDS], [[MINTED_IDS[1]]], True),  # one of two answered
        ([MINTED_IDS], [[MINTED_IDS[1], MINTED_IDS[1]]], True),  # one answered twice
        ([[MINTED_IDS[0]], [MINTED_IDS[1]]], [[], [MINTED_IDS[0]]], True),  # the older one, late
    ],
)
def test_2_a_minted_id_is_sent_where_order_would_pair_otherwise(
    calls: list[Sequence[str]], results: list[list[str]], id_is_sent: bool, target: str
) -> None:
    turns: list[Turn] = [
        ([(i, "f") for i in ids], [(i, f"of {i[-1]} {n}") for n, i in enumerate(result)])
        for ids, result in zip(calls, results, strict=True)
    ]
    body = chat(*turns)
    translated = toolwire.translate(body, "openai-chat", target, repair=False)
    assert [text for _, text, _ in pairs_by_text(translated.body, target)] == [
        text for _, text, _ in pairs_by_text(body, "openai-chat")
    ]
    # Genkit keeps no order, so two calls of one tool always need ids there.
    assert (b"tw-" in translated.json()) is (id_is_sent or target == "genkit")


# --- 3. deterministic -----------------------------------------------------------------------------


def test_3_the_same_history_gives_the_same_ids_in_another_process() -> None:
    body = gemini((["f", "f", "g"], [("f", "1"), ("f", "2"), ("g", "3")]))
    call_ids = [call.id for call in toolwire.decode(body, "gemini").calls()]
    script = f"import toolwire; print([c.id for c in toolwire.decode({body!r}, 'gemini').calls()])"
    process = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONHASHSEED": "99"},
    )
    assert process.stdout.strip() == repr(call_ids)


def test_3_a_longer_history_keeps_the_ids_of_its_beginning() -> None:
    turn = (["f"], [("f", "1")])
    short = [call.id for call in toolwire.decode(gemini(turn, turn), "gemini").calls()]
    long = [call.id for call in toolwire.decode(gemini(turn, turn, turn), "gemini").calls()]
    assert long[:2] == short and len(set(long)) == 3


def test_3_the_same_tool_in_two_responses_gets_two_ids() -> None:
    def response(call_id: str) -> JSON:
        part: JSON = {"functionCall": {"name": "f", "args": {}}}
        return {
            "responseId": call_id,
            "candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}],
        }

    first, second = (
        toolwire.decode(response(result_id), "gemini", "response").calls()[0].id
        for result_id in ("r1", "r2")
    )
    assert first != second and is_minted(first) and is_minted(second)


# --- 4. a result is made from its call ------------------------------------------------------------


def test_4_a_result_cannot_be_built_with_an_id_of_its_own_by_accident() -> None:
    [call] = toolwire.decode(chat(([("call_1", "f")], [])), "openai-chat").calls()
    assert call.result("done").call_id == "call_1"
    assert call.result("bad", error=True).error
    with pytest.raises(toolwire.UsageError, match=r"`call\.result\(output\)`"):
        Result("an id of my own", "done")  # type: ignore[call-arg]


# --- 5. pairing -----------------------------------------------------------------------------------


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_5_parallel_calls_of_one_tool_keep_their_results_in_any_order(
    order: tuple[int, ...],
) -> None:
    calls = [(f"c{i}", "f") for i in range(3)]
    results = [(f"c{i}", f"r{i}") for i in order]
    assert pairs_by_text(chat((calls, results)), "openai-chat") == [
        (f"c{i}", f"r{i}", "id") for i in range(3)
    ]


def test_5_ids_that_restart_each_turn_name_the_newer_call() -> None:
    turn: Turn = ([("call_0", "f")], [("call_0", "a")])
    next_turn: Turn = ([("call_0", "f")], [("call_0", "b")])
    assert pairs_by_text(chat(turn, next_turn), "openai-chat") == [
        ("call_0", "a", "id"),
        ("call_0", "b", "id"),
    ]


def test_5_a_repeated_id_with_one_result_leaves_one_call_open() -> None:
    turn: Turn = ([("x:0", "f")], [("x:0", "a")])
    body = chat(turn, ([("x:0", "f")], []))
    assert pairs_by_text(body, "openai-chat") == [("x:0", "a", "id"), ("x:0", None, None)]


def test_5_an_unanswered_call_does_not_take_the_result_of_a_later_one() -> None:
    body = chat(([("call_0", "f")], []), ([("call_0", "f")], [("call_0", "late")]))
    assert pairs_by_text(body, "openai-chat") == [("call_0", None, None), ("call_0", "late", "id")]


def test_5_two_calls_with_one_id_in_one_turn_are_answered_in_turn() -> None:
    body = chat(([("x", "f"), ("x", "g")], [("x", "1"), ("x", "2")]))
    assert pairs_by_text(body, "openai-chat") == [("x", "1", "id"), ("x", "2", "id")]


def test_5_without_ids_the_name_decides_and_then_the_order_that_the_wire_promises() -> None:
    by_name = toolwire.decode(gemini((["f", "g"], [("g", "2"), ("f", "1")])), "gemini").pairs()
    by_order = toolwire.decode(gemini((["f", "f"], [("f", "1"), ("f", "2")])), "gemini").pairs()
    assert [(p.result.text if p.result else None, p.how) for p in by_name] == [
        ("1", "name"),
        ("2", "name"),
    ]
    assert [(p.result.text if p.result else None, p.how) for p in by_order] == [
        ("1", "order"),
        ("2", "order"),
    ]


@pytest.mark.parametrize("target", ["gemini", "anthropic", "ollama"])
def test_5_a_translation_lists_the_pairs_that_only_order_shows(target: str) -> None:
    body = gemini((["f", "g"], [("g", "2"), ("f", "1")]), (["f", "f"], [("f", "1"), ("f", "2")]))
    encoded = [
        toolwire.translate(body, "gemini", target),
        toolwire.encode(toolwire.decode(body, "gemini"), target),
        toolwire.translate(body["contents"], "gemini", target),
    ]
    paths = [
        [(pair.call and pair.call.path, pair.result and pair.result.path) for pair in pairs]
        for pairs in (each.paired_by_order for each in encoded)
    ]
    calls, results = len(body["contents"]) - 2, len(body["contents"]) - 1  # type: ignore[arg-type]
    in_list = [((calls, "parts", n), (results, "parts", n)) for n in range(2)]
    in_body = [(("contents", *call), ("contents", *result)) for call, result in in_list]
    assert paths == [in_body, in_body, in_list]


def test_5_no_pair_by_order_is_listed_where_ids_or_names_show_the_call() -> None:
    chats = chat(([("a", "f"), ("b", "f")], [("b", "2"), ("a", "1")]))
    assert toolwire.translate(chats, "openai-chat", "gemini").paired_by_order == []
    named = gemini((["f", "g"], [("g", "2"), ("f", "1")]))
    assert toolwire.translate(named, "gemini", "openai-chat").paired_by_order == []


def test_5_what_is_ambiguous_is_reported_and_never_guessed() -> None:
    pairs = toolwire.decode(gemini((["f", "f"], [("f", "only one")])), "gemini").pairs()
    assert [p.how for p in pairs] == [None, None, None]
    assert (
        pairs[2].call is None and pairs[2].result is not None and pairs[2].result.text == "only one"
    )


def test_5_order_is_not_trusted_on_a_wire_that_does_not_promise_it() -> None:
    body = chat(([("a", "f"), ("b", "f")], [("", "1"), ("", "2")]))
    assert [p.how for p in toolwire.decode(body, "openai-chat").pairs()] == [None, None, None, None]


def test_5_among_equal_ids_in_one_turn_the_name_decides() -> None:
    def part(kind: str, name: str, **more: JSON) -> JSON:
        return {kind: {"id": "x", "name": name, **more}}

    contents: list[JSON] = [
        {"role": "model", "parts": [part("functionCall", "f"), part("functionCall", "g")]},
        {
            "role": "user",
            "parts": [
                part("functionResponse", n, response={"output": f"of {n}"}) for n in ("g", "f")
            ],
        },
    ]
    pairs = toolwire.decode({"contents": contents}, "gemini").pairs()
    assert [(p.call and p.call.name, p.result and p.result.text) for p in pairs] == [
        ("f", "of f"),
        ("g", "of g"),
    ]


def test_5_a_name_that_contradicts_is_not_outweighed_by_being_the_only_one() -> None:
    body: JSON = {
        "messages": [
            {"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}},
            {"role": "function", "name": "g", "content": "1"},
        ]
    }
    assert [p.how for p in toolwire.decode(body, "openai-chat").pairs()] == [None, None]


@pytest.mark.parametrize("target", ["ollama", "genkit", "adk", "text", "openai-chat", "anthropic"])
def test_5_calls_split_over_messages_in_a_row_are_one_turn_on_every_wire(target: str) -> None:
    body = gemini((["f"], []), (["f"], [("f", "one"), ("f", "two")]))
    contents = body["contents"]
    assert isinstance(contents, list)
    split: JSON = {"contents": [contents[0], contents[1], contents[3], contents[4]]}
    over = toolwire.translate(split, "gemini", target)
    assert [text for _, text, _ in pairs_by_text(over.body, target)] == ["one", "two"]


def test_5_results_with_ids_are_not_given_to_calls_without() -> None:
    call: JSON = {"type": "function", "function": {"name": "f", "arguments": "{}"}}
    results: list[JSON] = [{"role": "tool", "tool_call_id": i, "content": i} for i in ("c1", "c2")]
    body: JSON = {
        "messages": [
            {"role": "user", "content": "go"},
            {"role": "assistant", "tool_calls": [call, call]},
            *results,
        ]
    }
    for target in ("gemini", "ollama", "text"):
        translated = toolwire.translate(body, "openai-chat", target, repair=False)
        assert [how for _, _, how in pairs_by_text(translated.body, target)] == [
            None,
            None,
            None,
            None,
        ]
        repaired = toolwire.translate(body, "openai-chat", target)
        assert not {"c1", "c2"} & {
            text for _, text, how in pairs_by_text(repaired.body, target) if how
        }


def test_5_an_item_id_where_the_call_id_belongs_still_finds_its_call() -> None:
    call: JSON = {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "call_1",
        "name": "f",
        "arguments": "{}",
    }
    output: JSON = {"type": "function_call_output", "call_id": "fc_1", "output": "R"}
    body: JSON = {"model": "m", "input": [call, output]}
    assert pairs_by_text(body, "openai-responses") == [("call_1", "R", "id")]
    over = toolwire.translate(body, "openai-responses", "anthropic")
    assert pairs_by_text(over.body, "anthropic") == [("call_1", "R", "id")]


def test_5_pairing_and_fitting_take_time_in_proportion_to_the_calls() -> None:
    def body(n: int) -> dict[str, JSON]:
        turn: Turn = ([("x", "f")] * n + [(f"c.{i}", f"f.{i}") for i in range(n)], [("x", "1")] * n)
        return chat(turn, turn)

    def translate(body: dict[str, JSON]) -> None:
        toolwire.translate(body, "openai-chat", "anthropic")

    quarter, whole = body(500), body(2000)
    assert growth(lambda: translate(quarter), lambda: translate(whole)) < GROWTH_LIMIT


def test_5_pairs_are_the_very_objects_of_calls_and_results() -> None:
    conversation = toolwire.decode(
        chat(([("a", "f"), ("b", "f")], [("b", "2"), ("a", "1")])), "openai-chat"
    )
    pairs = conversation.pairs()
    assert [p.call for p in pairs] == conversation.calls() and all(
        p.call is c for p, c in zip(pairs, conversation.calls(), strict=True)
    )
    assert {id(p.result) for p in pairs} == {id(r) for r in conversation.results()}


# --- 6. fitting -----------------------------------------------------------------------------------

ANTHROPIC = IdRule("a-zA-Z0-9_-")
MISTRAL = IdRule("a-zA-Z0-9", 9, exact=True)
RULES = (
    ANTHROPIC,
    MISTRAL,
    IdRule("a-zA-Z0-9_-", 64),
    IdRule(longest=40),
    IdRule("a-zA-Z0-9_.-", 64, first="[a-zA-Z_]"),
)


@given(st.text(min_size=1, max_size=120), st.sampled_from(RULES))
def test_6_fitting_is_legal_idempotent_and_leaves_a_valid_id_alone(text: str, rule: IdRule) -> None:
    fitted = fit(text, rule)
    assert rule.fits(fitted)
    assert fit(fitted, rule) == fitted
    assert fitted == text or not rule.fits(text)


@given(st.lists(st.text(min_size=1, max_size=80), unique=True, max_size=20), st.sampled_from(RULES))
def test_6_fitting_is_injective_within_the_conversation(ids: list[str], rule: IdRule) -> None:
    fitted = fit_names(ids, rule, {})
    assert len({fitted.get(call_id, call_id) for call_id in ids}) == len(ids)


@pytest.mark.parametrize(
    ("ids", "target"),
    [
        (["functions.f:0", "functions.f:1", "functions_f_1"], "anthropic"),
        (["a.b", "a:b", "a_b"], "anthropic"),
        (["tooluse_bpAAAAAAAA", "tooluse_bpBBBBBBBB"], "mistral"),
        (["x" * 80 + "1", "x" * 80 + "2"], "openai-responses"),
    ],
)
def test_6_ids_that_others_merge_stay_apart_and_paired(ids: list[str], target: str) -> None:
    body = chat(([(i, "f") for i in ids], [(i, f"result of {i}") for i in reversed(ids)]))
    encoded = toolwire.translate(body, "openai-chat", target)
    pairs = toolwire.decode(encoded.body, target).pairs()
    assert len({p.call.id for p in pairs if p.call}) == len(ids)
    assert [p.result.text for p in pairs if p.result] == [f"result of {i}" for i in ids]


def test_6_a_salted_second_try_never_takes_an_id_in_use() -> None:
    first = fit("a.b", ANTHROPIC)
    second = fit("a.b", ANTHROPIC, taken={first})
    assert first != second and ANTHROPIC.fits(second)


def test_6_a_result_too_many_stays_with_the_newest_call_of_its_id() -> None:
    body = chat(([("x", "f")], []), ([("x", "f")], [("x", "two"), ("x", "two again")]))
    over = toolwire.translate(body, "openai-chat", "anthropic", repair=False)
    assert [text for _, text, _ in pairs_by_text(over.body, "anthropic")] == [
        None,
        "two",
        "two again",
    ]


def test_5_a_result_lost_between_two_messages_with_one_id_leaves_the_newer_call_its_own() -> None:
    """Calls of messages in a row share a turn, so an id that restarts names two of them; one result
    answers the one before it."""
    messages: list[JSON] = [
        {
            "role": "assistant",
            "tool_calls": [
                {"id": "call_0", "type": "function", "function": {"name": "f", "arguments": text}}
            ],
        }
        for text in ('{"n":1}', '{"n":2}')
    ]
    results: list[JSON] = [
        {"role": "tool", "tool_call_id": "call_0", "content": text} for text in ("one", "two")
    ]
    assert [
        text for _, text, _ in pairs_by_text({"messages": [*messages, results[0]]}, "openai-chat")
    ] == [None, "one"]
    assert [
        text for _, text, _ in pairs_by_text({"messages": [*messages, *results]}, "openai-chat")
    ] == ["one", "two"]


def test_6_an_id_used_again_in_a_later_turn_is_made_unique_where_the_target_demands_it() -> None:
    turn: Turn = ([("call_0", "f")], [("call_0", "a")])
    encoded = toolwire.translate(
        chat(turn, ([("call_0", "f")], [("call_0", "b")])), "openai-chat", "anthropic"
    )
    conversation = toolwire.decode(encoded.body, "anthropic")
    assert len({call.id for call in conversation.calls()}) == 2
    assert [(p.result.text if p.result else None) for p in conversation.pairs()] == ["a", "b"]
    assert conversation.calls()[0].id == "call_0"


# --- 7. there and back ----------------------------------------------------------------------------


def test_7_a_long_id_used_again_comes_back_each_time() -> None:
    long = "call_" + "a" * 47
    turn: Turn = ([(long, "f")], [(long, "1")])
    over = toolwire.translate(chat(turn, turn), "openai-chat", "anthropic")
    restored = toolwire.translate(over.json(), "anthropic", "openai-chat", ids=over.ids)
    assert [call.id for call in toolwire.decode(restored.json(), "openai-chat").calls()] == [
        long,
        long,
    ]


@pytest.mark.parametrize("through", ["anthropic", "gemini"])
def test_7_the_id_map_restores_every_id(through: str) -> None:
    body = chat(
        ([("functions.f:0", "f"), ("a.b", "f")], [("a.b", "2"), ("functions.f:0", "1")]),
        ([("functions.f:0", "g")], []),
    )
    over = toolwire.translate(body, "openai-chat", through)
    restored = toolwire.translate(over.json(), through, "openai-chat", ids=over.ids)
    assert [c.id for c in toolwire.decode(restored.json(), "openai-chat").calls()] == [
        "functions.f:0",
        "a.b",
        "functions.f:0",
    ]


@pytest.mark.parametrize("through", ["openai-chat", "anthropic", "bedrock"])
def test_7_two_results_of_one_call_each_keep_their_own_error_flag(through: str) -> None:
    """A tool that waits for a confirmation answers twice: first with a placeholder error, then for
    good."""

    def answer(**response: JSON) -> JSON:
        return {
            "role": "user",
            "parts": [{"functionResponse": {"id": "c", "name": "f", "response": response}}],
        }

    call: JSON = {
        "role": "model",
        "parts": [{"functionCall": {"id": "c", "name": "f", "args": {}}}],
    }
    body: JSON = {"contents": [call, answer(error="wait"), answer(output="done")]}
    over = toolwire.translate(body, "gemini", through, repair=False)
    restored = toolwire.translate(over.json(), through, "gemini", ids=over.ids.to_dict())
    assert [(r.text, r.error) for r in toolwire.decode(restored.json(), "gemini").results()] == [
        ("wait", True),
        ("done", False),
    ]


def test_7_the_id_map_survives_json() -> None:
    over = toolwire.translate(
        chat(([("functions.f:0", "f")], [("functions.f:0", "1")])), "openai-chat", "anthropic"
    )
    restored = toolwire.translate(over.json(), "anthropic", "openai-chat", ids=over.ids.to_dict())
    assert IdMap.of(over.ids.to_dict()) == over.ids
    assert toolwire.decode(restored.json(), "openai-chat").calls()[0].id == "functions.f:0"


def test_7_ids_come_back_through_a_wire_without_ids() -> None:
    """Minted on the way to the id-less wire, minted again when it is read: the map knows both."""
    body = gemini((["f", "f"], [("f", "1"), ("f", "2")]))
    over = toolwire.translate(body, "gemini", "anthropic")
    call_ids = [call.id for call in toolwire.decode(over.json(), "anthropic").calls()]
    without = toolwire.translate(over.json(), "anthropic", "gemini")
    assert b'"id"' not in without.json()
    restored = toolwire.translate(without.json(), "gemini", "anthropic", ids=without.ids)
    assert [call.id for call in toolwire.decode(restored.json(), "anthropic").calls()] == call_ids


# --- the drawbacks of the debate ------------------------------------------------------------------


def test_a_made_up_id_survives_round_trips() -> None:
    body = gemini((["f"], [("f", "1")]))
    first = toolwire.decode(body, "gemini").calls()[0].id
    over = toolwire.translate(body, "gemini", "openai-chat")
    assert toolwire.decode(over.body, "openai-chat").calls()[0].id == first
    restored = toolwire.translate(over.body, "openai-chat", "gemini")
    assert toolwire.decode(restored.body, "gemini").calls()[0].id == first


def test_an_item_id_is_never_taken_for_a_call_id() -> None:
    item: JSON = {
        "type": "web_search_call",
        "id": "ws_1",
        "status": "completed",
        "action": {"type": "search", "query": "x"},
    }
    call: JSON = {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "call_1",
        "name": "f",
        "arguments": "{}",
    }
    search, function = toolwire.decode(
        {"model": "m", "input": [item, call]}, "openai-responses"
    ).calls()
    assert (search.id, search.origin) == ("ws_1", "item")
    assert (function.id, function.item, function.origin) == ("call_1", "fc_1", "wire")


def test_absence_is_not_masked_by_an_empty_string() -> None:
    body = gemini((["f"], [("f", "1")]))
    assert [call.id for call in toolwire.decode(body, "gemini").calls()] != [""]
    assert toolwire.decode(body, "gemini").calls()[0].origin == "minted"


def test_generic_middleware_correlates_by_one_property_on_every_kind_of_call() -> None:
    """Function calls, server tools, code execution, legacy calls: the same two fields,
    and no cast.
    """
    bodies: list[tuple[str, JSON]] = [
        ("openai-chat", chat(([("c", "f")], [("c", "1")]))),
        (
            "openai-chat",
            {
                "messages": [
                    {"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}},
                    {"role": "function", "name": "f", "content": "1"},
                ]
            },
        ),
        (
            "anthropic",
            {
                "messages": [
                    {
                        "role": "assistant",
                        "content": [
                            {
                                "type": "server_tool_use",
                                "id": "s",
                                "name": "web_search",
                                "input": {},
                            },
                            {"type": "web_search_tool_result", "tool_use_id": "s", "content": []},
                        ],
                    }
                ]
            },
        ),
        (
            "gemini",
            {
                "contents": [
                    {
                        "role": "model",
                        "parts": [
                            {"executableCode": {"language": "PYTHON", "code": "1"}},
                            {"codeExecutionResult": {"outcome": "OUTCOME_OK"}},
                        ],
                    }
                ]
            },
        ),
    ]
    for wire, body in bodies:
        conversation = toolwire.decode(body, wire)
        answers = {result.call_id: result for result in conversation.results()}
        assert [call.id in answers for call in conversation.calls()] == [True]


def test_a_pairing_mistake_cannot_be_silent() -> None:
    """A result that names no call stays visible as an unpaired result."""
    body = chat(([("c1", "f")], [("the output of the tool", "the output of the tool")]))
    call, orphan = toolwire.decode(body, "openai-chat").pairs()
    assert call.result is None and orphan.call is None and orphan.how is None


def test_minted_ids_are_recognised_by_their_prefix() -> None:
    minted = mint("", 0, "f")
    assert (
        minted.startswith("tw-")
        and is_minted(minted)
        and not is_minted("tw-else")
        and not is_minted("call_1")
    )


def test_every_call_is_a_call() -> None:
    [call] = toolwire.decode(chat(([("c", "f")], [])), "openai-chat").calls()
    assert isinstance(call, Call) and (
        call.name,
        call.arguments,
        call.input,
        call.executor,
        call.family,
    ) == ("f", "{}", {}, "client", "function")
