"""Why a text is not JSON, in words for the person who passed it."""

from __future__ import annotations

import json
import sys

TOO_MANY_DIGITS = f"an integer has more than {sys.get_int_max_str_digits()} digits"
_GZIP = b"\x1f\x8b"
"""The first bytes of each gzip file."""


def describe_parse_error(body: bytes, error: Exception) -> str:
    """Return why a body could not be parsed, with the position if it is known."""
    if not body.strip():
        return "broken JSON: the input is empty"
    if body.startswith(_GZIP):
        return "broken JSON: the input is compressed with gzip; decompress it first"
    try:
        json.loads(body)
    except UnicodeDecodeError as why:
        return f"broken JSON: byte {why.start} is not UTF-8"
    except json.JSONDecodeError as why:
        if why.pos >= len(why.doc.rstrip()):
            return f"broken JSON: the input ends too early, at line {why.lineno}"
        problem = why.msg.lower().removesuffix(" at").removesuffix(" starting")
        return f"broken JSON: {problem} at line {why.lineno}, column {why.colno}"
    except RecursionError:
        return "broken JSON: nested too deeply"
    except ValueError:
        return TOO_MANY_DIGITS
    # Only the standard library accepts the following.
    encoding = json.detect_encoding(body)
    if not encoding.startswith("utf-8"):
        return f"broken JSON: the input is {encoding.upper()}; save it as UTF-8"
    if b"NaN" in body or b"Infinity" in body:
        return "broken JSON: NaN and Infinity are not JSON numbers"
    return f"broken JSON: {str(error).lower()}"
