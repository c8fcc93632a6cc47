"""`make bench`: how long operations take, as a ratio to a floor that is measured in the same run.

`python -m bench` measures all parts that do not take minutes, and writes `docs/reference/bench.md`;
`python -m bench ledger tools` measures these parts and keeps the rest of the page. For translation,
the floor is `orjson.dumps(orjson.loads(body))` on the same bytes: the minimum cost of any program
that reads the body. For streams it is `orjson.loads` of each event's data, already extracted. Each
number is the median of ratios of neighbouring measurements, so that a noisy or throttled machine
does not bias it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter
from tracemalloc import get_traced_memory
from tracemalloc import start as trace
from tracemalloc import stop as untrace

import orjson

sys.path.insert(0, str(Path(__file__).parent))

import chunks
import gateway_pages
import http_client
import tool_pages
from conversations import chat
from marks import Word, most
from progress import report

import toolwire
from toolwire.lint import check, repair

ROUTES = (("openai-chat", "anthropic"), ("anthropic", "openai-chat"), ("openai-chat", "gemini"))
SIZES = (6, 60, 1000)
LIMIT = 3.0
CHUNKS = 2000
STREAM_LIMIT = 4.0
LINTED = 1000
LINT_LIMIT = 1.0
LONGER = 20
GROWTH = (1000, 4000)


def ratio(
    work: Callable[[], object], floor: Callable[[], object], *, rounds: int, times: int
) -> tuple[float, float]:
    """The median of work/floor, measured one after the other in each round, and the best time of
    the work in µs."""
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
        bodies = {
            "openai-chat": first,
            "anthropic": toolwire.translate(first, "openai-chat", "anthropic").json(),
        }
        for source, target in ROUTES:
            body = bodies[source]
            times = max(1, 600 // size)
            one = ratio(
                lambda body=body, source=source, target=target: toolwire.translate(
                    body, source, target
                ).json(),  # type: ignore[misc]
                lambda body=body: orjson.dumps(orjson.loads(body)),  # type: ignore[misc]
                rounds=21 if size > 100 else 41,
                times=times,
            )
            rows.append((f"{source} → {target}", size, len(body), *one))
    return rows


def linting() -> tuple[int, float, float]:
    """Bytes of a clean history, and the time of check and repair beyond reading it, as a ratio and
    in µs."""
    body = json.dumps(chat(LINTED), ensure_ascii=False).encode()
    assert not check(body, "openai-chat"), "this history has to be clean"
    read = partial(toolwire.decode, body, "openai-chat")
    ratios: list[float] = []
    extra: list[float] = []
    for _ in range(41):
        low = clock(lambda: orjson.dumps(orjson.loads(body)), 1)
        more = -clock(read, 1)
        more += clock(lambda: (check(body, "openai-chat"), repair(body, "openai-chat")), 1)
        more -= clock(read, 1)
        ratios.append(more / low)
        extra.append(more)
    return len(body), median(ratios), median(extra) * 1e6


def streaming() -> list[tuple[str, int, float, float, float | None]]:
    """Route, bytes per event, ratio, µs per event, and the limit, for streams that arrive event by
    event."""
    rows = []
    first = chunks.chat(CHUNKS)
    second = list(toolwire.restream(first, "openai-chat", "anthropic"))
    third = chunks.chat(CHUNKS, steady=False)
    for name, stream, source, target, limit in (
        ("openai-chat → anthropic", first, "openai-chat", "anthropic", STREAM_LIMIT),
        ("anthropic → openai-chat", second, "anthropic", "openai-chat", STREAM_LIMIT),
        ("openai-chat → ai-sdk", first, "openai-chat", "ai-sdk", None),
        ("openai-chat → anthropic, no two events alike", third, "openai-chat", "anthropic", None),
    ):
        data = chunks.lines(stream)
        times, micros = ratio(
            lambda stream=stream, source=source, target=target: drain_stream(
                stream, source, target
            ),  # type: ignore[misc]
            lambda data=data: [orjson.loads(line) for line in data],  # type: ignore[misc]
            rounds=41,
            times=1,
        )
        rows.append(
            (name, sum(map(len, stream)) // len(stream), times, micros / len(stream), limit)
        )
    return rows


def drain_stream(stream: list[bytes], source: str, target: str) -> None:
    for _ in toolwire.restream(stream, source, target):
        pass


def memory_ratio(*, interleaved: bool) -> float:
    """The peak memory of a stream relative to that of a much shorter one: 1.0 is constant."""
    peaks = []
    for size in (CHUNKS, CHUNKS * LONGER):
        stream = chunks.chat(size, interleaved=interleaved)
        drain_stream(stream[:100], "openai-chat", "anthropic")
        trace()
        drain_stream(stream, "openai-chat", "anthropic")
        peaks.append(get_traced_memory()[1])
        untrace()
    return peaks[1] / peaks[0]


def growth() -> float:
    """The time per message relative to that in a history a quarter as long: 1.0 is linear."""
    per_message = []
    for size in GROWTH:
        body = json.dumps(chat(size), ensure_ascii=False).encode()
        work = partial(toolwire.translate, body, "openai-chat", "anthropic")
        took = min(clock(lambda work=work: work().json(), 1) for _ in range(9))  # type: ignore[misc]
        per_message.append(took / size)
    return per_message[1] / per_message[0]


def importing() -> tuple[float, float]:
    """Milliseconds of `import json` and of `import toolwire` in fresh processes, the best of
    several."""

    def best(statement: str) -> float:
        took = []
        for _ in range(9):
            start = perf_counter()
            subprocess.run([sys.executable, "-c", statement], check=True)
            took.append(perf_counter() - start)
        return min(took) * 1e3

    return best("import json"), best("import toolwire")


def translation_page() -> list[str]:
    lines = [
        "The floor is `orjson.dumps(orjson.loads(body))`: what any program pays that parses the body and",
        "writes it again. × is the time of `translate` divided by the floor. It includes pairing, losses",
        "and the id map.",
        "",
        "| translate, bytes to bytes | messages | kB | µs | × the floor | limit |",
        "|---|---|---|---|---|---|",
    ]
    for route, size, length, times, micros in translation():
        limit = most(times, LIMIT) if size >= 60 else ""
        lines.append(
            f"| {route} | {size} | {length / 1000:.0f} | {micros:.0f} | {times:.2f} | {limit} |"
        )
    slope = growth()
    lines += [
        "",
        (
            f"In a history of {GROWTH[1]} messages, each message takes {slope:.2f} × as long as in"
            f" one of {GROWTH[0]} (1 is linear)."
        ),
    ]
    return lines


def stream_page() -> list[str]:
    lines = [
        (
            f"Streams of {CHUNKS} events with {chunks.CALLS} interleaved calls, passed as bytes,"
            " event by event. The floor is"
        ),
        "`orjson.loads` of the data of each event; it does not cut the bytes into events.",
        "",
        "| restream, bytes to bytes | bytes per event | µs per event | × the floor | limit |",
        "|---|---|---|---|---|",
    ]
    for route, length, times, micros, limit in streaming():
        lines.append(
            f"| {route} | {length} | {micros:.1f} | {times:.2f} |"
            f" {most(times, limit) if limit else ''} |"
        )
    lines += [
        "",
        (
            f"A stream that is {LONGER} times as long needs {memory_ratio(interleaved=False):.2f} × the"
            " peak memory (1 is constant) if its calls arrive one after the other. If they are"
            f" interleaved, it needs {memory_ratio(interleaved=True):.2f} ×: the target sends one call"
            " at a time, so the arguments of the other calls wait in memory."
        ),
    ]
    return lines


def lint_page() -> list[str]:
    length, times, micros = linting()
    return [
        (
            "| `check` and `repair` of a clean history, without reading it | messages | kB | µs | ×"
            " the floor | limit |"
        ),
        "|---|---|---|---|---|---|",
        (
            f"| openai-chat | {LINTED} | {length / 1000:.0f} | {micros:.0f} | {times:.2f} |"
            f" {most(times, LINT_LIMIT)} |"
        ),
    ]


def import_page() -> list[str]:
    bare, ours = importing()
    word = Word.OK if ours <= 3 * bare + 60 else Word.MISSED
    return [
        f"`import toolwire` takes {ours:.0f} ms, `import json` {bare:.0f} ms. The limit is 3 × `import json`"
        f" plus 60 ms: {word}"
    ]


PARTS: dict[str, tuple[str, Callable[[], list[str]]]] = {
    "translate": ("Translation", translation_page),
    "streams": ("Streams", stream_page),
    "lint": ("Check and repair", lint_page),
    "import": ("Import", import_page),
    "http": ("The HTTP client", http_client.client_page),
    "ledger": ("The ledger", tool_pages.ledger_page),
    "tools": ("Tools over HTTP", tool_pages.tool_page),
    "gateway": ("The gateway", gateway_pages.cpu_page),
    "gateway-latency": ("The gateway's latency", gateway_pages.latency_page),
    "gateway-memory": ("The gateway's memory", gateway_pages.memory_page),
    "gateway-idle": ("Open streams", gateway_pages.idle_page),
    "gateway-workers": ("Several processes", gateway_pages.workers_page),
}
"""By its name on the command line: the heading of a part, and the function that measures it."""
LONG = ("gateway-latency", "gateway-memory", "gateway-idle", "gateway-workers")
"""Parts that take minutes: measured only if the command line names them."""
PAGE = Path(__file__).parents[1] / "docs" / "reference" / "bench.md"
HEAD = """# Speed

For people who want to know what toolwire costs in time and memory, and how that was measured.

Each table compares toolwire with something that was measured in the same run, in turns, on the same machine. Compare the ratios (×):
the times depend on the machine. The last column is the target that the project has set for a row; `MISSED` marks a row that is not
there yet. [Compared with other gateways](bench-peers.md) is a separate page.

`make bench` writes this page; `python -m bench ledger` measures one part again. Parts that take minutes run only by name: `python -m
bench gateway-latency gateway-memory gateway-idle gateway-workers`.
"""


def sections(page: str) -> dict[str, str]:
    """The text under each heading of a page."""
    found = (part.partition("\n") for part in page.split("\n## ")[1:])
    return {heading: text.strip("\n") for heading, _, text in found}


def main(words: list[str]) -> None:
    if unknown := set(words) - set(PARTS):
        sys.exit(f"no such part: {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    known = sections(PAGE.read_text()) if PAGE.exists() else {}
    for word in words or [word for word in PARTS if word not in LONG]:
        heading, measure = PARTS[word]
        report(f"measuring {word}")
        start = perf_counter()
        known[heading] = "\n".join(measure())
        report(f"{word} took {perf_counter() - start:.0f} s")
        print(f"## {heading}\n\n{known[heading]}\n", flush=True)
    if not words:
        print(f"Not measured, because it takes minutes: python -m bench {' '.join(LONG)}")
    order = [heading for heading, _ in PARTS.values() if heading in known]
    PAGE.write_text(HEAD + "".join(f"\n## {heading}\n\n{known[heading]}\n" for heading in order))


if __name__ == "__main__":
    main(sys.argv[1:])
