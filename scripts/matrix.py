"""Write docs/reference/matrix.md, every wire of models against every other.

With --check nothing is written, and the script fails if the page is stale. The page counts the
results of the laws over the case folders. Recorded traffic is left out, so that the page is the same
on every machine.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from cases import MODELS, Case, load  # noqa: E402
from laws.test_there_and_back import (  # noqa: E402
    test_ids_names_arguments_and_results_are_restored as check_round_trip,
)
from validators import complaints  # noqa: E402

from toolwire import Call, InputError, Result, decode, translate  # noqa: E402

PAGE = ROOT / "docs" / "reference" / "matrix.md"
TEXT = """\
<!-- written by scripts/matrix.py from the cases; do not edit -->

# Every wire against every other

For people who want to know whether a translation between two wires keeps calls and results.

Each row is a source wire, each column a target wire. A cell counts the bodies in `tests/cases` that pass all three tests,
and all bodies of the source wire:

- **translated**: `translate` returns a body and raises no error. It reports what the target cannot express as losses.
- **valid**: the official types of the target accept the body (`tests/validators.py`).
- **there and back**: a translation back with the id map restores the id, name and arguments of every call of the client, and the
  call, text and error flag of every result. Results with neither an id nor a call, and the second and later candidates of a response,
  are not compared (`tests/laws/test_there_and_back.py`).

Some bodies are broken on purpose: missing ids, repeated ids, truncated arguments, unknown blocks. {some} of the {every} bodies
contain calls or results of the client; the others pass the third test if the round trip adds none.
"""
LEFT = """
## What is missing
"""


def is_restored(case: Case, over: str) -> bool:
    """True if a round trip over another wire restores everything that the law requires."""
    try:
        check_round_trip(case, over)
    except (AssertionError, InputError):
        return False
    return True


def count_case(case: Case, target: str) -> tuple[bool, bool, bool]:
    """Whether a body is translated, valid, and restored by the translation back."""
    try:
        body = translate(case.body, case.wire, target, case.kind).body
    except InputError:
        return False, False, False
    return True, not complaints(target, body, case.kind), is_restored(case, target)


def has_client_parts(case: Case) -> bool:
    """True if a body holds a call or result of the client."""
    read = decode(case.body, case.wire, case.kind)
    return any(
        part.executor == "client" for part in read.parts() if isinstance(part, Call | Result)
    )


def page() -> str:
    """The whole page."""
    lines = [["from \\ to", *(f"`{name}`" for name in MODELS)], ["---"] * (len(MODELS) + 1)]
    missing: list[str] = []
    bodies = [case for wire in MODELS for case in load(wire)]
    for source in MODELS:
        cells = [f"`{source}`"]
        for target in MODELS:
            if source == target:
                cells.append("")
                continue
            found = {str(case): count_case(case, target) for case in load(source)}
            cells.append(f"{sum(all(answers) for answers in found.values())}/{len(found)}")
            missing += (
                f"- `{name}` to `{target}`: {why}"
                for name, answers in found.items()
                for why in failures(answers)
            )
        lines.append(cells)
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    text = TEXT.format(every=len(bodies), some=sum(map(has_client_parts, bodies)))
    return "\n".join([text, table, *([LEFT, *missing] if missing else [])]) + "\n"


def failures(answers: tuple[bool, bool, bool]) -> Iterator[str]:
    """The names of the checks that a body fails."""
    if not answers[0]:
        yield "not translated"
    else:
        yield from (
            word
            for word, passed in zip(("not valid", "not restored"), answers[1:], strict=True)
            if not passed
        )


def main() -> int:
    text = page()
    if "--check" in sys.argv[1:]:
        stale = not PAGE.is_file() or PAGE.read_text() != text
        if stale:
            print(
                f"stale: {PAGE.relative_to(ROOT)}; run: python scripts/matrix.py", file=sys.stderr
            )
        return int(stale)
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
