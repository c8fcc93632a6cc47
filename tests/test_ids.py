"""Ids and names: rules, fitting and minting, one property at a time."""

from __future__ import annotations

from cases import ALL
from msgspec.structs import replace

from toolwire import Call, Message, Result, decode
from toolwire.conversation.fitting import fit, fit_names
from toolwire.conversation.id_map import CUSTOM_CALL, ERROR_RESULT, IdMap
from toolwire.conversation.id_rules import IdRule
from toolwire.conversation.ids import assign_ids, is_minted, mint
from toolwire.conversation.parts import Source

NINE = IdRule("a-zA-Z0-9", 9, exact=True)
WORD = IdRule("a-zA-Z0-9_", 16)


def test_an_exact_rule_accepts_no_shorter_id() -> None:
    assert NINE.fits("abcdefghi")
    assert not NINE.fits("abc")
    assert not NINE.fits("abcdefghij")


def test_an_exact_rule_gets_ids_of_just_that_length() -> None:
    assert {len(fit(f"call_{n}", NINE)) for n in range(500)} == {9}


def test_a_name_with_a_line_break_is_not_taken_for_two_names() -> None:
    names = ["a\nb", "c", "d", "e", "f", "g"]
    fitted = fit_names(names, WORD, {})
    assert set(fitted) == {"a\nb"}
    assert WORD.fits(fitted["a\nb"])


def test_of_many_names_without_a_pattern_only_the_long_ones_change() -> None:
    names = ["a" * 20, "b", "c", "d", "e", "f"]
    assert set(fit_names(names, IdRule(longest=10), {})) == {"a" * 20}


def test_a_fitted_id_is_never_longer_than_the_rule_and_keeps_its_beginning() -> None:
    fitted = fit("get.weather.in.a.city.of.europe", WORD)
    assert len(fitted) <= 16 and fitted.startswith("get_")


def test_a_fitted_id_avoids_those_that_are_taken() -> None:
    first = fit("a.b", WORD)
    assert fit("a.b", WORD, {first}) != first


def test_a_first_character_that_is_not_allowed_is_replaced() -> None:
    rule = IdRule("a-zA-Z0-9_", 32, first="[a-zA-Z]")
    assert rule.fits(fit("9.lives", rule))


def test_minted_ids_depend_on_seed_position_and_name_and_on_nothing_else() -> None:
    assert mint("s", 1, "f") == mint("s", 1, "f")
    assert len({mint("s", 1, "f"), mint("t", 1, "f"), mint("s", 2, "f"), mint("s", 1, "g")}) == 4
    assert is_minted(mint("s", 1, "f")) and not is_minted("tw-1")


def test_the_position_of_a_minted_id_counts_calls_that_have_an_id_too() -> None:
    """So that an id that is filled in later does not change those of the calls after it."""
    second = Call("", "f", {}, source=Source())
    (with_id,) = assign_ids(
        (Message("assistant", (Call("c1", "f", {}), second)),), seed="s", ordered=False
    )
    (without,) = assign_ids(
        (Message("assistant", (Call("", "f", {}, source=Source()), second)),),
        seed="s",
        ordered=False,
    )
    assert [part.id for part in with_id.parts if isinstance(part, Call)][1] == [
        part.id for part in without.parts if isinstance(part, Call)
    ][1]


def test_two_id_maps_in_a_row_restore_the_first_ids_names_and_forms() -> None:
    first = IdMap({"x": "original"}, {"f_1": "f.1"}, {"x": CUSTOM_CALL}, {"x": [ERROR_RESULT]})
    combined = first.after_repair(IdMap({"y": "x"}, {"g": "f_1"}))
    assert combined.ids == {"x": "original", "y": "original"}
    assert combined.names == {"f_1": "f.1", "g": "f.1"}
    assert combined.calls == {"x": CUSTOM_CALL, "y": CUSTOM_CALL}
    assert combined.results == {"x": [ERROR_RESULT], "y": [ERROR_RESULT]}


def test_two_results_without_an_id_and_a_call_get_different_ids() -> None:
    strays = [
        replace(Call("c", "f", {}).result(text), call_id="", origin="minted") for text in "ab"
    ]
    (message,) = assign_ids((Message("tool", tuple(strays)),), seed="s", ordered=False)
    ids = [part.call_id for part in message.parts if isinstance(part, Result)]
    assert all(ids) and len(set(ids)) == 2


def test_the_id_of_a_result_without_a_call_is_never_that_of_a_call() -> None:
    stray = Message("tool", (replace(Call("c", "f", {}).result("r"), call_id="", origin="minted"),))

    def id_beside(call_id: str) -> str:
        caller = Message("assistant", (Call(call_id, "f", {}),))
        (message, _) = assign_ids((stray, caller), seed="s", ordered=False)
        (result,) = message.parts
        assert isinstance(result, Result)
        return result.call_id

    minted = id_beside("c")
    assert id_beside(minted) != minted


def test_renamed_tools_are_listed_in_one_order_whatever_the_order_of_a_set() -> None:
    names = [f"{letter}.get" for letter in "hgfedcba"]
    assert list(fit_names(names, WORD, {})) == sorted(names)


def test_calls_and_results_that_are_read_in_full_have_an_id_of_their_wire() -> None:
    """Otherwise a reader that has read all parts in full would leave the history without ids."""
    origins: set[str] = set()
    for case in ALL:
        conversation = decode(case.body, case.wire, case.kind)
        wires = {message.wire for message in conversation.messages if message.source.is_complete}
        assert wires <= {case.wire}
        parts: list[Call | Result] = [*conversation.calls(), *conversation.results()]
        complete = [part for part in parts if part.source.is_complete]
        origins.update(part.origin for part in complete)
        assert [part for part in complete if isinstance(part, Call) and part.item] == []
        assert [part for part in complete if part.signature is not None] == []
        outputs = [part.output for part in complete if isinstance(part, Result)]
        assert [output for output in outputs if isinstance(output, tuple)] == []
    assert origins == {"wire"}
