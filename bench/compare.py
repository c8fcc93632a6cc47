"""Compare two checkouts by the instructions they execute: `python bench/compare.py ../other 60`.

Times vary with the load of a machine; instruction counts do not, so that a few percent show. Each
case runs under callgrind (`valgrind` has to be installed) once per checkout, after a warm-up, with
bodies and streams that the other checkout wrote. No two inputs of a case are the same: a repeated
one would measure caches. Further words select the cases whose names contain one of them. The last
table gives the cost of a history with one fault in this checkout, as a ratio to the same history
without the fault.
"""

from __future__ import annotations

import gc
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import chunks
from conversations import chat

import toolwire

HERE = Path(__file__).resolve()
WIRES = ("openai-chat", "openai-responses", "anthropic", "gemini", "bedrock")
SIZES = {6: (30, 10), 60: (12, 6), 1000: (2, 1)}
"""Messages of a history; how many others warm a case of that size up, and how many are measured."""
FAULTY = 60
"""Messages of a history with one fault."""
EVENTS = 400
STREAMS = (8, 4)
CASES = "--cases"
INPUTS = "--inputs"

Case = tuple[str, list[Callable[[], object]], int]
"""A name, the work on each input, and how many of these warm up."""
FAULTS = ("clean", "missing-result", "double-result", "no-name")


def faults(seed: int) -> dict[str, dict[str, object]]:
    """Chat requests with one fault each, by the name of the fault."""
    found: dict[str, dict[str, object]] = {}
    for name in FAULTS:
        body = chat(FAULTY, seed=seed)
        messages = body["messages"]
        assert isinstance(messages, list)
        results = [n for n, message in enumerate(messages) if message["role"] == "tool"]
        middle = results[len(results) // 2]
        if name == "missing-result":
            del messages[middle]
        elif name == "double-result":
            messages.insert(middle, messages[middle])
        elif name == "no-name":
            caller = next(message for message in messages if "tool_calls" in message)
            caller["tool_calls"][0]["function"]["name"] = ""
        found[name] = body
    return found


def make_inputs(folder: Path) -> None:
    """Write the bodies and streams of all wires."""
    for wire in WIRES:
        for size, (warm_up, times) in SIZES.items():
            for n in range(warm_up + times):
                body = json.dumps(chat(size, seed=n), ensure_ascii=False).encode()
                written = toolwire.translate(body, "openai-chat", wire).json()
                (folder / f"{size}-{wire}-{n}").write_bytes(written)
        for n in range(sum(SIZES[FAULTY])):
            for name, request in faults(n).items():
                written = toolwire.encode(toolwire.decode(request, "openai-chat"), wire).json()  # type: ignore[arg-type]
                (folder / f"{name}-{wire}-{n}").write_bytes(written)
        for n in range(sum(STREAMS)):
            events = chunks.chat(EVENTS, seed=n)
            if wire != "openai-chat":
                events = list(toolwire.restream(events, "openai-chat", wire))
            lines = [event.hex() for event in events]
            (folder / f"stream-{wire}-{n}").write_text("\n".join(lines))


def on_each(
    inputs: Sequence[object], work: Callable[..., object], *names: str
) -> list[Callable[[], object]]:
    """The same work on several inputs."""
    return [partial(work, given, *names) for given in inputs]


def cases(folder: Path) -> Iterator[Case]:
    for source in WIRES:
        for size, (warm_up, times) in SIZES.items():
            files = [folder / f"{size}-{source}-{n}" for n in range(warm_up + times)]
            bodies = [file.read_bytes() for file in files]
            for target in WIRES:
                works = on_each(bodies, translate, source, target)
                yield f"translate-{size} {source} {target}", works, warm_up
            for verb in (toolwire.check, toolwire.repair):
                works = on_each(bodies, verb, source)
                yield f"{verb.__name__}-{size} {source}", works, warm_up
        streams = [folder / f"stream-{source}-{n}" for n in range(sum(STREAMS))]
        events = [[bytes.fromhex(line) for line in file.read_text().split()] for file in streams]
        for target in WIRES:
            works = on_each(events, drain_stream, source, target)
            yield f"stream {source} {target}", works, STREAMS[0]
        yield from fault_cases(folder, source)


def fault_cases(folder: Path, source: str) -> Iterator[Case]:
    warm_up, times = SIZES[FAULTY]
    for name in FAULTS:
        files = [folder / f"{name}-{source}-{n}" for n in range(warm_up + times)]
        bodies = [file.read_bytes() for file in files]
        works = on_each(bodies, toolwire.repair, source)
        yield f"fault:{name} {source}", works, warm_up
        for target in WIRES[1:] if source == "openai-chat" else ():
            works = on_each(bodies, translate, source, target)
            yield f"fault:{name} {source} {target}", works, warm_up


def translate(body: bytes, source: str, target: str) -> bytes:
    return toolwire.translate(body, source, target).json()


def drain_stream(events: list[bytes], source: str, target: str) -> None:
    for _ in toolwire.restream(events, source, target):
        pass


def run_cases(folder: Path, words: list[str]) -> None:
    """Run the cases. `getpgid` marks where a measurement starts and ends: callgrind dumps its
    counters there, and nothing else calls it."""
    for name, works, warm_up in cases(folder):
        if words and not any(word in name for word in words):
            continue
        for work in works[:warm_up]:
            work()
        gc.collect()
        gc.freeze()
        os.getpgid(0)
        for work in works[warm_up:]:
            work()
        os.getpgid(0)
        print(f"{len(works) - warm_up} {name}", flush=True)


def run_in(checkout: Path, *command: str) -> str:
    """The output of this file, run with the package of a checkout."""
    env = {**os.environ, "PYTHONPATH": str(checkout / "src"), "PYTHONHASHSEED": "0"}
    done = subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout


def measure(checkout: Path, folder: Path, words: list[str]) -> dict[str, int]:
    """The instructions of one run of each case."""
    with TemporaryDirectory() as dumps:
        options = ("--tool=callgrind", "--dump-before=getpgid", "--combine-dumps=no", "-q")
        out = f"--callgrind-out-file={dumps}/out"
        script = (sys.executable, str(HERE), CASES, str(folder), *words)
        names = run_in(checkout, "valgrind", *options, out, *script).splitlines()
        totals: dict[int, int] = {}
        for dump in Path(dumps).iterdir():
            text = dump.read_text()
            part, total = (re.search(p, text, re.M) for p in (r"^part: (\d+)", r"^totals: (\d+)"))
            assert part is not None and total is not None
            totals[int(part[1])] = int(total[1])
    found: dict[str, int] = {}
    for n, line in enumerate(names):
        times, name = line.split(" ", 1)
        found[name] = totals[2 * n + 2] // int(times)
    return found


def report(other: dict[str, int], this: dict[str, int]) -> None:
    groups: dict[str, list[float]] = {}
    for name in other:
        ratio = this[name] / other[name]
        groups.setdefault(name.split()[0], []).append(ratio)
        print(f"{name:50} {other[name]:>12,} {this[name]:>12,} {ratio:6.3f}")
    for group, ratios in groups.items():
        print(f"{group:24} median {median(ratios):.3f}, at most {max(ratios):.3f}")
    for name, count in this.items():
        fault, _, route = name.partition(" ")
        clean = this.get(f"fault:clean {route}")
        if fault.startswith("fault:") and fault != "fault:clean" and clean is not None:
            print(f"{route:36} {fault.removeprefix('fault:'):16} {count / clean:.2f} × clean")


def main(words: list[str]) -> None:
    if words[:1] == [CASES]:
        run_cases(Path(words[1]), words[2:])
    elif words[:1] == [INPUTS]:
        make_inputs(Path(words[1]))
    elif not words or not (Path(words[0]) / "src" / "toolwire").is_dir():
        sys.exit(
            "usage: python bench/compare.py CHECKOUT [words of cases]: a checkout has src/toolwire"
        )
    else:
        other, this = Path(words[0]).resolve(), HERE.parents[1]
        with TemporaryDirectory() as folder:
            run_in(other, sys.executable, str(HERE), INPUTS, folder)
            with ThreadPoolExecutor(2) as pool:
                runs = pool.map(lambda path: measure(path, Path(folder), words[1:]), (other, this))
                report(*runs)


if __name__ == "__main__":
    main(sys.argv[1:])
