"""Check that the tests notice wrong code: change one line of the library at a time and run the tests
that should fail.

    python scripts/mutants.py            # all mutants
    python scripts/mutants.py pairing    # those whose file or text contains a word

Every mutant runs in a temporary copy of `src`; the tests run from this checkout. A mutant is killed
if a test fails. Exits 1 if a mutant survives, or if its text does not stand exactly once in its file
or, where code moved, in just one other: mutants are found by text.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "toolwire"
TIMEOUT = 180
"""Seconds of processor time after which a mutant counts as killed: the tests hang."""

IDENTITY = "tests/test_ids.py tests/test_fitting.py tests/test_identity.py tests/test_names.py tests/laws/test_paired.py"
HOME = "tests/test_fitting.py tests/lint/test_repair_id_map.py tests/test_translate.py tests/laws/test_there_and_back.py"
PAIRING = "tests/test_pairing.py tests/test_identity.py tests/laws/test_attacks.py"
LOWERING = "tests/test_lowering.py tests/test_fitting.py"
LOSSES = "tests/test_fitting.py tests/test_lowering.py tests/test_translate.py tests/laws/test_no_silent_loss.py"
STREAMS = (
    "tests/streams/test_part_buffers.py tests/streams/test_irregular.py"
    " tests/streams/test_restream.py tests/streams/test_traps.py"
)
ROUTE = "tests/streams/test_route.py " + STREAMS
HISTORY = "tests/test_history.py"
CODEC = "tests/test_fitting.py tests/test_translate.py tests/test_editing.py tests/test_pipeline.py"
LINT = "tests/lint/test_rules.py tests/lint/test_pairs.py tests/lint/test_duplicate_ids.py tests/lint/test_similar_ids.py"
REPAIR = LINT + " tests/laws/test_attacks.py tests/laws/test_repair.py"


class Mutant(NamedTuple):
    """A line of a file below src/toolwire, what it becomes, and the test files that notice it."""

    file: str
    old: str
    new: str
    tests: str


IDS = "conversation/ids.py"
ID_MAP = "conversation/id_map.py"
ID_RULES = "conversation/id_rules.py"
FITTING = "conversation/fitting.py"
WALK = "conversation/pairing.py"
LOWER = "wires/engine/lowering.py"
CONTEXT = "wires/engine/encode_context.py"
ACCUMULATE = "streaming/accumulate.py"
EVENTS = "streaming/event_translator.py"
TRANSLATOR = "streaming/stream_translator.py"
CACHE = "streaming/delta_cache.py"
QUEUE = "wires/engine/sequential_writer.py"
LOOP = "lint/repair_loop.py"
FACTS = "lint/facts.py"
PAIR_FACTS = "lint/pair_facts.py"
TRANSFORMS = "lint/transforms.py"

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
    Mutant(
        IDS,
        'new_calls[part] = replace(part, id=call_id, origin="minted")',
        'new_calls[part] = replace(part, id=call_id, origin="wire")',
        IDENTITY,
    ),
    Mutant(IDS, "ordinal += 1", "ordinal += not part.id", IDENTITY),
    Mutant(
        IDS,
        "taken = {part.id for message in messages for part in message.parts if isinstance(part, Call)}",
        "taken: set[str] = set()",
        IDENTITY,
    ),
    Mutant(
        IDS,
        'r.name or ""),  # type: ignore[misc]\n                    taken,',
        'r.name or ""),  # type: ignore[misc]\n                    set(),',
        PAIRING,
    ),
    Mutant(
        IDS,
        'origin = result.origin if pair.how == "id" else "minted"',
        "origin = result.origin",
        IDENTITY,
    ),
    Mutant(
        IDS,
        "if (ordered or has_item_ids) and not set(call_ids).issuperset(result_ids):",
        "if False:",
        IDENTITY,
    ),
    Mutant(ID_RULES, "shortest = rule.longest if rule.exact else 1", "shortest = 1", IDENTITY),
    Mutant(
        ID_RULES,
        'return lines.count("\\n") == len(texts) and _lines_pattern(rule).fullmatch(lines) is not None',
        "return _lines_pattern(rule).fullmatch(lines) is not None",
        IDENTITY,
    ),
    Mutant(
        ID_RULES,
        "return all(texts) and (not rule.longest or max(map(len, texts)) <= rule.longest)",
        "return all(texts)",
        IDENTITY,
    ),
    Mutant(
        ID_MAP,
        "ids = self.ids | {new: self.ids.get(old, old) for new, old in repaired.ids.items()}",
        "ids = self.ids | dict(repaired.ids)",
        HOME,
    ),
    Mutant(ID_MAP, "for key_of in (call_key, result_key):", "for key_of in (call_key,):", HOME),
    Mutant(
        ID_MAP,
        "ids = {sent: earlier.ids.get(before, before) for sent, before in self.ids.items()}",
        "ids = dict(self.ids)",
        HOME,
    ),
    Mutant(FITTING, 'return suffix.rjust(rule.longest, "0")', "return suffix", IDENTITY),
    Mutant(
        FITTING,
        "room = (rule.longest or 64) - len(suffix) - len(separator)",
        "room = (rule.longest or 64) - len(separator)",
        IDENTITY,
    ),
    Mutant(
        FITTING,
        'return hashed if rule.fits(hashed) else f"t{hashed[1:]}"',
        "return hashed",
        IDENTITY,
    ),
    Mutant(
        FITTING,
        "if text not in taken and rule.fits(text):",
        "if rule.fits(text):",
        IDENTITY + " tests/laws/test_prefix_stable.py",
    ),
    Mutant(FITTING, "if call.id in self._latest and call in self._repeats:", "if False:", IDENTITY),
    Mutant(
        FITTING,
        "self._sent[result] = self._sent.get(caller, caller.id)",
        "self._sent[result] = self._latest.get(result.call_id, caller.id)",
        IDENTITY,
    ),
    Mutant(
        FITTING,
        'if message.role != "assistant":\n            ids_in_turn = set()',
        'if message.role == "assistant":\n            ids_in_turn = set()',
        IDENTITY,
    ),
    Mutant(
        FITTING,
        "self._run.sort(key=lambda result: order.get(result.call_id, last))",
        "pass",
        IDENTITY + " tests/laws/test_lossless.py",
    ),
    Mutant(
        FITTING,
        "return len(call_of) != len(pairs_with_ids) or any(",
        "return False and any(",
        IDENTITY + " tests/laws/test_there_and_back.py",
    ),
    Mutant(
        FITTING,
        "for name in sorted(distinct):",
        "for name in distinct:",
        IDENTITY + " tests/laws/test_deterministic.py",
    ),
    Mutant(
        FITTING,
        "taken = {restore.get(name, name) for name in distinct if name in restore or rule.fits(name)}",
        "taken = set()",
        IDENTITY,
    ),
    Mutant(
        FITTING,
        "elif old in (self._latest if self._unique else self._ids_in_turn):",
        "elif old in self._ids_in_turn:",
        STREAMS + " " + IDENTITY,
    ),
    Mutant(FITTING, "self._ids_in_turn.clear()", "pass", STREAMS + " " + IDENTITY),
    Mutant(
        FITTING,
        "new = self._latest.get(old) or self._reverse_map.ids.get(old, old)",
        "new = self._reverse_map.ids.get(old, old)",
        STREAMS + " " + IDENTITY,
    ),
    # --- pairing ---
    Mutant(WALK, 'if previous_role != "assistant":', "if True:", PAIRING),
    Mutant(WALK, "if known is None or known[0] != self.turn:", "if known is None:", PAIRING),
    Mutant(
        WALK,
        "self.by_item_id[call.item] = None if call.item in self.by_item_id else call",
        "self.by_item_id[call.item] = call",
        PAIRING,
    ),
    Mutant(WALK, "if calls and (len(calls) == 1 or self.ordered):", "if calls:", PAIRING),
    Mutant(WALK, "if result.call_id in self.shared_ids and len(calls) > 1:", "if False:", PAIRING),
    Mutant(
        WALK, "if call is not None and call not in self.joined:", "if call is not None:", PAIRING
    ),
    Mutant(
        WALK,
        "elif self.ordered:\n            self.waiting.append(result)",
        "else:\n            self.waiting.append(result)",
        PAIRING,
    ),
    Mutant(
        WALK,
        "while len(calls) > len(results) and not is_one_call:",
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
        'self._match(calls_by_name.get(name, []), results, "name")',
        'self._match(calls_by_name.get(name, []), results, "order")',
        PAIRING,
    ),
    Mutant(
        WALK,
        "return bool(result.name) and (not self.ordered or result.name in self.called_names)",
        "return bool(result.name) and not self.ordered",
        PAIRING,
    ),
    Mutant(
        WALK,
        "return bool(result.name) and (not self.ordered or result.name in self.called_names)",
        "return False",
        PAIRING,
    ),
    Mutant(WALK, "if result is not None and len(self._by_number) > 1:", "if False:", PAIRING),
    Mutant(
        WALK,
        'keys = [(result.executor, name), (result.executor, "")]',
        'keys = [("", name), ("", "")]',
        "tests/laws/test_finds.py " + PAIRING,
    ),
    Mutant(
        WALK, "while calls and calls[0] in self.joined:", "while False:", "tests/laws/test_finds.py"
    ),
    Mutant(WALK, 'calls = [call for call in calls if call.origin == "minted"]', "pass", PAIRING),
    Mutant(
        WALK,
        'if call.executor == "provider" and call.origin == "minted":',
        'if call.executor == "provider":',
        PAIRING + " tests/test_server_tools.py",
    ),
    # --- lowering ---
    Mutant(
        LOWER,
        'if kind == "response" and not (native and messages is source.messages):',
        "if False:",
        LOWERING,
    ),
    Mutant(LOWER, "if native and not is_new(part):", "if False:", LOWERING),
    Mutant(
        LOWER,
        "losses.append(Loss(part.path, REASONING_LOST))\n        return ()",
        "losses.append(Loss(part.path, REASONING_LOST))\n        return (part,)",
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
    Mutant(LOWER, "count = max(1, len(read))", "count = 2", LOWERING),
    Mutant(
        LOWER,
        'if role == "system" and not (native or self._leading or capabilities.system_anywhere):',
        'if role == "system" and not (native or capabilities.system_anywhere):',
        LOWERING,
    ),
    Mutant(
        LOWER,
        'if message.role == "assistant":\n                self._flush_media()',
        "if False:\n                self._flush_media()",
        LOWERING,
    ),
    Mutant(
        LOWER,
        "return replace(message, parts=(*results, *following, *others))",
        "return replace(message, parts=(*results, *others, *following))",
        LOWERING,
    ),
    Mutant(
        LOWER,
        'if result.error and result.executor == "client" and not capabilities.error_flag:',
        "if False:",
        LOWERING,
    ),
    Mutant(
        LOWER,
        "flagged = [tool for tool in tools if tool.strict is not None]",
        "flagged = [tool for tool in tools if tool.strict]",
        LOWERING,
    ),
    Mutant(
        LOWER,
        'elif capabilities.choice_names == "one" and len(names) > 1:',
        'elif capabilities.choice_names == "one":',
        LOWERING,
    ),
    Mutant(
        LOWER,
        "dropped = [name for name in names if name not in held and getattr(value, name) is not None]",
        "dropped = [name for name in names if name not in held and getattr(value, name)]",
        LOWERING,
    ),
    Mutant(
        LOWER,
        "losses.append(Loss(path, f\"not held here: {', '.join(reported)}\"))",
        "pass",
        LOWERING,
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
    Mutant(CONTEXT, "self._report_fields((*read.path, name), inside, keys)", "pass", LOSSES),
    Mutant(
        CONTEXT,
        "self.report_loss(read, SIGNATURE_LOST)",
        "pass",
        "tests/test_lowering.py tests/wires/test_anthropic.py tests/wires/test_gemini.py " + LOSSES,
    ),
    Mutant(CONTEXT, "if form not in forms:", "if not forms:", HOME + " " + LOSSES),
    Mutant(
        CONTEXT,
        "if nth:\n                positions[result] = nth",
        "if False:\n                positions[result] = nth",
        HOME + " " + LOSSES,
    ),
    Mutant(
        CONTEXT,
        "bool(self.reverse_map.forms) and ERROR_RESULT in self.forms_of(result)",
        "False",
        HOME + " " + LOSSES,
    ),
    Mutant(
        CONTEXT,
        "if JSON_OUTPUT in forms and isinstance(output, str):",
        "if False:",
        HOME + " " + LOSSES,
    ),
    Mutant(CONTEXT, "return None if hidden else sent", "return sent", IDENTITY),
    Mutant(
        CONTEXT,
        "forms = self._look_up_forms(part, self.reverse_map.ids.get(call_id, call_id))",
        "pass",
        HOME + " " + LOSSES,
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
        STREAMS + " tests/laws/test_streams.py",
    ),
    Mutant(
        ACCUMULATE, "if event.cut and not text and isinstance(part, Call):", "if False:", STREAMS
    ),
    Mutant(
        "wires/families/chat/call_buffer.py",
        "break",
        "continue",
        STREAMS + " tests/laws/test_streams.py",
    ),
    Mutant(QUEUE, "queue.popleft()", "queue.pop()", STREAMS),
    Mutant(
        QUEUE, "if queued.end is None and not queued.complete:", "if not queued.complete:", STREAMS
    ),
    Mutant(
        QUEUE,
        "queue = self._queues.setdefault(queued.choice, deque())",
        "queue = self._queues.setdefault(0, deque())",
        STREAMS,
    ),
    Mutant(
        QUEUE,
        "queued.texts, end = [end.whole] if end.whole else [], replace(end, whole=None)",
        "pass",
        STREAMS,
    ),
    Mutant(
        QUEUE,
        "if not queued.opened and (text or isinstance(queued.part, Call)):",
        "if not queued.opened:",
        STREAMS,
    ),
    Mutant(
        CACHE,
        "if not quoted.isascii() and any(mark in quoted for mark in _LINE_BREAKS):",
        "if False:",
        ROUTE,
    ),
    Mutant(CACHE, "if event.count(quoted) != 1:", "if event.count(quoted) < 1:", ROUTE),
    Mutant(CACHE, ' or after.lstrip()[:1] == b":":', ":", ROUTE),
    Mutant(CACHE, "self._latest = None\n", "pass\n", ROUTE),
    Mutant(
        EVENTS,
        'self._context.forms[call.id] = "raw"',
        "pass",
        STREAMS + " tests/laws/test_streams.py",
    ),
    Mutant(
        EVENTS,
        'return b"" if self.fault is not None else self.target_spec.trailer',
        "return self.target_spec.trailer",
        STREAMS,
    ),
    Mutant(
        EVENTS,
        "self._finishes.pop(event.choice, None)  # a later reason also moves to the end",
        "pass",
        STREAMS,
    ),
    Mutant(EVENTS, "if part is not None and part.mode is Mode.DROP:", "if False:", STREAMS),
    Mutant(EVENTS, "self._unanswered[call.id] = choice", "pass", STREAMS),
    Mutant(
        EVENTS,
        "self._unanswered.pop(result.call_id, None)",
        "pass",
        STREAMS + " tests/streams/test_adk.py tests/streams/test_ai_sdk.py",
    ),
    Mutant(
        EVENTS,
        'if event.text.lstrip()[:1] == "{":',
        "if True:",
        STREAMS + " tests/laws/test_streams.py",
    ),
    Mutant(
        TRANSLATOR,
        "or len(encoded) > 1:\n            cache.clear()",
        "or len(encoded) > 1:\n            pass",
        ROUTE,
    ),
    Mutant(
        TRANSLATOR,
        "if cache.full or (part is not None and part.mode is not Mode.PASS):",
        "if False:",
        ROUTE,
    ),
    # --- histories between two turns ---
    Mutant("history.py", "if turn is None or not turn.last:", "if turn is None:", HISTORY),
    Mutant("history.py", "if len(calls) > 1:", "if False:", HISTORY),
    Mutant("history.py", "if output.call_id != call.id:", "if False:", HISTORY),
    Mutant(
        "history.py",
        "splits.append(depth > 0 or (n > 0 and _continues(facts.messages[n - 1], message)))",
        "splits.append(n > 0 and _continues(facts.messages[n - 1], message))",
        HISTORY,
    ),
    Mutant(
        "history.py",
        "if _count_violations(_facts_of(encoded, facts)) <= violations:",
        "if True:",
        HISTORY,
    ),
    Mutant(
        "history.py",
        "nearest = [n for n in indexes if n <= index][-1:] or indexes[:1]",
        "nearest = indexes[:1]",
        HISTORY,
    ),
    Mutant(
        "history.py",
        "return call.result(output.output, error=output.error)",
        "return call.result(output.output)",
        HISTORY,
    ),
    # --- the codec and the pipeline ---
    Mutant(
        "codec.py",
        "losses = list(dict.fromkeys(context.losses)) if context.losses else []",
        "losses = context.losses",
        CODEC + " " + LOSSES,
    ),
    Mutant(
        "codec.py",
        "if pair.result is not None and _pair_content(pair) not in held",
        "if False",
        CODEC,
    ),
    Mutant(
        "codec.py",
        "return len(call_ids) < 2 or len(set(call_ids)) == len(call_ids)",
        "return True",
        CODEC + " " + IDENTITY,
    ),
    Mutant(
        "translate.py", "encoded.ids = encoded.ids.after(repaired.ids)", "pass", CODEC + " " + HOME
    ),
    Mutant(
        "translate.py",
        "encoded.findings = _errors(repaired)\n    encoded.well_formed",
        "encoded.well_formed",
        CODEC,
    ),
    Mutant(
        "translate.py",
        "repairs = ids is None if repair is None else repair",
        "repairs = True if repair is None else repair",
        CODEC + " " + HOME,
    ),
    # --- repair: the loop ---
    Mutant(
        LOOP,
        "if left and _messages(left) >= _messages(problems):",
        "if False:",
        REPAIR + " tests/laws/test_never_stuck.py",
    ),
    Mutant(
        LOOP,
        "if rule.fix is None or self._fix_count[rule.name] == _MAX_FIXES_OF_A_RULE:",
        "if rule.fix is None:",
        REPAIR,
    ),
    Mutant(
        LOOP, "return [(path, message, None) for path, message, _ in problems]", "return []", REPAIR
    ),
    Mutant(
        LOOP,
        "self._renames.record(conversation)",
        "pass",
        "tests/lint/test_repair_id_map.py " + REPAIR,
    ),
    Mutant(
        LOOP,
        'while any(fix == "safe" or (self._unsafe and fix) for _, _, fix in problems):',
        "while any(fix for _, _, fix in problems):",
        REPAIR,
    ),
    Mutant(
        LOOP,
        "start = start if position is None else position + 1",
        "start = 0",
        "tests/lint/test_repair_id_map.py " + REPAIR,
    ),
    # --- repair: what belongs together ---
    Mutant("lint/id_variants.py", "if len(earlier) != 1:", "if not earlier:", LINT),
    Mutant(
        "lint/id_variants.py",
        "call for call in found if facts.message_index(call) < facts.message_index(result)",
        "call for call in found",
        LINT,
    ),
    Mutant(
        "lint/id_variants.py",
        "return PartMap((result, call) for result, call in call_of.items() if taken[call] == 1)",
        "return call_of",
        LINT,
    ),
    Mutant(
        "lint/id_variants.py",
        "lengths = _longest_ids(facts) if len(facts.orphans) == len(facts.open_calls) == 1 else set()",
        "lengths = _longest_ids(facts)",
        LINT,
    ),
    Mutant("lint/id_variants.py", "if _BETWEEN_DIGITS.search(call_id) is None:", "if True:", LINT),
    Mutant(
        "lint/id_variants.py",
        "return {text for text in rewritten if text != call_id and len(text) >= _MIN_LENGTH}",
        "return {text for text in rewritten if text != call_id}",
        LINT,
    ),
    Mutant(
        "lint/id_is_output.py",
        "count = len(with_output) if len(with_output) == len(results) else 0",
        "count = len(with_output)",
        LINT + " tests/lint/test_ids.py tests/lint/test_id_formats.py",
    ),
    Mutant(
        "lint/id_is_output.py",
        "return min(len(output), len(text)) >= _MIN_PREFIX and (",
        "return (",
        LINT + " tests/lint/test_ids.py tests/lint/test_id_formats.py",
    ),
    Mutant(
        "lint/id_is_output.py",
        'if result.origin != "wire" or is_composite(call_id):',
        'if result.origin != "wire":',
        LINT + " tests/lint/test_ids.py tests/lint/test_id_formats.py",
    ),
    Mutant(
        "lint/duplicate_ids.py",
        "if known is not None and (outcome is None or outcome in known):",
        "if known is not None:",
        LINT,
    ),
    Mutant(
        "lint/duplicate_ids.py",
        "if call.id in earlier_ids and call.id not in turn_ids:",
        "if call.id in earlier_ids:",
        LINT,
    ),
    Mutant(
        "lint/ambiguous_calls.py",
        "if call not in facts.result_of:\n                    ambiguous.add(call)",
        "if False:\n                    ambiguous.add(call)",
        REPAIR,
    ),
    Mutant(
        "lint/orphans.py", "if not results or parts[0] is not results[0]:", "if not results:", LINT
    ),
    Mutant(
        "lint/orphans.py",
        'if result in leading or result in rewritten or result.origin == "minted":',
        "if result in leading:",
        REPAIR,
    ),
    Mutant(
        FACTS,
        "if in_batch_only and self._ends_batch(n):",
        "if False:",
        "tests/laws/test_attacks.py",
    ),
    Mutant(
        FACTS,
        'and (part.origin == "minted" or part.call_id not in call_ids)',
        "and part.call_id not in call_ids",
        REPAIR,
    ),
    Mutant(FACTS, "call_of[result] = calls.popleft()", "call_of[result] = calls[0]", REPAIR),
    Mutant(
        PAIR_FACTS,
        'if call is None or index == n or part.origin == "minted":',
        "if call is None:",
        REPAIR,
    ),
    # --- repair: roles, and ids of results that a fix pairs ---
    Mutant(
        "lint/rules/wrong_role.py",
        'wrong = Result if message.role == "assistant" else Call',
        "wrong = Call",
        LINT,
    ),
    Mutant(
        "lint/rules/wrong_role.py",
        "if len(misplaced) == len(message.parts) or _is_of_assistant(message):",
        "if len(misplaced) == len(message.parts):",
        REPAIR,
    ),
    Mutant(
        "conversation/observations.py",
        "missing |= 0 if is_assistant else Observation.RESULTS_IN_PLACE | Observation.PLAIN",
        "pass",
        CODEC,
    ),
    Mutant(
        "conversation/observations.py",
        "if not pending or is_assistant or pending.pop() != part.call_id:",
        "if not pending or pending.pop() != part.call_id:",
        CODEC + " " + REPAIR,
    ),
    Mutant(LOOP, "_with_ids_of_pairs(fixed.conversation)", "fixed.conversation", CODEC),
    Mutant(
        TRANSLATOR,
        "if reader.over:  # what follows the last event has no meaning, however the bytes are cut",
        "if False:",
        "tests/laws/test_finds.py",
    ),
    # --- repair: edits ---
    Mutant(
        TRANSFORMS,
        "if start < index <= end:\n                index = end + 1",
        "if False:\n                index = end + 1",
        REPAIR,
    ),
    Mutant(
        TRANSFORMS,
        "index = min(index, facts.message_index(facts.pending_calls[0]))",
        "pass",
        REPAIR,
    ),
    Mutant(TRANSFORMS, "return replace(note, parts=(*note.parts, *media))", "return note", REPAIR),
    Mutant(
        "lint/result_placement.py",
        "results.sort(key=lambda result: order.get(result.call_id, len(order)))",
        "pass",
        REPAIR,
    ),
    Mutant(
        "lint/id_edits.py",
        "if call is not None and call in facts.result_of:\n                    call_of[part] = call",
        "if call is not None:\n                    call_of[part] = call",
        REPAIR,
    ),
    Mutant(
        "lint/id_edits.py",
        "if len(group) == 1 and len(calls.get(group_key, ())) == 1",
        "if group_key in calls",
        REPAIR + " tests/lint/test_ids.py",
    ),
    Mutant("lint/rules/dup_result.py", "return (same_turn or real)[-1]", "return real[-1]", REPAIR),
    Mutant(
        "lint/rules/dup_result.py",
        "return result.text.startswith(MARK) or (result.text, result.error) == (",
        "return (result.text, result.error) == (",
        REPAIR,
    ),
    Mutant(
        "lint/uncertain_results.py",
        "if n in numbers and not has_result[n]",
        "if n in numbers",
        REPAIR,
    ),
]


def locate(mutant: Mutant) -> list[Path]:
    """The files in which the text of a mutant stands exactly once: its own, or any if it moved."""
    own = Path(mutant.file)
    if (PACKAGE / own).is_file() and (PACKAGE / own).read_text().count(mutant.old) == 1:
        return [own]
    every = (path.relative_to(PACKAGE) for path in sorted(PACKAGE.rglob("*.py")))
    return [path for path in every if (PACKAGE / path).read_text().count(mutant.old) == 1]


def limit_processor_time() -> None:
    """Let this process run for some seconds of processor time, however busy the machine is."""
    resource.setrlimit(resource.RLIMIT_CPU, (TIMEOUT, TIMEOUT))


def run(mutant: Mutant) -> tuple[Mutant, str, float]:
    """Run the tests of a mutant. Returns what became of it and the seconds it took."""
    start = time.monotonic()
    files = locate(mutant)
    if len(files) != 1:
        return mutant, f"does not apply ({len(files)} files)", 0.0
    text = (PACKAGE / files[0]).read_text()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "src"
        shutil.copytree(ROOT / "src", copy)  # with the bytecode of all that does not change
        (copy / "toolwire" / files[0]).write_text(text.replace(mutant.old, mutant.new))
        environment = {**os.environ, "PYTHONPATH": str(copy)}
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
        outcome = "SURVIVED"
        for file in dict.fromkeys(mutant.tests.split()):  # one by one: the first ones are cheap
            done = subprocess.run(
                [*command, "--hypothesis-seed=1", "--tb=no", file],
                cwd=ROOT,
                env=environment,
                capture_output=True,
                preexec_fn=limit_processor_time,
            )
            if done.returncode < 0:
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
