"""Another process: repairs the bodies on its stdin, one per line, and prints a hash of each result."""

from __future__ import annotations

import json
import sys
from hashlib import blake2b

from toolwire.conversation.json import JSON
from toolwire.lint import repair


def fingerprint(wire: str, target: str, body: JSON) -> str:
    """A hash of the body, changes, findings and id map of a safe and an unsafe repair."""
    said = []
    for unsafe in (False, True):
        made = repair(body, wire, unsafe=unsafe, target=target)
        said += [
            made.json(),
            [str(one) for one in made.changes],
            [str(one) for one in made.findings],
            made.ids.to_dict(),
        ]
    return blake2b(repr(said).encode(), digest_size=8).hexdigest()


if __name__ == "__main__":
    print("\n".join(fingerprint(*json.loads(line)) for line in sys.stdin))
