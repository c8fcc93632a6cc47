"""Look for inputs that break a law: mutate the cases and ask the oracles in tests/oracles.py.

    python scripts/fuzz.py                       # a minute, all wires
    python scripts/fuzz.py --seconds 3600        # an hour
    python scripts/fuzz.py --wire gemini --seed 7

Mutations know the structure of a body: they drop, repeat, swap and move the elements of lists, give
one id, name or role the value of another, cut histories, and put nodes of other cases in their
place. A find is made smaller for as long as it still breaks the same law, and saved in tests/finds,
where tests/laws/test_finds.py replays it. Exits 1 if something was found.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import sys
import time
import traceback
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from cases import (  # noqa: E402  # after the path
    CASES,
    DELETE,
    NOISE,
    WIRES,
    load_recorded,
    load_recorded_streams,
    load_streams,
    nodes,
    set_at,
    streaming,
)
from oracles import BODY_ORACLES, ORACLES, STREAM_ORACLES, Input, Oracle  # noqa: E402

from toolwire.conversation.json import JSON, JsonPath, get  # noqa: E402

FINDS = ROOT / "tests" / "finds"
LARGEST = 20_000
"""Characters of an input: larger ones find nothing that smaller ones do not, only later."""
IDENTITY_KEYS = frozenset(
    "id call_id tool_call_id tool_use_id toolUseId toolCallId callId requestId item_id ref index"
    " name toolName tool_name role".split()
)


# --- mutations ------------------------------------------------------------------------------------


class Mutator:
    """Makes inputs of a wire out of its cases."""

    def __init__(self, wire: str, chance: random.Random) -> None:
        self.wire = wire
        self.chance = chance
        self.bodies = [
            case
            for case in (*(case for case in CASES if case.wire == wire), *load_recorded(wire))
            if len(json.dumps(case.body)) < LARGEST
        ]
        self.streams: list[list[JSON]] = []
        if wire in streaming():
            every = (*load_streams(wire), *load_recorded_streams(wire))
            self.streams = [case.events for case in every if len(json.dumps(case.events)) < LARGEST]

    def draw(self) -> tuple[Input, dict[str, Oracle]]:
        """A mutated input, and the oracles to ask about it."""
        target = self.chance.choice(WIRES)
        if self.streams and self.chance.random() < 0.4:
            events: JSON = deepcopy(self.chance.choice(self.streams))
            target = self.chance.choice(streaming())
            events = self._mutate(events)
            if isinstance(events, list) and all(isinstance(event, dict) for event in events):
                return Input(self.wire, "response", target, events), STREAM_ORACLES
        case = self.chance.choice(self.bodies)
        body = self._mutate(deepcopy(case.body))
        return Input(self.wire, case.kind, target, body), BODY_ORACLES

    def _mutate(self, body: JSON) -> JSON:
        for _ in range(self.chance.choice((1, 1, 1, 2, 2, 3, 4))):
            body = self.chance.choice(
                (self._edit_list, self._edit_list, self._copy_identity, self._splice, self._noise)
            )(body)
        return body

    def _edit_list(self, body: JSON) -> JSON:
        """Drop, repeat, swap, move or cut elements of a list."""
        lists = [path for path in nodes(body) if isinstance(get(body, path), list)]
        lists = [path for path in lists if get(body, path)]
        if not lists:
            return body
        path = self.chance.choice(lists)
        found = get(body, path)
        assert isinstance(found, list)
        items = deepcopy(found)
        here, there = self.chance.randrange(len(items)), self.chance.randrange(len(items))
        match self.chance.randrange(6):
            case 0:
                del items[here]
            case 1:
                items.insert(there, deepcopy(items[here]))
            case 2:
                items[here], items[there] = items[there], items[here]
            case 3:
                items.insert(there, items.pop(here))
            case 4:
                del items[here:]
            case _:
                del items[:here]
        return set_at(body, path, items)

    def _copy_identity(self, body: JSON) -> JSON:
        """Give an id, name or role the value of another, or none."""
        paths = [path for path in nodes(body) if path and path[-1] in IDENTITY_KEYS]
        if not paths:
            return body
        path = self.chance.choice(paths)
        alike = [other for other in paths if other[-1] == path[-1]]
        other = get(body, self.chance.choice(alike if self.chance.random() < 0.7 else paths))
        if self.chance.random() < 0.15:
            return set_at(body, path, DELETE)
        if self.chance.random() < 0.15 and isinstance(other, str):
            return set_at(body, path, self.chance.choice((other + "|fc_1", other[:-1], other * 2)))
        return set_at(body, path, other)  # type: ignore[arg-type]

    def _splice(self, body: JSON) -> JSON:
        """Put a node of another case of the wire where a node of the same field is."""
        donor: JSON = self.chance.choice(self.bodies).body
        places: dict[str | int, list[JsonPath]] = {}
        for path in nodes(body):
            if path:
                places.setdefault(_field(path), []).append(path)
        donors = [path for path in nodes(donor) if path and _field(path) in places]
        if not donors:
            return body
        source = self.chance.choice(donors)
        return set_at(body, self.chance.choice(places[_field(source)]), get(donor, source))  # type: ignore[arg-type]

    def _noise(self, body: JSON) -> JSON:
        return set_at(body, self.chance.choice(list(nodes(body))), self.chance.choice(NOISE))


def _field(path: JsonPath) -> str | int:
    """The name of the field that holds a node; the field of its list for an element."""
    return next((step for step in reversed(path) if isinstance(step, str)), 0)


# --- finds ----------------------------------------------------------------------------------------


def failure(oracle: Oracle, given: Input) -> str | None:
    """How an input breaks a law: the type of the exception and where it was raised."""
    try:
        oracle(given)
    except RecursionError:
        return None
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__} in {Path(frame.filename).name}:{frame.name}:{frame.lineno}"
    return None


def smaller(body: JSON) -> Iterator[JSON]:
    """The body without one of its nodes, large nodes first; then with shorter texts."""
    paths = sorted((path for path in nodes(body) if path), key=len)
    for path in paths:
        yield set_at(body, path, DELETE)
    for path in paths:
        value = get(body, path)
        if isinstance(value, str) and len(value) > 8:
            yield set_at(body, path, value[:4])


def minimize(oracle: Oracle, given: Input, reason: str, seconds: float = 20) -> Input:
    """The smallest input found that breaks the law in the same way."""
    end = time.monotonic() + seconds
    progress = True
    while progress and time.monotonic() < end:
        progress = False
        for body in smaller(given.body):
            if time.monotonic() > end:
                break
            candidate = Input(given.wire, given.kind, given.target, body)
            if failure(oracle, candidate) == reason:
                given, progress = candidate, True
                break
    return given


def save(name: str, given: Input, reason: str) -> Path:
    """Write a find for the tests to replay."""
    FINDS.mkdir(exist_ok=True)
    content = {
        "oracle": name,
        "wire": given.wire,
        "kind": given.kind,
        "target": given.target,
        "body": given.body,
    }
    digest = hashlib.blake2b(json.dumps(content).encode(), digest_size=4).hexdigest()
    file = FINDS / f"{name.replace('_', '-')}-{given.wire}-{digest}.json"
    file.write_text(json.dumps(content, indent=1) + "\n")
    print(
        f"{name}: {given.wire} to {given.target}: {reason}\n  {file.relative_to(ROOT)}", flush=True
    )
    return file


def fuzz(wires: list[str], seconds: float, seed: int) -> int:
    """Ask the oracles for some time. Returns the number of different finds."""
    chance = random.Random(seed)
    mutators = [Mutator(wire, chance) for wire in wires]
    known: set[tuple[str, str, str]] = set()
    inputs = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        given, oracles = chance.choice(mutators).draw()
        inputs += 1
        for name, oracle in oracles.items():
            reason = failure(oracle, given)
            if reason is None or (name, given.wire, reason) in known:
                continue
            known.add((name, given.wire, reason))
            save(name, minimize(ORACLES[name], given, reason), reason)
    print(f"{inputs} inputs, {len(known)} finds, seed {seed}")
    return len(known)


def main() -> int:
    """Parse the command line and run. Returns the exit status."""
    parser = argparse.ArgumentParser(description="Look for inputs that break a law.")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--wire", action="append", choices=WIRES, help="only this wire")
    options = parser.parse_args()
    seed = random.SystemRandom().randrange(2**32) if options.seed is None else options.seed
    return 1 if fuzz(options.wire or WIRES, options.seconds, seed) else 0


if __name__ == "__main__":
    sys.exit(main())
