"""Law 11, Deterministic: the same input gives the same bytes in another process with another hash
seed."""

from __future__ import annotations

import subprocess
import sys
from hashlib import blake2b

from cases import CASES, WIRES, child_environment

from toolwire import InputError, decode, encode


def fingerprints() -> list[str]:
    """One line for each case and target: a hash of the bytes, the losses and the id map."""
    lines: list[str] = []
    for case in CASES:
        conversation = decode(case.body, case.wire, case.kind)
        for target in WIRES:
            try:
                made = encode(conversation, target, case.kind)
                text = repr((made.json(), [str(loss) for loss in made.losses], made.ids.to_dict()))
            except InputError as error:
                text = str(error)
            lines.append(f"{case} {target} {blake2b(text.encode(), digest_size=8).hexdigest()}")
    return lines


def test_another_process_with_another_hash_seed_gives_the_same_bytes() -> None:
    """The two seeds order small sets differently."""
    runs = [
        subprocess.Popen(
            [sys.executable, __file__],
            env=child_environment(seed),
            stdout=subprocess.PIPE,
            text=True,
        )
        for seed in ("1", "3")
    ]
    one, other = (run.communicate(timeout=600)[0].splitlines() for run in runs)
    assert len(one) > len(CASES) and one == other


if __name__ == "__main__":
    print("\n".join(fingerprints()))
