"""Inputs of the fuzzer: each once broke a law. See `scripts/fuzz.py`."""

from __future__ import annotations

import json
from pathlib import Path

from cases import WIRES
from oracles import Input
from rows import rows
from stream_oracles import ORACLES

from toolwire.codec import resolve

FINDS = sorted((Path(__file__).parents[1] / "finds").glob("*.json"))


@rows("file", FINDS, ids=lambda file: file.stem)
def test_an_input_that_the_fuzzer_found_breaks_no_law(file: Path) -> None:
    find = json.loads(file.read_text())
    if {resolve(find[name])[0].name for name in ("wire", "target")} <= set(WIRES):
        given = Input(find["wire"], find["kind"], find["target"], find["body"])
        ORACLES[find["oracle"]](given)


def test_there_are_finds_to_replay() -> None:
    assert FINDS
