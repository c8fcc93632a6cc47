"""Look for inputs that break a law: mutate the cases and ask the oracles in tests/oracles.py.

    python scripts/fuzz.py                       # a minute, all wires
    python scripts/fuzz.py --seconds 3600        # an hour
    python scripts/fuzz.py --wire gemini --seed 7
    python scripts/fuzz.py --kind stream         # only the laws about streams

Mutations know the structure of a body: they drop, repeat, swap and move the elements of lists, give
one id, name or role the value of another, cut histories and texts, join two histories, change the
JSON inside of texts, and put nodes of other cases, also of other wires, in their place. Others change
every occurrence of an id, name or field, and repeat or move whole turns. Streams also change as
servers and proxies change them. Targets are wires and profiles, and an input may be one of a
profile of its wire. A find is reduced for as long as it still breaks the same law, and saved in
tests/finds, where tests/laws/test_finds.py replays it.
At the end, it prints how many inputs each law checked, and the wires and profiles that were not
drawn. Exits 1 if something was found.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import re
import sys
import time
import traceback
from collections import Counter
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
    Case,
    load_recorded,
    load_recorded_streams,
    load_streams,
    nodes,
    set_at,
    streaming,
)
from global_mutations import GLOBAL_MUTATIONS, IDENTITY_KEYS  # noqa: E402
from oracles import BODY_ORACLES, Input, Oracle  # noqa: E402
from stream_mutations import STREAM_MUTATIONS  # noqa: E402
from stream_oracles import ORACLES, STREAM_ORACLES  # noqa: E402

from toolwire import ToolwireError, profiles, restream, translate  # noqa: E402
from toolwire.codec import resolve  # noqa: E402
from toolwire.conversation.json import JSON, JsonPath, get, text_of  # noqa: E402

FINDS = ROOT / "tests" / "finds"
LARGEST = 20_000
"""The maximum number of characters of an input: larger ones find no more, and take longer."""
TRANSLATED = 20
"""The number of bodies and streams of other wires that each wire gets in addition to its own."""
SLOWEST = 10.0
"""Seconds of CPU time that an oracle may take for an input; most take some milliseconds."""
PROFILES = [name for name in profiles() if resolve(name)[0].name in WIRES]
STREAM_PROFILES = [name for name in PROFILES if resolve(name)[0].name in streaming()]


# --- mutations ------------------------------------------------------------------------------------


class Mutator:
    """Makes inputs of a wire out of its cases."""

    def __init__(self, wire: str, chance: random.Random, kind: str | None = None) -> None:
        self.wire = wire
        self.chance = chance
        self.stream_share = {"stream": 1.0, "body": 0.0}.get(kind or "", 0.4)
        own = (*(case for case in CASES if case.wire == wire), *load_recorded(wire))
        self.bodies = [case for case in own if len(json.dumps(case.body)) < LARGEST]
        self.bodies += _translate_bodies(wire, chance)
        self.streams: list[list[JSON]] = []
        if wire in streaming():
            every = (*load_streams(wire), *load_recorded_streams(wire))
            self.streams = [case.events for case in every if len(json.dumps(case.events)) < LARGEST]
            self.streams += _translate_streams(wire, chance)
        self.profiles = [name for name in PROFILES if resolve(name)[0].name == wire]

    def draw(self) -> tuple[Input, dict[str, Oracle]]:
        """A mutated input, and the oracles to ask about it."""
        source = self.chance.choice((self.wire, self.chance.choice(self.profiles)))
        while self.streams and self.chance.random() < self.stream_share:
            events: JSON = deepcopy(self.chance.choice(self.streams))
            target = self.chance.choice(self.chance.choice((streaming(), STREAM_PROFILES)))
            events = self._mutate_stream(events)
            if isinstance(events, list) and all(isinstance(event, dict) for event in events):
                return Input(source, "response", target, events), STREAM_ORACLES
        case = self.chance.choice(self.bodies)
        body = self._mutate(deepcopy(case.body))
        target = self.chance.choice(self.chance.choice((WIRES, PROFILES)))
        return Input(source, case.kind, target, body), BODY_ORACLES

    def _mutate_stream(self, events: JSON) -> JSON:
        """Change a stream as servers and proxies do, or as any JSON, or both."""
        for _ in range(self.chance.choice((0, 1, 1, 2, 3))):
            if isinstance(events, list) and events:
                events = self.chance.choice(STREAM_MUTATIONS)(events, self.chance)
        return self._mutate(events) if self.chance.random() < 0.6 else events

    def _mutate(self, body: JSON) -> JSON:
        for _ in range(self.chance.choice((1, 1, 1, 2, 2, 3, 4))):
            mutation = self.chance.choice(
                (
                    self._edit_list,
                    self._edit_list,
                    self._copy_identity,
                    self._copy_identity,
                    self._splice,
                    self._splice,
                    self._noise,
                    self._edit_text,
                    self._join,
                    self._mutate_globally,
                    self._mutate_globally,
                    self._mutate_globally,
                )
            )
            body = mutation(body)
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
        """Put a node of another case where a node of the same field is."""
        donor = self._donor()
        places: dict[str | int, list[JsonPath]] = {}
        for path in nodes(body):
            if path:
                places.setdefault(_field(path), []).append(path)
        donors = [path for path in nodes(donor) if path and _field(path) in places]
        if not donors:
            return body
        source = self.chance.choice(donors)
        return set_at(body, self.chance.choice(places[_field(source)]), get(donor, source))  # type: ignore[arg-type]

    def _donor(self) -> JSON:
        """Another case of the wire; now and then one of another wire."""
        if self.chance.random() < 0.15:
            return self.chance.choice(CASES).body
        return self.chance.choice(self.bodies).body

    def _join(self, body: JSON) -> JSON:
        """Put the elements of a list of another case after, before or between those of a list."""
        donor = self._donor()
        lists = _lists_by_field(body)
        donors = _lists_by_field(donor)
        fields = sorted(lists.keys() & donors.keys(), key=str)
        if not fields:
            return body
        field = self.chance.choice(fields)
        path = self.chance.choice(lists[field])
        items, others = get(body, path), get(donor, self.chance.choice(donors[field]))
        assert isinstance(items, list) and isinstance(others, list)
        at = self.chance.choice((0, len(items), self.chance.randrange(len(items) + 1)))
        return set_at(body, path, [*items[:at], *deepcopy(others[:20]), *items[at:]])

    def _edit_text(self, body: JSON) -> JSON:
        """Cut or repeat a text, make it another type, or change the JSON inside of it."""
        paths = [path for path in nodes(body) if path and isinstance(get(body, path), str)]
        if not paths:
            return body
        path = self.chance.choice(paths)
        text = get(body, path)
        assert isinstance(text, str)
        cut = self.chance.randrange(len(text) + 1)
        changed: JSON
        match self.chance.randrange(6):
            case 0:
                changed = text[:cut]
            case 1:
                changed = text[cut:]
            case 2:
                changed = text[:cut] + text
            case 3:
                changed = [{"type": "text", "text": text}]
            case 4:
                others: tuple[JSON, ...] = (None, cut, {"text": text})
                changed = self.chance.choice(others)
            case _:
                changed = self._mutate_inside(text)
        return set_at(body, path, changed)

    def _mutate_inside(self, text: str) -> JSON:
        """The text with its JSON changed, or the JSON itself; a text that is not JSON, as JSON."""
        try:
            value: JSON = json.loads(text)
        except ValueError:
            return text_of(text)
        if self.chance.random() < 0.3:
            return value
        mutation = self.chance.choice((self._edit_list, self._noise))
        return text_of(mutation(value))

    def _mutate_globally(self, body: JSON) -> JSON:
        """Change all ids, names or fields of a kind, or several neighbours of a list."""
        return self.chance.choice(GLOBAL_MUTATIONS)(body, self.chance)

    def _noise(self, body: JSON) -> JSON:
        return set_at(body, self.chance.choice(list(nodes(body))), self.chance.choice(NOISE))


def _translate_bodies(wire: str, chance: random.Random) -> list[Case]:
    """Some cases of other wires on this one: they have turns that its own cases lack."""
    others = [case for case in CASES if case.wire != wire]
    found: list[Case] = []
    for case in chance.sample(others, min(TRANSLATED, len(others))):
        try:
            body = translate(case.body, case.wire, wire, case.kind).body
        except ToolwireError:
            continue
        found.append(Case(case.name, wire, case.kind, body))
    return found


def _translate_streams(wire: str, chance: random.Random) -> list[list[JSON]]:
    """Some streams of other wires on this one."""
    others = [case for name in streaming() if name != wire for case in load_streams(name)]
    return [
        [*restream(case.events, case.wire, wire, framed=False)]
        for case in chance.sample(others, min(TRANSLATED, len(others)))
    ]


def _field(path: JsonPath) -> str | int:
    """The name of the field that holds a node; the field of its list for an element."""
    return next((step for step in reversed(path) if isinstance(step, str)), 0)


def _lists_by_field(body: JSON) -> dict[str | int, list[JsonPath]]:
    """The paths of lists by the name of the field that holds them."""
    found: dict[str | int, list[JsonPath]] = {}
    for path in nodes(body):
        if isinstance(get(body, path), list):
            found.setdefault(_field(path), []).append(path)
    return found


# --- finds ----------------------------------------------------------------------------------------


class Tally:
    """What was drawn, and how many inputs each law checked."""

    def __init__(self) -> None:
        self.inputs = 0
        self.sources: Counter[str] = Counter()
        self.targets: Counter[str] = Counter()
        self.asked: Counter[str] = Counter()

    def count(self, given: Input) -> None:
        """Count an input."""
        self.inputs += 1
        self.sources[given.wire] += 1
        self.targets[given.target] += 1

    def report(self, wires: list[str], kind: str | None) -> str:
        """The counts of the oracles, and the wires and profiles that were not drawn."""
        lines = [f"  {self.asked[name]:>9} {name}" for name in ORACLES]
        sources = [*wires, *(name for name in PROFILES if resolve(name)[0].name in wires)]
        targets = [*streaming(), *STREAM_PROFILES] if kind == "stream" else [*WIRES, *PROFILES]
        for what, drawn, names in (
            ("source", self.sources, sources),
            ("target", self.targets, targets),
        ):
            absent = sorted({name for name in names if not drawn[name]})
            lines.append(f"  {len(drawn):>9} wires and profiles as {what}")
            lines += [f"            not drawn as {what}: {', '.join(absent)}"] if absent else []
        return "\n".join(lines)


def failure(oracle: Oracle, given: Input, tally: Tally | None = None) -> str | None:
    """How an input breaks a law: the type of the exception, the place that raised it, and the rules
    in its text; or that the law takes too long."""
    start = time.process_time()
    try:
        if oracle(given) and tally is not None:
            tally.asked[oracle.__name__] += 1
    except RecursionError:
        return None
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(frame.filename).name}:{frame.name}:{frame.lineno}"
        rules = sorted(set(re.findall(r"TW\d{3} [a-z-]+", str(error))))
        return " ".join([type(error).__name__, "in", where, *rules])
    return "slow" if time.process_time() - start > SLOWEST else None


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


def fuzz(wires: list[str], seconds: float, seed: int, kind: str | None = None) -> int:
    """Ask the oracles for some time. Returns the number of different finds."""
    chance = random.Random(seed)
    mutators = [Mutator(wire, chance, kind) for wire in wires]
    known: set[tuple[str, str, str | None]] = set()
    tally = Tally()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        given, oracles = chance.choice(mutators).draw()
        tally.count(given)
        for name, oracle in oracles.items():
            reason = failure(oracle, given, tally)
            # An exception of the library is one find, whichever law meets it on whichever wire.
            is_assertion = reason is not None and reason.startswith("AssertionError")
            key = (name, given.wire, reason) if is_assertion else ("", "", reason)
            if reason is None or key in known:
                continue
            known.add(key)
            save(name, minimize(ORACLES[name], given, reason), reason)
    print(tally.report(wires, kind))
    print(f"{tally.inputs} inputs, {len(known)} finds, seed {seed}")
    return len(known)


def main() -> int:
    """Parse the command line and run. Returns the exit status."""
    parser = argparse.ArgumentParser(description="Look for inputs that break a law.")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--wire", action="append", choices=WIRES, help="only this wire")
    parser.add_argument("--kind", choices=("stream", "body"), help="only streams, or only bodies")
    options = parser.parse_args()
    seed = random.SystemRandom().randrange(2**32) if options.seed is None else options.seed
    wires = options.wire or WIRES
    if options.kind == "stream":
        wires = [wire for wire in wires if wire in streaming()]
    return 1 if fuzz(wires, options.seconds, seed, options.kind) else 0


if __name__ == "__main__":
    sys.exit(main())
