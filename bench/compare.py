"""Compare two checkouts by the instructions they execute: `python bench/compare.py ../other 60`.

Times vary with the load of a machine; instruction counts do not, so that a few percent show. Each
case runs under callgrind (`valgrind` has to be installed) once per checkout, after a warm-up, with
bodies and streams that the other checkout wrote. Further words select the cases whose names contain
one of them. The last table gives the cost of a history with one fault in this checkout, as a ratio
to the same history without the fault.
"""

from __future__ import annotations

import gc
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
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
SIZES = {6: 5, 60: 2, 1000: 1}
"""Messages of a history, and how often a case of that size runs."""
EVENTS = 400
CASES = "--cases"
INPUTS = "--inputs"

Case = tuple[str, Callable[[], object], int]
"""A name, the work, and how often it is done."""


def faults() -> dict[str, dict[str, object]]:
    """Chat requests with one fault each, by the name of the fault."""
    found: dict[str, dict[str, object]] = {}
    for name in ("clean", "missing-result", "double-result", "no-name"):
        body = chat(60)
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
    stream = chunks.chat(EVENTS)
    for wire in WIRES:
        for size in SIZES:
            body = json.dumps(chat(size), ensure_ascii=False).encode()
            written = toolwire.translate(body, "openai-chat", wire).json()
            (folder / f"{size}-{wire}").write_bytes(written)
        for name, request in faults().items():
            written = toolwire.encode(toolwire.decode(request, "openai-chat"), wire).json()  # type: ignore[arg-type]
            (folder / f"{name}-{wire}").write_bytes(written)
        events = stream if wire == "openai-chat" else toolwire.restream(stream, "openai-chat", wire)
        lines = [event.hex() for event in events]
        (folder / f"stream-{wire}").write_text("\n".join(lines))


def cases(folder: Path) -> Iterator[Case]:
    for source in WIRES:
        for size, times in SIZES.items():
            body = (folder / f"{size}-{source}").read_bytes()
            for target in WIRES:
                work = partial(translate, body, source, target)
                yield f"translate-{size} {source} {target}", work, times
            yield f"check-{size} {source}", partial(toolwire.check, body, source), times
            yield f"repair-{size} {source}", partial(toolwire.repair, body, source), times
        events = [bytes.fromhex(line) for line in (folder / f"stream-{source}").read_text().split()]
        for target in WIRES:
            yield f"stream {source} {target}", partial(drain_stream, events, source, target), 1
        for name in faults():
            body = (folder / f"{name}-{source}").read_bytes()
            yield f"fault:{name} {source}", partial(toolwire.repair, body, source), 2
            for target in WIRES[1:] if source == "openai-chat" else ():
                work = partial(translate, body, source, target)
                yield f"fault:{name} {source} {target}", work, 2


def translate(body: bytes, source: str, target: str) -> bytes:
    return toolwire.translate(body, source, target).json()


def drain_stream(events: list[bytes], source: str, target: str) -> None:
    for _ in toolwire.restream(events, source, target):
        pass


def run_cases(folder: Path, words: list[str]) -> None:
    """Run the cases. `getpgid` marks where a measurement starts and ends: callgrind dumps its
    counters there, and nothing else calls it."""
    for name, work, times in cases(folder):
        if words and not any(word in name for word in words):
            continue
        for _ in range(max(3, 3 * times)):
            work()
        gc.collect()
        gc.freeze()
        os.getpgid(0)
        for _ in range(times):
            work()
        os.getpgid(0)
        print(f"{times} {name}", flush=True)


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
