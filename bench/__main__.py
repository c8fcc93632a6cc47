"""`make bench`: how long translating takes, as a ratio to the floor measured in the same run.

The floor is `orjson.dumps(orjson.loads(body))` on the same bytes: what any program pays that looks at the body at all. Each
number is the median of ratios of neighbouring measurements, so that a noisy or throttled machine does not tilt it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter

import orjson

sys.path.insert(0, str(Path(__file__).parent))

from conversations import chat

import toolwire

ROUTES = (("openai-chat", "anthropic"), ("anthropic", "openai-chat"), ("openai-chat", "gemini"))
SIZES = (6, 60, 1000)
LIMIT = 3.0


def ratio(work: Callable[[], object], floor: Callable[[], object], *, rounds: int, times: int) -> tuple[float, float]:
    """Median of work/floor, both measured side by side in each round; and the best time of the work in µs."""
    ratios: list[float] = []
    best = float("inf")
    for _ in range(rounds):
        low = clock(floor, times)
        took = clock(work, times)
        low = (low + clock(floor, times)) / 2
        ratios.append(took / low)
        best = min(best, took)
    return median(ratios), best / times * 1e6


def clock(work: Callable[[], object], times: int) -> float:
    start = perf_counter()
    for _ in range(times):
        work()
    return perf_counter() - start


def translation() -> list[tuple[str, int, int, float, float]]:
    """Route, messages, bytes, ratio and µs for each route and size."""
    rows = []
    for size in SIZES:
        first = json.dumps(chat(size), ensure_ascii=False).encode()
        bodies = {"openai-chat": first, "anthropic": toolwire.translate(first, "openai-chat", "anthropic").json()}
        for source, target in ROUTES:
            body = bodies[source]
            times = max(1, 600 // size)
            one = ratio(
                lambda body=body, source=source, target=target: toolwire.translate(body, source, target).json(),  # type: ignore[misc]
                lambda body=body: orjson.dumps(orjson.loads(body)),  # type: ignore[misc]
                rounds=21 if size > 100 else 41, times=times,
            )  # fmt: skip
            rows.append((f"{source} → {target}", size, len(body), *one))
    return rows


def importing() -> tuple[float, float]:
    """Milliseconds of `import json` and of `import toolwire` in fresh processes, the best of several."""

    def best(statement: str) -> float:
        took = []
        for _ in range(9):
            start = perf_counter()
            subprocess.run([sys.executable, "-c", statement], check=True)
            took.append(perf_counter() - start)
        return min(took) * 1e3

    return best("import json"), best("import toolwire")


def main() -> None:
    print("translate, bytes to bytes, losses and ids on; × is the floor (orjson loads + dumps of the same bytes)\n")
    print(f"{'route':28} {'messages':>8} {'kB':>6} {'µs':>8} {'×':>6}  limit")
    for route, size, length, times, micros in translation():
        limit = f"{LIMIT:.1f} {'ok' if times <= LIMIT else 'MISSED'}" if size >= 60 else "-"
        print(f"{route:28} {size:8} {length / 1000:6.0f} {micros:8.0f} {times:6.2f}  {limit}")
    bare, ours = importing()
    limit_ms = 3 * bare + 60
    print(
        f"\nimport toolwire {ours:.0f} ms, import json {bare:.0f} ms, limit {limit_ms:.0f} ms {'ok' if ours <= limit_ms else 'MISSED'}"
    )


if __name__ == "__main__":
    main()
