"""Check that the tests notice wrong code: change one line of the library at a time and run the tests
that should fail.

    python scripts/mutants.py            # all mutants
    python scripts/mutants.py pairing    # those whose file or text contains a word

Every mutant runs on links to `src`, with one file replaced; the tests run from this checkout. A
mutant is killed if a test fails: first the tests of the file that it names are run, then those of
the area. Exits 1 if a mutant survives, or if its text does not occur exactly once in its file or, if
the code has moved, in exactly one other: mutants are found by text. If the tests that mutants name
fail on the unchanged code, no mutant is run: they would fail with any.
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
"""Seconds of CPU time after which a mutant counts as killed, because the tests hang."""
AREAS = {
    "execution": "calls/test_*.py",
    "gateway": "gateway_ops/test_[ku]*.py",
    "lint": "lint/test_*.py",
    "streaming": "streams/test_*.py",
    "wires": "streams/test_*.py",
}
"""The tests that are run if those of the named file notice nothing, by the folder of the mutant; for
other folders, the tests at the top of tests/."""


class Mutant(NamedTuple):
    """A line of a file below src/toolwire, its replacement, and the file below tests that must
    notice it."""

    file: str
    old: str
    new: str
    test: str


MUTANTS = [
    # --- identity: minting, fitting, mapping back ---
    Mutant(
        "conversation/ids.py",
        "return MINTED + digest(seed, ordinal, name)",
        "return MINTED + digest(seed, name)",
        "test_ids.py",
    ),
    Mutant(
        "conversation/ids.py",
        "return MINTED + digest(seed, ordinal, name)",
        "return MINTED + digest(ordinal, name)",
        "test_ids.py",
    ),
    Mutant(
        "conversation/ids.py",
        "return text.startswith(MINTED) and len(text) == len(MINTED) + 16",
        "return text.startswith(MINTED)",
        "test_ids.py",
    ),
    Mutant(
        "conversation/ids.py",
        'new_calls[part] = replace(part, id=call_id, origin="minted")',
        'new_calls[part] = replace(part, id=call_id, origin="wire")',
        "test_fitting.py",
    ),
    Mutant("conversation/ids.py", "ordinal += 1", "ordinal += not part.id", "test_ids.py"),
    Mutant(
        "conversation/ids.py",
        "taken = {part.id for message in messages for part in message.parts if isinstance(part, Call)}",
        "taken: set[str] = set()",
        "test_fitting.py",
    ),
    Mutant(
        "conversation/ids.py",
        'r.name or ""),  # type: ignore[misc]\n                    taken,',
        'r.name or ""),  # type: ignore[misc]\n                    set(),',
        "test_ids.py",
    ),
    Mutant(
        "conversation/ids.py",
        'origin=result.origin if how == "id" else "minted"',
        "origin=result.origin",
        "test_fitting.py",
    ),
    Mutant(
        "conversation/ids.py",
        "if not call_ids.issuperset(result_ids) and (ordered or _have_item_ids(messages)):",
        "if False:",
        "test_identity.py",
    ),
    Mutant(
        "conversation/id_rules.py",
        "shortest = rule.longest if rule.exact else 1",
        "shortest = 1",
        "test_ids.py",
    ),
    Mutant(
        "conversation/id_rules.py",
        'return lines.count("\\n") == len(texts) - 1 and lines_matcher(rule)(lines) is not None',
        "return lines_matcher(rule)(lines) is not None",
        "test_ids.py",
    ),
    Mutant(
        "conversation/id_rules.py",
        "return all(texts) and (not rule.longest or max(map(len, texts)) <= rule.longest)",
        "return all(texts)",
        "test_ids.py",
    ),
    Mutant(
        "conversation/id_map.py",
        "ids = self.ids | {new: self.ids.get(old, old) for new, old in repaired.ids.items()}",
        "ids = self.ids | dict(repaired.ids)",
        "test_fitting.py",
    ),
    Mutant("conversation/id_map.py", "if old in self.results:", "if False:", "test_fitting.py"),
    Mutant(
        "conversation/id_map.py",
        "ids = {sent: earlier.ids.get(before, before) for sent, before in self.ids.items()}",
        "ids = dict(self.ids)",
        "test_fitting.py",
    ),
    Mutant(
        "conversation/fitting.py",
        'return suffix.rjust(rule.longest, "0")',
        "return suffix",
        "test_fitting.py",
    ),
    Mutant(
        "conversation/fitting.py",
        "room = (rule.longest or 64) - len(suffix) - len(separator)",
        "room = (rule.longest or 64) - len(separator)",
        "test_ids.py",
    ),
    Mutant(
        "conversation/fitting.py",
        'return hashed if rule.fits(hashed) else f"t{hashed[1:]}"',
        "return hashed",
        "test_ids.py",
    ),
    Mutant(
        "conversation/fitting.py",
        "if text not in taken and rule.fits(text):",
        "if rule.fits(text):",
        "test_fitting.py",
    ),
    Mutant(
        "conversation/fitting.py",
        "if call.id in self._latest and call in self._repeats:",
        "if False:",
        "test_fitting.py",
    ),
    Mutant(
        "conversation/fitting.py",
        "self._sent[result] = self._sent.get(caller, caller.id)",
        "self._sent[result] = self._latest.get(result.call_id, caller.id)",
        "test_identity.py",
    ),
    Mutant(
        "conversation/fitting.py",
        'if message.role != "assistant":\n            ids_in_turn = set()',
        'if message.role == "assistant":\n            ids_in_turn = set()',
        "test_fitting.py",
    ),
    Mutant(
        "conversation/minted_ids.py",
        "self._run.sort(key=lambda result: order.get(result.call_id, last))",
        "pass",
        "test_identity.py",
    ),
    Mutant(
        "conversation/minted_ids.py",
        "if len(call_of) != len(pairs_with_ids) or any(",
        "if False and any(",
        "test_identity.py",
    ),
    Mutant(
        "conversation/fitting.py",
        "for name in sorted(distinct):",
        "for name in distinct:",
        "test_ids.py",
    ),
    Mutant(
        "conversation/fitting.py",
        "taken = {restore.get(name, name) for name in distinct if name in restore or rule.fits(name)}",
        "taken = set()",
        "test_fitting.py",
    ),
    Mutant(
        "conversation/fitting.py",
        "elif old in (self._latest if self._unique else self._ids_in_turn):",
        "elif old in self._ids_in_turn:",
        "test_fitting.py",
    ),
    Mutant("conversation/fitting.py", "self._ids_in_turn.clear()", "pass", "test_fitting.py"),
    Mutant(
        "conversation/fitting.py",
        "new = self._latest.get(old) or self._reverse_map.ids.get(old, old)",
        "new = self._reverse_map.ids.get(old, old)",
        "test_fitting.py",
    ),
    # --- pairing ---
    Mutant("conversation/pairing.py", "if not self.follows_model:", "if True:", "test_pairing.py"),
    Mutant(
        "conversation/pairing.py",
        "if known is None or known[0] != turn.number:",
        "if known is None:",
        "test_pairing.py",
    ),
    Mutant(
        "conversation/pairing.py",
        "self.by_item_id[call.item] = None if call.item in self.by_item_id else call",
        "self.by_item_id[call.item] = call",
        "test_pairing.py",
    ),
    Mutant(
        "conversation/pairing.py",
        "if calls and (len(calls) == 1 or self.ordered):",
        "if calls:",
        "test_pairing.py",
    ),
    Mutant(
        "conversation/pairing.py",
        "if shared is not None and len(calls) > 1:",
        "if False:",
        "test_pairing.py",
    ),
    Mutant(
        "conversation/pairing.py",
        "if call is not None and call not in self.joined:",
        "if call is not None:",
        "test_pairing.py",
    ),
    Mutant(
        "conversation/pairing.py",
        "elif self.ordered:\n            self.waiting.add(result)",
        "else:\n            self.waiting.add(result)",
        "test_pairing.py",
    ),
    Mutant(
        "conversation/pairing.py",
        "if shared.results and missing > 0 and not calls.is_one_call:",
        "if shared.results and missing > 0:",
        "test_pairing.py",
    ),
    Mutant(
        "conversation/waiting_results.py",
        "if len(calls) != len(results) or not calls or self._stands_before(results, calls):",
        "if not calls or not results:",
        "test_pairing.py",
    ),
    Mutant(
        "conversation/waiting_results.py",
        "self._calls_before[result] <= self._positions[call]",
        "False",
        "test_pairing.py",
    ),
    Mutant(
        "conversation/pairing.py",
        "if call.executor == result.executor:",
        "if True:",
        "test_pairing.py",
    ),
    Mutant(
        "conversation/waiting_results.py",
        "            if not self._ordered:\n                return []",
        "            pass",
        "test_pairing.py",
    ),
    Mutant(
        "conversation/waiting_results.py",
        'self._match(calls_by_name.get(name, []), results, "name")',
        'self._match(calls_by_name.get(name, []), results, "order")',
        "test_pairing.py",
    ),
    Mutant(
        "conversation/waiting_results.py",
        "if not self._ordered or result.name in self._called_names:",
        "if not self._ordered:",
        "test_design_page.py",
    ),
    Mutant(
        "conversation/waiting_results.py",
        "return _NO_TOOL_NAME.match(result.name) is None",
        "return False",
        "test_pairing.py",
    ),
    Mutant(
        "conversation/waiting_results.py",
        "return _NO_TOOL_NAME.match(result.name) is None",
        "return True",
        "test_pairing.py",
    ),
    Mutant(
        "conversation/open_calls.py",
        "if result is not None and len(self._by_number) > 1:",
        "if False:",
        "test_pairing.py",
    ),
    Mutant(
        "conversation/open_calls.py",
        'result.name or "", _family(result), result.executor',
        'result.name or "", "", ""',
        "laws/test_finds.py",
    ),
    Mutant(
        "conversation/pairing.py",
        "while calls and calls[0] in self.joined:",
        "while False:",
        "laws/test_finds.py",
    ),
    Mutant(
        "conversation/waiting_results.py",
        'calls = [call for call in calls if call.origin == "minted"]',
        "pass",
        "test_pairing.py",
    ),
    Mutant("conversation/pairing.py", 'elif call.origin == "minted":', "else:", "test_pairing.py"),
    # --- lowering ---
    Mutant(
        "wires/engine/lowering.py",
        "conversation = _with_answer_only(conversation, capabilities, wire, losses)",
        "pass",
        "test_lowering.py",
    ),
    Mutant(
        "wires/engine/message_lowering.py",
        "if native and not is_new(part):",
        "if False:",
        "test_fitting.py",
    ),
    Mutant(
        "wires/engine/part_lowering.py",
        "losses.append(Loss(part.path, REASONING_LOST))\n        return ()",
        "losses.append(Loss(part.path, REASONING_LOST))\n        return (part,)",
        "test_lowering.py",
    ),
    Mutant(
        "wires/engine/part_lowering.py",
        'losses.append(Loss(part.path, "reasoning from another provider is not accepted"))\n        return ()',
        'losses.append(Loss(part.path, "reasoning from another provider is not accepted"))\n        return (part,)',
        "test_lowering.py",
    ),
    Mutant(
        "wires/engine/part_lowering.py",
        'if kind == "response"\n        else capabilities.reasoning_in_history',
        'if kind == "request"\n        else capabilities.reasoning_in_history',
        "test_lowering.py",
    ),
    Mutant(
        "wires/engine/message_lowering.py",
        "return [*parts[:start], *late, *rest]",
        "return [*parts[:start], *rest, *late]",
        "test_lowering.py",
    ),
    Mutant(
        "wires/engine/lowering.py", "count = max(1, len(read))", "count = 2", "test_lowering.py"
    ),
    Mutant(
        "wires/engine/message_lowering.py",
        'if role == "system" and not (native or self._leading or capabilities.system_anywhere):',
        'if role == "system" and not (native or capabilities.system_anywhere):',
        "test_lowering.py",
    ),
    Mutant(
        "wires/engine/message_lowering.py",
        'if message.role == "assistant":\n                self._flush_media()',
        "if False:\n                self._flush_media()",
        "test_lowering.py",
    ),
    Mutant(
        "wires/engine/message_lowering.py",
        "if any(isinstance(part, Call) for part in others):",
        "if False:",
        "laws/test_finds.py",
    ),
    Mutant(
        "lint/ids/edits.py",
        "uncertain = calls_with_uncertain_result(facts)\n    return [",
        "uncertain = PartSet[Call]()\n    return [",
        "lint/test_duplicate_ids.py",
    ),
    Mutant(
        "lint/ids/duplicates.py",
        "if not pairs_are_certain(facts, group) and any(call in missing for call in group)",
        "if False",
        "lint/test_duplicate_ids.py",
    ),
    Mutant(
        "wires/engine/message_lowering.py",
        "return replace(message, parts=(*results, *self._moved_media.take(), *others))",
        "return replace(message, parts=(*results, *others, *self._moved_media.take()))",
        "test_lowering.py",
    ),
    Mutant(
        "wires/engine/part_lowering.py",
        'if capabilities.error_flag or not result.error or result.executor != "client":',
        "if True:",
        "test_lowering.py",
    ),
    Mutant(
        "wires/engine/settings_lowering.py",
        "flagged = [tool for tool in tools if tool.strict is not None]",
        "flagged = [tool for tool in tools if tool.strict]",
        "test_lowering.py",
    ),
    Mutant(
        "wires/engine/settings_lowering.py",
        'elif capabilities.choice_names == "one" and len(names) > 1:',
        'elif capabilities.choice_names == "one":',
        "test_lowering.py",
    ),
    Mutant(
        "wires/engine/settings_lowering.py",
        "dropped = [name for name in names if name not in held and getattr(value, name) is not None]",
        "dropped = [name for name in names if name not in held and getattr(value, name)]",
        "test_lowering.py",
    ),
    Mutant(
        "wires/engine/settings_lowering.py",
        "losses.append(Loss(path, f\"no field here for {', '.join(reported)}\", severity=severity))",
        "pass",
        "test_lowering.py",
    ),
    Mutant(
        "wires/engine/part_lowering.py",
        'losses.append(Loss(media.path, "a text document is sent as text"))',
        "pass",
        "test_lowering.py",
    ),
    # --- what a writer reports and restores ---
    Mutant(
        "wires/engine/encode_context.py",
        "if key in keys or value is None or value == [] or key in BREAKPOINT_FIELDS:",
        "if key in keys or not value or key in BREAKPOINT_FIELDS:",
        "test_fitting.py",
    ),
    Mutant(
        "wires/engine/encode_context.py",
        "self._report_fields((*read.path, name), inside, keys, {})",
        "pass",
        "test_fitting.py",
    ),
    Mutant(
        "wires/engine/encode_context.py",
        "self.report_loss(read, SIGNATURE_LOST)",
        "pass",
        "test_fitting.py",
    ),
    Mutant(
        "wires/engine/encode_context.py",
        "forms[nth] = forms[nth].merge(form)",
        "forms[nth] = form",
        "test_fitting.py",
    ),
    Mutant(
        "wires/engine/encode_context.py",
        "if nth:\n                positions[result] = nth",
        "if False:\n                positions[result] = nth",
        "test_fitting.py",
    ),
    Mutant(
        "wires/engine/encode_context.py",
        "(self.restores_forms and self.result_form(result).error)",
        "False",
        "test_fitting.py",
    ),
    Mutant(
        "wires/engine/encode_context.py",
        "if form.json_output and isinstance(output, str):",
        "if False:",
        "test_fitting.py",
    ),
    Mutant(
        "wires/engine/encode_context.py",
        "return None if hidden else sent",
        "return sent",
        "test_fitting.py",
    ),
    Mutant(
        "wires/engine/encode_context.py",
        "form = self._look_up_result_form(result, original)",
        "pass",
        "test_fitting.py",
    ),
    # --- streams ---
    Mutant(
        "streaming/accumulate.py",
        "self._open[event.slot] = (event.part, [])",
        "self._open = {event.slot: (event.part, [])}",
        "streams/test_part_buffers.py",
    ),
    Mutant(
        "streaming/accumulate.py",
        "self._open[event.slot][1].append(event.text)",
        "self._open[event.slot][1][:] = [event.text]",
        "streams/test_irregular.py",
    ),
    Mutant(
        "streaming/accumulate.py",
        'text = event.whole if event.whole is not None else "".join(texts)',
        'text = "".join(texts)',
        "streams/test_part_buffers.py",
    ),
    Mutant(
        "streaming/accumulate.py",
        "if event.cut and not text and isinstance(part, Call):",
        "if False:",
        "streams/test_part_buffers.py",
    ),
    Mutant(
        "wires/families/chat/call_buffer.py", "break", "continue", "streams/test_part_buffers.py"
    ),
    Mutant(
        "wires/engine/sequential_writer.py",
        "queue.popleft()",
        "queue.pop()",
        "streams/test_part_buffers.py",
    ),
    Mutant(
        "wires/engine/sequential_writer.py",
        "if queued.end is None and not queued.complete:",
        "if not queued.complete:",
        "streams/test_part_buffers.py",
    ),
    Mutant(
        "wires/engine/sequential_writer.py",
        "queue = self._queues.setdefault(queued.choice, deque())",
        "queue = self._queues.setdefault(0, deque())",
        "streams/test_part_buffers.py",
    ),
    Mutant(
        "wires/engine/sequential_writer.py",
        "queued.texts, end = [end.whole] if end.whole else [], replace(end, whole=None)",
        "pass",
        "streams/test_part_buffers.py",
    ),
    Mutant(
        "wires/engine/sequential_writer.py",
        "if not queued.opened and (text or signed or isinstance(queued.part, Call)):",
        "if not queued.opened:",
        "streams/test_part_buffers.py",
    ),
    Mutant(
        "streaming/delta_cache.py",
        "if not quoted.isascii() and any(mark in quoted for mark in _LINE_BREAKS):",
        "if False:",
        "streams/test_traps.py",
    ),
    Mutant(
        "streaming/delta_cache.py",
        "if event.count(quoted) != 1:",
        "if event.count(quoted) < 1:",
        "streams/test_part_buffers.py",
    ),
    Mutant(
        "streaming/delta_cache.py",
        ' or after.lstrip()[:1] == b":":',
        ":",
        "streams/test_part_buffers.py",
    ),
    Mutant(
        "streaming/delta_cache.py", "self._latest = None\n", "pass\n", "streams/test_irregular.py"
    ),
    Mutant(
        "streaming/object_arguments.py",
        "writer.context.call_forms[call.id] = RAW_ARGUMENTS",
        "pass",
        "streams/test_part_buffers.py",
    ),
    Mutant(
        "streaming/event_translator.py",
        'return b"" if self.fault is not None else self.target_spec.trailer',
        "return self.target_spec.trailer",
        "streams/test_restream.py",
    ),
    Mutant(
        "streaming/event_translator.py",
        "if not event.choice or self._writer.supports_candidates:",
        "if True:",
        "streams/test_part_buffers.py",
    ),
    Mutant(
        "streaming/event_translator.py",
        'if part is not None and part.mode == "drop":',
        "if False:",
        "streams/test_irregular.py",
    ),
    Mutant(
        "streaming/finish_reasons.py",
        "self._with_calls.add(choice)",
        "pass",
        "streams/test_part_buffers.py",
    ),
    Mutant(
        "wires/ai_sdk/stream_writer.py",
        "not call.answered and (call.part.executor",
        "(call.part.executor",
        "streams/test_part_buffers.py",
    ),
    Mutant(
        "streaming/object_arguments.py",
        'if start[0] == "{":',
        "if True:",
        "streams/test_part_buffers.py",
    ),
    Mutant(
        "streaming/stream_translator.py",
        "or len(encoded) > 1:\n            cache.clear()",
        "or len(encoded) > 1:\n            pass",
        "streams/test_irregular.py",
    ),
    Mutant(
        "streaming/stream_translator.py",
        'if cache.full or (part is not None and part.mode != "pass"):',
        "if False:",
        "streams/test_part_buffers.py",
    ),
    # --- histories between two turns ---
    Mutant(
        "history.py", "if turn is None or not turn.last:", "if turn is None:", "test_history.py"
    ),
    Mutant("history.py", "if shared[call_id] > 1:", "if False:", "test_history.py"),
    Mutant("history.py", "if output.call_id != call.id:", "if False:", "test_history.py"),
    Mutant(
        "history.py",
        "splits.append(depth > 0 or (n > 0 and _continues(facts.messages[n - 1], message)))",
        "splits.append(n > 0 and _continues(facts.messages[n - 1], message))",
        "test_history.py",
    ),
    Mutant(
        "history.py",
        "if _count_violations(rest) <= violations and _has_same_pairs(facts, rest):",
        "if True:",
        "test_history.py",
    ),
    Mutant(
        "history.py",
        "if _count_violations(rest) <= violations and _has_same_pairs(facts, rest):",
        "if _count_violations(rest) <= violations:",
        "laws/test_finds.py",
    ),
    Mutant(
        "lint/facts.py",
        "        if self.abandon_pending:\n            return []\n",
        "",
        "laws/test_sent_history.py",
    ),
    Mutant(
        "conversation/observations.py",
        "self.flags &= ~Observation.RESULTS_IN_PLACE",
        "pass",
        "laws/test_sent_history.py",
    ),
    Mutant(
        "gateway/translation/same_wire.py",
        "abandon_pending=True",
        "abandon_pending=False",
        "laws/test_sent_history.py",
    ),
    Mutant(
        "gateway/translation/translator.py",
        "abandon_pending=True",
        "abandon_pending=False",
        "laws/test_sent_history.py",
    ),
    Mutant("history.py", "                nearest[part.id] = n\n", "", "test_history.py"),
    Mutant(
        "history.py",
        "return call.result(output.output, error=output.error)",
        "return call.result(output.output)",
        "test_history.py",
    ),
    # --- the codec and the pipeline ---
    Mutant(
        "codec/encoded.py",
        "losses = list(dict.fromkeys(context.losses)) if context.losses else []",
        "losses = context.losses",
        "test_fitting.py",
    ),
    Mutant(
        "codec/own_wire.py",
        "if pair.result is not None and _pair_content(pair) not in written_pairs",
        "if False",
        "test_fitting.py",
    ),
    Mutant(
        "codec/plain_answer.py",
        "return len(call_ids) < 2 or len(set(call_ids)) == len(call_ids)",
        "return True",
        "test_fitting.py",
    ),
    Mutant("codec/fit.py", "if not self.match_id(call_id):", "if False:", "test_fitting.py"),
    Mutant(
        "codec/own_wire.py",
        "return UNSET if context.losses else patched  # the full route reports them",
        "return patched",
        "test_editing.py",
    ),
    Mutant(
        "translate.py", "encoded.ids = encoded.ids.after(repaired.ids)", "pass", "test_fitting.py"
    ),
    Mutant(
        "translate.py",
        'return [finding for finding in repaired.findings if finding.severity == "error"]',
        "return []",
        "lint/test_repair_loop.py",
    ),
    Mutant(
        "translate.py",
        "repairs = ids is None if repair is None else repair",
        "repairs = True if repair is None else repair",
        "lint/test_repair_loop.py",
    ),
    # --- repair: the loop ---
    Mutant(
        "lint/repair_loop.py",
        "if remaining and _messages(remaining) >= _messages(problems):",
        "if False:",
        "lint/test_repair_loop.py",
    ),
    Mutant(
        "lint/repair_loop.py",
        "if rule.fix is None or self._fix_count[rule.name] == _MAX_FIXES_OF_A_RULE:",
        "if rule.fix is None:",
        "lint/test_repair_loop.py",
    ),
    Mutant(
        "lint/repair_loop.py",
        "problems = [(path, message, None) for path, message, _ in problems]",
        "problems = []",
        "lint/test_repair_loop.py",
    ),
    Mutant(
        "lint/repair_loop.py", "self._renames.record(facts)", "pass", "lint/test_repair_id_map.py"
    ),
    Mutant(
        "lint/repair_loop.py",
        'return any(fix == "safe" or (unsafe and fix) for _, _, fix in problems)',
        "return any(fix for _, _, fix in problems)",
        "lint/test_repair_loop.py",
    ),
    Mutant(
        "lint/repair_loop.py",
        "start = start if position is None else position + 1",
        "start = 0",
        "lint/test_repair_loop.py",
    ),
    # --- repair: what belongs together ---
    Mutant(
        "lint/ids/rewritings.py", "if len(earlier) != 1:", "if not earlier:", "lint/test_facts.py"
    ),
    Mutant(
        "lint/ids/rewritings.py",
        "call for call in found if facts.message_index(call) < facts.message_index(result)",
        "call for call in found",
        "lint/test_facts.py",
    ),
    Mutant(
        "lint/ids/rewritings.py",
        "return PartMap((result, call) for result, call in call_of.items() if taken[call] == 1)",
        "return call_of",
        "lint/test_facts.py",
    ),
    Mutant(
        "lint/ids/rewritings.py",
        "lengths = _longest_ids(facts) if len(facts.orphans) == len(facts.open_calls) == 1 else set()",
        "lengths = _longest_ids(facts)",
        "lint/test_facts.py",
    ),
    Mutant(
        "lint/ids/rewritings.py",
        "if _BETWEEN_DIGITS.search(call_id) is None:",
        "if True:",
        "lint/test_similar_ids.py",
    ),
    Mutant(
        "lint/ids/rewritings.py",
        "return {text for text in forms if text and text != call_id and len(text) >= _MIN_LENGTH}",
        "return {text for text in forms if text and text != call_id}",
        "lint/test_facts.py",
    ),
    Mutant(
        "lint/ids/output_as_id.py",
        "count = len(with_output) if len(with_output) == len(results) else 0",
        "count = len(with_output)",
        "lint/test_facts.py",
    ),
    Mutant(
        "lint/ids/output_as_id.py",
        "return min(len(output), len(text)) >= _MIN_PREFIX and (",
        "return (",
        "lint/test_facts.py",
    ),
    Mutant(
        "lint/ids/output_as_id.py",
        'if result.origin != "wire" or is_composite(call_id):',
        'if result.origin != "wire":',
        "lint/test_facts.py",
    ),
    Mutant(
        "lint/ids/duplicates.py",
        "if known is not None and (outcome is None or outcome in known):",
        "if known is not None:",
        "lint/test_facts.py",
    ),
    Mutant(
        "lint/ids/duplicates.py",
        "if call.id in earlier_ids and call.id not in turn_ids:",
        "if call.id in earlier_ids:",
        "lint/test_facts.py",
    ),
    Mutant(
        "lint/ambiguous_calls.py",
        "if call not in facts.result_of:\n                    ambiguous.add(call)",
        "if False:\n                    ambiguous.add(call)",
        "lint/test_duplicate_ids.py",
    ),
    Mutant(
        "lint/orphans.py",
        "if not results or parts[0] is not results[0]:",
        "if not results:",
        "lint/test_facts.py",
    ),
    Mutant(
        "lint/orphans.py",
        'if result in leading or result in rewritten or result.origin == "minted":',
        "if result in leading:",
        "lint/test_facts.py",
    ),
    Mutant(
        "lint/facts.py",
        "if in_batch_only and self._ends_batch(n):",
        "if False:",
        "lint/test_facts.py",
    ),
    Mutant(
        "lint/facts.py",
        'and (part.origin == "minted" or part.call_id not in call_ids)',
        "and part.call_id not in call_ids",
        "lint/test_facts.py",
    ),
    Mutant(
        "lint/facts.py",
        "call_of[result] = calls.popleft()",
        "call_of[result] = calls[0]",
        "lint/test_facts.py",
    ),
    Mutant(
        "lint/pair_facts.py",
        'if index == n or part.origin == "minted":',
        "if index == n:",
        "lint/test_facts.py",
    ),
    Mutant(
        "lint/pair_facts.py",
        "elif self.conversation.ordered or self._calls_have_item_ids:",
        "elif self.conversation.ordered:",
        "lint/test_facts.py",
    ),
    Mutant(
        "lint/pair_facts.py",
        "elif self.conversation.ordered or self._calls_have_item_ids:",
        "elif self._calls_have_item_ids:",
        "lint/test_facts.py",
    ),
    # --- repair: roles, and ids of results that a fix pairs ---
    Mutant(
        "lint/rules/wrong_role.py",
        "wrong = _MISPLACED[message.role]",
        "wrong = (Call,)",
        "lint/test_pairs.py",
    ),
    Mutant(
        "lint/rules/wrong_role.py",
        "if len(misplaced) == len(message.parts) or _is_of_assistant(message):",
        "if len(misplaced) == len(message.parts):",
        "lint/test_pairs.py",
    ),
    Mutant(
        "execution/redaction.py",
        "self(failure.message),",
        "failure.message,",
        "calls/test_redaction.py",
    ),
    Mutant(
        "gateway/forward.py",
        "text = redact(read_error_message(data)) or",
        "text = read_error_message(data) or",
        "gateway/test_errors.py",
    ),
    Mutant(
        "agent/http_model.py",
        "text = self._redact(read_error_message(data))",
        "text = read_error_message(data)",
        "agent/test_models.py",
    ),
    Mutant(
        "conversation/observations.py",
        "missing |= _BROKEN_BY_MISPLACED_CALLS",
        "pass",
        "test_pipeline.py",
    ),
    Mutant(
        "conversation/observations.py",
        "missing |= Observation.RESULTS_IN_PLACE | Observation.ROLES_FIT",
        "pass",
        "test_pipeline.py",
    ),
    Mutant(
        "lint/repair_loop.py",
        "with_ids_of_pairs(fixed.conversation)",
        "fixed.conversation",
        "test_pipeline.py",
    ),
    Mutant(
        "streaming/stream_translator.py",
        "if reader.over:  # what follows the last event has no meaning, however the bytes are cut",
        "if False:",
        "laws/test_finds.py",
    ),
    # --- repair: edits ---
    Mutant(
        "lint/fixes/transforms.py",
        "if span >= 0 and index <= spans[span][1]:",
        "if False:",
        "lint/test_facts.py",
    ),
    Mutant(
        "lint/fixes/transforms.py",
        "return replace(note, parts=(*note.parts, *media))",
        "return note",
        "lint/test_pairs.py",
    ),
    Mutant(
        "lint/fixes/result_placement.py",
        "owned.sort(key=lambda pair: facts.call_numbers[pair[0]])",
        "pass",
        "lint/test_rules.py",
    ),
    Mutant(
        "lint/ids/edits.py",
        "latest[part.family == APPROVAL, part.id] = part",
        "latest.setdefault((part.family == APPROVAL, part.id), part)",
        "lint/test_facts.py",
    ),
    Mutant(
        "lint/ids/edits.py",
        "if len(group) == 1 and len(calls.get(group_key, ())) == 1",
        "if group_key in calls",
        "lint/test_facts.py",
    ),
    Mutant(
        "lint/rules/dup_result.py",
        "return (same_turn or real)[-1]",
        "return real[-1]",
        "lint/test_repair_id_map.py",
    ),
    Mutant(
        "lint/rules/dup_result.py",
        "return result.text.startswith(MARK) or (result.text, result.error) == (",
        "return (result.text, result.error) == (",
        "lint/test_duplicate_ids.py",
    ),
    Mutant(
        "lint/fixes/uncertain_results.py",
        "if n in numbers and not has_result[n]",
        "if n in numbers",
        "lint/test_facts.py",
    ),
    # --- what the fuzzer found ---
    Mutant(
        "wires/engine/message_lowering.py",
        "if waits and _has_pending_calls(messages):",
        "if False:",
        "test_lowering.py",
    ),
    Mutant(
        "wires/engine/message_lowering.py",
        'if _has_content(lowered) or message.wire == self._wire or self._kind == "response":',
        "if True:",
        "test_lowering.py",
    ),
    Mutant(
        "wires/engine/settings_lowering.py",
        "elif isinstance(choice, Choice) and not defined.issuperset(names):",
        "elif False:",
        "test_lowering.py",
    ),
    Mutant(
        "wires/bedrock/bodies.py",
        "return read_block_by_field(NAME, BLOCKS, part.raw, part.path)",
        "return part",
        "wires/test_bedrock.py",
    ),
    Mutant(
        "lint/rules/id_field_unsupported.py",
        "if open_calls:",
        "if False:",
        "lint/test_id_formats.py",
    ),
    # --- calls and ledgers ---
    Mutant(
        "execution/call_key.py",
        'return f"{len(name)}:{name}:{_database_text(user_id)}"',
        'return f"{name}:{_database_text(user_id)}"',
        "calls/test_call_key.py",
    ),
    Mutant(
        "execution/call_key.py",
        "return int(value) if value.is_integer() else value",
        "return value",
        "calls/test_call_key.py",
    ),
    Mutant(
        "execution/call_key.py",
        'digest.update(canonical(["key", owner, tool.plain, value]))',
        'digest.update(canonical(["key", tool.plain, value]))',
        "calls/test_business_key.py",
    ),
    Mutant(
        "execution/executor.py",
        "if not compare_digest(call.fingerprint, digest):",
        "if False:",
        "calls/test_in_flight.py",
    ),
    Mutant(
        "execution/executor.py",
        "recorded = self._record_reads or not tool.read_only",
        "recorded = True",
        "calls/test_executor.py",
    ),
    Mutant("execution/executor.py", "if self._draining:", "if False:", "calls/test_in_flight.py"),
    Mutant(
        "execution/executor.py",
        "del self._by_key[call.registered_key]",
        "pass",
        "calls/test_run.py",
    ),
    Mutant(
        "execution/call_runner.py",
        "if failure is not None and failure.can_retry:",
        "if failure is not None:",
        "calls/test_outcomes.py",
    ),
    Mutant(
        "execution/call_runner.py",
        "and tool.on_crash in _RERUNNABLE",
        "and True",
        "calls/test_in_flight.py",
    ),
    Mutant(
        "execution/call_runner.py", 'if status == "fenced":', "if False:", "calls/test_crashes.py"
    ),
    Mutant(
        "execution/call_runner.py",
        "if isinstance(error, NoEffect):\n                await self.claims.release(claim)\n                return None",
        "if isinstance(error, NoEffect):\n                return call.result_of_claim(claim)",
        "calls/test_crashes.py",
    ),
    Mutant(
        "execution/ledger/memory.py",
        "attempt = 1 if row is None else row.attempt + 1",
        "attempt = 1",
        "calls/test_memory.py",
    ),
    Mutant(
        "execution/ledger/memory.py",
        "if not compare_digest(row.fp, fp):",
        "if False:",
        "calls/test_memory.py",
    ),
    Mutant(
        "execution/ledger/memory.py",
        'if row.state == "running" and row.token == token:',
        'if row.state == "running":',
        "calls/test_memory.py",
    ),
    Mutant(
        "execution/ledger/memory.py",
        "while self._bytes > self._max_bytes and self._finished:",
        "while False:",
        "calls/test_memory.py",
    ),
    Mutant(
        "execution/ledger/memory.py",
        "same = earlier is not None and earlier.token == claim.token",
        "same = earlier is not None",
        "calls/test_memory.py",
    ),
    Mutant(
        "execution/ledger/memory.py",
        'self._bytes -= len(row.packed)\n        row.packed = b""',
        'row.packed = b""',
        "calls/test_memory.py",
    ),
    Mutant(
        "execution/ledger/sqlite/store.py",
        'if row.fp and row.fp != fp:\n            return Claim("mismatch", key, token)\n        if is_free(row):',
        "if is_free(row):",
        "ledger/test_contract.py",
    ),
    Mutant(
        "execution/ledger/sqlite/store.py",
        "self._write(LOSE, (now, now + self._result_ms, row.id))",
        "pass",
        "ledger/test_sqlite.py",
    ),
    Mutant(
        "execution/ledger/sqlite/store.py",
        "if row is None or not owns(claim, row):",
        "if row is None:",
        "ledger/test_contract.py",
    ),
    Mutant(
        "execution/ledger/sqlite/store.py",
        "if call.holders == 0:",
        "if True:",
        "ledger/test_sqlite.py",
    ),
    Mutant(
        "execution/ledger/sqlite/store.py",
        "self.unwritten = waiting\n",
        "pass\n",
        "ledger/test_sqlite.py",
    ),
    Mutant(
        "execution/ledger/sqlite/store.py",
        "if before is None:\n                del self.claimed[key]",
        "if before is None:\n                pass",
        "ledger/test_sqlite.py",
    ),
    Mutant(
        "execution/ledger/sqlite/owners.py",
        "if not file.try_lock():\n                return True",
        "if not file.try_lock():\n                return False",
        "ledger/test_sqlite_shared.py",
    ),
    Mutant(
        "execution/ledger/sqlite/lock_file.py",
        "for file in _open_files:\n        os.close(file)",
        "pass",
        "ledger/test_sqlite_shared.py",
    ),
    Mutant(
        "execution/ledger/sqlite/owners.py",
        "if file.try_lock() and path.exists():",
        "if file.try_lock():",
        "ledger/test_sqlite_shared.py",
    ),
    Mutant(
        "execution/ledger/sqlite/rows.py",
        "self._write_lock.acquire()\n",
        "pass\n",
        "ledger/test_sqlite_shared.py",
    ),
    Mutant(
        "execution/ledger/sqlite/rows.py",
        "if not elsewhere[owner] and CallKey",
        "if CallKey",
        "ledger/test_sqlite_shared.py",
    ),
    # --- keys, limits and budgets of a gateway ---
    Mutant(
        "gateway/keys.py",
        "if holder.expires_at is not None and self._wall_clock() >= holder.expires_at:",
        "if False:",
        "gateway_ops/test_keys.py",
    ),
    Mutant(
        "gateway/keys.py",
        "model == pattern or fnmatchcase(model, pattern) for pattern in self.config.models",
        "model == pattern for pattern in self.config.models",
        "gateway_ops/test_keys.py",
    ),
    Mutant(
        "gateway/keys.py",
        "usage = KeyUsage(time.monotonic, self._wall_clock) if holder is None else holder.usage",
        "usage = KeyUsage(time.monotonic, self._wall_clock)",
        "gateway_ops/test_keys.py",
    ),
    Mutant(
        "gateway/keys.py",
        "return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()",
        "return moment.replace(tzinfo=UTC).timestamp()",
        "gateway_ops/test_keys.py",
    ),
    Mutant(
        "gateway/usage/limits.py",
        "missing = self._used + amount - max(limit, 1.0)",
        "missing = self._used + amount - limit",
        "gateway_ops/test_usage.py",
    ),
    Mutant(
        "gateway/usage/limits.py",
        "self._used = max(0.0, self._used - (now - self._updated_at) * limit / 60.0)",
        "self._used = self._used - (now - self._updated_at) * limit / 60.0",
        "gateway_ops/test_usage.py",
    ),
    Mutant(
        "gateway/usage/limits.py",
        "count.requests - known.requests, self._limits.requests_per_minute",
        "count.requests, self._limits.requests_per_minute",
        "gateway_ops/test_usage.py",
    ),
    Mutant(
        "gateway/usage/limits.py",
        "running += sum(count.in_progress for count in self._shared.others.values())",
        "pass",
        "gateway_ops/test_usage.py",
    ),
    Mutant(
        "gateway/usage/limits.py",
        'of_day += self._shared.cost_of_day if self._shared.day == f"{day}" else 0.0',
        "of_day += self._shared.cost_of_day",
        "gateway_ops/test_usage.py",
    ),
    Mutant(
        "gateway/usage/limits.py",
        "wait = _seconds_to(now, (month + timedelta(days=31)).replace(day=1))",
        "wait = _seconds_to(now, month + timedelta(days=31))",
        "gateway_ops/test_usage.py",
    ),
    Mutant(
        "gateway/usage/limits.py",
        "self.unstored_cost -= stored_cost",
        "self.unstored_cost = 0.0",
        "gateway_ops/test_usage.py",
    ),
    Mutant(
        "gateway/balance.py",
        "pause = COOLDOWN if seconds is None else min(seconds, MAX_COOLDOWN)",
        "pause = COOLDOWN",
        "gateway_ops/test_usage.py",
    ),
]


def locate(mutant: Mutant) -> list[Path]:
    """The files in which the text of a mutant occurs exactly once: its own, or any if it moved."""
    own = Path(mutant.file)
    if (PACKAGE / own).is_file() and (PACKAGE / own).read_text().count(mutant.old) == 1:
        return [own]
    every = (path.relative_to(PACKAGE) for path in sorted(PACKAGE.rglob("*.py")))
    return [path for path in every if (PACKAGE / path).read_text().count(mutant.old) == 1]


def test_files(mutant: Mutant) -> list[Path]:
    """The test files to run, the narrowest first."""
    tests = ROOT / "tests"
    area = AREAS.get(Path(mutant.file).parts[0], "test_*.py")
    return list(dict.fromkeys([tests / mutant.test, *sorted(tests.glob(area))]))


def limit_processor_time() -> None:
    """Limit the CPU time of this process, which does not depend on the load of the machine."""
    resource.setrlimit(resource.RLIMIT_CPU, (TIMEOUT, TIMEOUT))


def run_tests(file: Path, source: Path = ROOT / "src") -> str:
    """Run the tests of a file on other sources. Returns the failure; empty if all passed."""
    name = file.relative_to(ROOT)
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--tb=no"]
    done = subprocess.run(
        [*command, "--hypothesis-seed=1", str(name)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(source)},
        capture_output=True,
        preexec_fn=limit_processor_time,
    )
    if done.returncode < 0:
        return f"killed by a timeout of {name}"
    if done.returncode in (1, 2):  # a test failed, or the module could not be imported
        return f"killed by {name}"
    return f"could not run {name}: {done.stdout.decode()[-300:]}" if done.returncode else ""


def run(mutant: Mutant) -> tuple[Mutant, str, float]:
    """Run the tests of a mutant. Returns the outcome and the seconds it took."""
    start = time.monotonic()
    files = locate(mutant)
    if len(files) != 1:
        return mutant, f"does not apply ({len(files)} files)", 0.0
    text = (PACKAGE / files[0]).read_text()
    with tempfile.TemporaryDirectory(dir=ROOT, prefix=".mutant-") as folder:
        source = Path(folder) / "src"
        # Links, so that the bytecode of unchanged files is used.
        shutil.copytree(ROOT / "src", source, copy_function=os.link)
        mutated = source / "toolwire" / files[0]
        mutated.unlink()
        mutated.write_text(text.replace(mutant.old, mutant.new))
        outcomes = (run_tests(file, source) for file in test_files(mutant))
        outcome = next(filter(None, outcomes), "SURVIVED")
    return mutant, outcome, time.monotonic() - start


def main(words: list[str]) -> int:
    """Run the mutants that contain one of the words, or all. Returns the exit status."""
    chosen = [m for m in MUTANTS if not words or any(word in f"{m.file} {m.old}" for word in words)]
    failed = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        files = sorted({ROOT / "tests" / mutant.test for mutant in chosen})
        if broken := list(filter(None, pool.map(run_tests, files))):
            failures = [outcome.removeprefix("killed by ") for outcome in broken]
            print("the tests fail without a mutant:", *failures, sep="\n")
            return 1
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
