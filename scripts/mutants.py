"""Check that the tests notice wrong code: change one line of the library at a time and run the tests
that should fail.

    python scripts/mutants.py            # all mutants
    python scripts/mutants.py pairing    # those whose file or text contains a word

Every mutant runs in a temporary copy of `src`; the tests run from this checkout. A mutant is killed
if a test fails. Exits 1 if a mutant survives, or if its text does not stand exactly once in its file:
code moves, so mutants are found by text.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
TIMEOUT = 600
"""Seconds after which a mutant counts as killed: the tests hang."""

IDENTITY = "tests/test_ids.py tests/test_identity.py tests/test_names.py tests/laws/test_paired.py tests/laws/test_there_and_back.py"
PAIRING = "tests/test_pairing.py tests/test_identity.py tests/laws/test_paired.py"
STREAMS = "tests/streams/test_irregular.py tests/streams/test_restream.py tests/laws/test_streams.py tests/streams/test_approvals.py"
LOWERING = "tests/test_lowering.py"
LOSSES = "tests/laws/test_no_silent_loss.py tests/laws/test_there_and_back.py tests/laws/test_lossless.py"
HISTORY = "tests/test_history.py"
CODEC = "tests/test_translate.py tests/laws/test_lossless.py tests/laws/test_there_and_back.py tests/test_pipeline.py"
LINT = "tests/lint/test_rules.py tests/lint/test_pairs.py tests/laws/test_repair.py tests/lint/test_ids.py tests/lint/test_duplicate_ids.py"


class Mutant(NamedTuple):
    """A line of a file below src/toolwire, what it becomes, and the test files that notice it."""

    file: str
    old: str
    new: str
    tests: str


IDS = "conversation/ids.py"
WALK = "conversation/pairing.py"
LOWER = "wires/engine/lowering.py"
CONTEXT = "wires/engine/encode_context.py"
ACCUMULATE = "streaming/accumulate.py"
TRANSLATOR = "streaming/stream_translator.py"
CACHE = "streaming/delta_cache.py"

MUTANTS = [
    # --- identity: minting, fitting, mapping back ---
    Mutant(
        IDS,
        "return MINTED + digest(seed, ordinal, name)",
        "return MINTED + digest(seed, name)",
        IDENTITY,
    ),
    Mutant(
        IDS,
        "return MINTED + digest(seed, ordinal, name)",
        "return MINTED + digest(ordinal, name)",
        IDENTITY,
    ),
    Mutant(
        IDS,
        "return text.startswith(MINTED) and len(text) == len(MINTED) + 16",
        "return text.startswith(MINTED)",
        IDENTITY,
    ),
    Mutant(IDS, "low = rule.longest if rule.exact else 1", "low = 1", IDENTITY),
    Mutant(
        IDS,
        'return joined.count("\\n") == len(texts) and _list_pattern(rule).fullmatch(joined) is not None',
        "return _list_pattern(rule).fullmatch(joined) is not None",
        IDENTITY,
    ),
    Mutant(
        IDS,
        "return all(texts) and (not rule.longest or max(map(len, texts)) <= rule.longest)",
        "return all(texts)",
        IDENTITY,
    ),
    Mutant(
        IDS,
        "ids = home.ids | {new: home.ids.get(old, old) for new, old in self.ids.items()}",
        "ids = home.ids | dict(self.ids)",
        "tests/test_mended.py tests/lint/test_repair_id_map.py " + IDENTITY,
    ),
    Mutant(
        IDS,
        'for mark in ("", "=")',
        'for mark in ("",)',
        "tests/test_mended.py tests/lint/test_repair_id_map.py " + IDENTITY,
    ),
    Mutant(
        IDS,
        'made[id(part)] = replace(part, id=new, origin="minted")',
        'made[id(part)] = replace(part, id=new, origin="wire")',
        IDENTITY,
    ),
    Mutant(IDS, "ordinal += 1", "ordinal += not part.id", IDENTITY),
    Mutant(
        IDS,
        'result, call_id=mint(f"{seed} result", n, result.name or "")',
        'result, call_id=mint(f"{seed} result", 0, result.name or "")',
        IDENTITY,
    ),
    Mutant(
        IDS,
        'or was.origin == "wire"',
        "or False",
        "tests/laws/test_lossless.py tests/wires/test_responses_kinds.py " + IDENTITY,
    ),
    Mutant(
        IDS,
        "if (result.call_id, result.name) == (was.call_id, was.name):",
        "if True:",
        "tests/wires/test_responses_kinds.py tests/laws/test_lossless.py " + IDENTITY,
    ),
    Mutant(
        IDS,
        "name = call.name if was.name else None",
        "name = was.name",
        "tests/wires/test_responses_kinds.py tests/laws/test_lossless.py " + IDENTITY,
    ),
    Mutant(IDS, "number = int(digest(text, salt), 16)", "number = int(digest(text), 16)", IDENTITY),
    Mutant(IDS, 'return tail.rjust(rule.longest, "0")', "return tail", IDENTITY),
    Mutant(
        IDS,
        "room = (rule.longest or 64) - len(tail) - len(joint)",
        "room = (rule.longest or 64) - len(joint)",
        IDENTITY,
    ),
    Mutant(IDS, 'return made if rule.fits(made) else f"t{made[1:]}"', "return made", IDENTITY),
    Mutant(IDS, "taken = ids - bad", "taken = set()", IDENTITY),
    Mutant(
        IDS,
        "elif call.id in latest and (unique or id(call) in twice):",
        "elif call.id in latest and unique:",
        IDENTITY,
    ),
    Mutant(
        IDS,
        "given[id(result)] = given.get(id(call_of), call_of.id)",
        "given[id(result)] = latest.get(result.call_id, call_of.id)",
        IDENTITY,
    ),
    Mutant(
        IDS,
        'if message.role != "assistant":\n            seen = set()',
        'if message.role == "assistant":\n            seen = set()',
        IDENTITY,
    ),
    Mutant(IDS, "for name in sorted(every):", "for name in every:", IDENTITY),
    Mutant(
        IDS,
        "taken = {home.get(name, name) for name in every if name in home or rule.fits(name)}",
        "taken = set()",
        IDENTITY,
    ),
    Mutant(
        IDS,
        "elif before in (self._latest if self._unique else self._seen):",
        "elif before in self._seen:",
        STREAMS + " " + IDENTITY,
    ),
    Mutant(IDS, "self._seen.clear()", "pass", STREAMS + " " + IDENTITY),
    Mutant(
        IDS,
        "new = self._latest.get(result.call_id) or self._home.ids.get(result.call_id, result.call_id)",
        "new = self._home.ids.get(result.call_id, result.call_id)",
        STREAMS + " " + IDENTITY,
    ),
    # --- pairing ---
    Mutant(WALK, 'if before != "assistant":', "if True:", PAIRING),
    Mutant(WALK, "if known is None or known[0] != self.turns:", "if known is None:", PAIRING),
    Mutant(
        WALK,
        "self.by_item[call.item] = None if call.item in self.by_item else call",
        "self.by_item[call.item] = call",
        PAIRING,
    ),
    Mutant(WALK, "if own and (len(own) == 1 or self.ordered):", "if own:", PAIRING),
    Mutant(WALK, "if result.call_id in self.spread and len(known[1]) > 1:", "if False:", PAIRING),
    Mutant(WALK, "item is not None and id(item) not in self.found", "item is not None", PAIRING),
    Mutant(
        WALK,
        "elif self.ordered:\n            self.waiting.append(result)",
        "else:\n            self.waiting.append(result)",
        PAIRING,
    ),
    Mutant(
        WALK,
        "while len(calls) > len(results) and not alike:",
        "while len(calls) > len(results):",
        PAIRING,
    ),
    Mutant(
        WALK, "if len(calls) != len(results) or not calls:", "if not calls or not results:", PAIRING
    ),
    Mutant(
        WALK, "elif self.ordered:\n            for call", "else:\n            for call", PAIRING
    ),
    Mutant(
        WALK,
        'self._match(calls.get(name, []), named, "name")',
        'self._match(calls.get(name, []), named, "order")',
        PAIRING,
    ),
    Mutant(
        WALK,
        "rest = [r for r in waiting if id(r) not in self.taken and (self.ordered or not r.name)]",
        "rest = [r for r in waiting if id(r) not in self.taken]",
        PAIRING,
    ),
    Mutant(WALK, "if name and len(calls) > 1 and calls[0].name != name:", "if False:", PAIRING),
    Mutant(WALK, 'calls = [call for call in calls if call.origin == "minted"]', "pass", PAIRING),
    Mutant(
        WALK,
        'if call.executor == "provider" and call.origin == "minted":',
        'if call.executor == "provider":',
        PAIRING + " tests/test_server_tools.py",
    ),
    # --- lowering ---
    Mutant(LOWER, 'if kind == "response" and not native:', 'if kind == "response":', LOWERING),
    Mutant(
        LOWER,
        "if message.wire == wire:\n            out.append(message)\n            continue",
        "if False:\n            continue",
        LOWERING,
    ),
    Mutant(
        LOWER,
        'losses.append(Loss(part.path, "reasoning that only its own provider can read"))\n        return ()',
        'losses.append(Loss(part.path, "reasoning that only its own provider can read"))\n        return (part,)',
        LOWERING,
    ),
    Mutant(
        LOWER,
        'losses.append(Loss(part.path, "reasoning of another provider is not taken back"))\n        return ()',
        'losses.append(Loss(part.path, "reasoning of another provider is not taken back"))\n        return (part,)',
        LOWERING,
    ),
    Mutant(
        LOWER,
        'if kind == "response"\n        else capabilities.reasoning_in_history',
        'if kind == "request"\n        else capabilities.reasoning_in_history',
        LOWERING,
    ),
    Mutant(
        LOWER,
        "return [*parts[:start], *late, *rest]",
        "return [*parts[:start], *rest, *late]",
        LOWERING,
    ),
    Mutant(LOWER, "for message in kept[1:]", "for message in kept[2:]", LOWERING),
    Mutant(
        LOWER,
        'if role == "system" and not first and not capabilities.system_anywhere:',
        'if role == "system" and not capabilities.system_anywhere:',
        LOWERING,
    ),
    Mutant(LOWER, 'if following and message.role == "assistant":', "if False:", LOWERING),
    Mutant(
        LOWER,
        "lowered = replace(lowered, parts=(*following, *lowered.parts))",
        "lowered = replace(lowered, parts=(*lowered.parts, *following))",
        LOWERING,
    ),
    Mutant(
        LOWER,
        'if result.error and not capabilities.error_flag and result.executor == "client":',
        "if False:",
        LOWERING,
    ),
    Mutant(LOWER, "if tool.strict:", "if not tool.strict:", LOWERING),
    Mutant(LOWER, "if len(names) > 1:", "if len(names) > 0:", LOWERING),
    Mutant(
        LOWER,
        "gone = [name for name in names if name not in held and getattr(value, name) is not None]",
        "gone = [name for name in names if name not in held and getattr(value, name)]",
        LOWERING,
    ),
    Mutant(
        LOWER, "losses.append(Loss(path, f\"not held here: {', '.join(gone)}\"))", "pass", LOWERING
    ),
    Mutant(
        LOWER,
        'losses.append(Loss(media.path, "a text document is sent as text"))',
        "pass",
        LOWERING,
    ),
    # --- what a writer reports and restores ---
    Mutant(
        CONTEXT,
        "if key not in keys and value is not None and value != []:",
        "if key not in keys and value:",
        LOSSES,
    ),
    Mutant(CONTEXT, "self._extra((*read.path, name), inside, known)", "pass", LOSSES),
    Mutant(
        CONTEXT,
        'self.report_loss(read, "a signature that only its own provider can read")',
        "pass",
        "tests/test_translate.py tests/wires/test_anthropic.py tests/wires/test_gemini.py "
        + LOSSES,
    ),
    Mutant(CONTEXT, "if word not in kept:", "if not kept:", LOSSES),
    Mutant(CONTEXT, "if seen[key]:", "if False:", LOSSES),
    Mutant(
        CONTEXT,
        'bool(self.reverse_map.forms) and "error" in self.notes_about(result)',
        "False",
        LOSSES,
    ),
    # --- streams ---
    Mutant(
        ACCUMULATE,
        "self._open[event.slot] = (event.part, [])",
        "self._open = {event.slot: (event.part, [])}",
        STREAMS,
    ),
    Mutant(
        ACCUMULATE,
        "self._open[event.slot][1].append(event.text)",
        "self._open[event.slot][1][:] = [event.text]",
        STREAMS,
    ),
    Mutant(
        ACCUMULATE,
        'text = event.whole if event.whole is not None else "".join(texts)',
        'text = "".join(texts)',
        STREAMS,
    ),
    Mutant(
        ACCUMULATE,
        "if event.cut and not text and isinstance(part, Call):",
        "if False:",
        STREAMS + " tests/laws/test_streams.py tests/streams/test_traps.py",
    ),
    Mutant("wires/engine/buffered_parts.py", "break", "continue", STREAMS),
    Mutant(
        "wires/engine/sequential_writer.py",
        "return self._advance(queue) if len(queue) == 1 else []",
        "return self._write(queued)",
        STREAMS + " tests/streams/test_sequential.py",
    ),
    Mutant(
        "wires/engine/sequential_writer.py",
        "if end is not None and end.whole is not None and not queued.opened:",
        "if False:",
        STREAMS + " tests/streams/test_sequential.py",
    ),
    Mutant(
        CACHE,
        "if not quoted.isascii() and any(one in quoted for one in _BREAKS):",
        "if False:",
        "tests/streams/test_route.py " + STREAMS,
    ),
    Mutant(
        CACHE,
        "if self._count >= _MOST or piece.count(word) != 1 or out.count(word) != 1:",
        "if self._count >= _MOST or out.count(word) != 1:",
        "tests/streams/test_route.py " + STREAMS,
    ),
    Mutant(
        CACHE, 'or tail.lstrip()[:1] == b":"', "or False", "tests/streams/test_route.py " + STREAMS
    ),
    Mutant(CACHE, "self._latest = None\n", "pass\n", "tests/streams/test_route.py " + STREAMS),
    Mutant(TRANSLATOR, 'self._context.notes[call.id] = "raw"', "pass", STREAMS),
    Mutant(
        TRANSLATOR,
        'return b"" if self.fault is not None else self.to.tail',
        "return self.to.tail",
        STREAMS,
    ),
    Mutant(
        TRANSLATOR,
        "hidden = {sent: home.get(before, before) for sent, before in self._context.sent_ids.items()}",
        "hidden = dict(self._context.sent_ids)",
        STREAMS,
    ),
    Mutant(
        TRANSLATOR,
        "if slot in self._muted:\n                    continue",
        "if False:\n                    continue",
        STREAMS,
    ),
    # --- histories between two turns ---
    Mutant("history.py", "if turn is None or not turn.last:", "if turn is None:", HISTORY),
    Mutant("history.py", "if len(calls) > 1:", "if False:", HISTORY),
    Mutant("history.py", "if given.call_id != call.id:", "if False:", HISTORY),
    Mutant(
        "history.py",
        "spans += [(turn.asks[0], turn.asks[-1]) for turn in facts.turns]",
        "pass",
        HISTORY,
    ),
    Mutant("history.py", "if after <= before:", "if True:", HISTORY),
    Mutant(
        "history.py",
        "near = [n for n in there if n <= here][-1:] or there[:1]",
        "near = there[:1]",
        HISTORY,
    ),
    Mutant(
        "history.py",
        "return call.result(given.output, error=given.error)",
        "return call.result(given.output)",
        HISTORY,
    ),
]


def run(mutant: Mutant) -> tuple[Mutant, str, float]:
    """Run the tests of a mutant. Returns what became of it and the seconds it took."""
    start = time.monotonic()
    source = ROOT / "src" / "toolwire" / mutant.file
    text = source.read_text() if source.is_file() else ""
    if text.count(mutant.old) != 1:
        return mutant, f"does not apply ({text.count(mutant.old)} matches)", 0.0
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "src"
        shutil.copytree(ROOT / "src", copy)  # with the bytecode of all that does not change
        (copy / "toolwire" / mutant.file).write_text(text.replace(mutant.old, mutant.new))
        environment = {**os.environ, "PYTHONPATH": str(copy)}
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
        outcome = "SURVIVED"
        for file in dict.fromkeys(mutant.tests.split()):  # one by one: the first ones are cheap
            try:
                done = subprocess.run(
                    [*command, "--hypothesis-seed=1", "--tb=no", file],
                    cwd=ROOT,
                    env=environment,
                    capture_output=True,
                    timeout=TIMEOUT,
                )
            except subprocess.TimeoutExpired:
                outcome = f"killed by a timeout of {file}"
                break
            if done.returncode in (1, 2):  # a test failed, or the module could not be imported
                outcome = f"killed by {file}"
                break
            if done.returncode:
                outcome = f"could not run {file}: {done.stdout.decode()[-300:]}"
                break
    return mutant, outcome, time.monotonic() - start


def main(words: list[str]) -> int:
    """Run the mutants that contain one of the words, or all. Returns the exit status."""
    chosen = [m for m in MUTANTS if not words or any(word in f"{m.file} {m.old}" for word in words)]
    failed = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for mutant, outcome, seconds in pool.map(run, chosen):
            failed += not outcome.startswith("killed")
            line = " ".join(mutant.old.split())
            print(f"{outcome}, {seconds:.0f} s: {mutant.file}: {line[:90]}", flush=True)
            if outcome == "SURVIVED":
                print(f"    became {' '.join(mutant.new.split())[:100]}", flush=True)
    print(f"{len(chosen) - failed} of {len(chosen)} mutants killed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
