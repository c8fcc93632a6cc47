"""The `response` of a function: which part of it is the output, and how an output is put into
it."""

from __future__ import annotations

from toolwire.conversation.json import JSON, Object


def _is_envelope(response: Object) -> bool:
    return len(response) == 1 and ("output" in response or "error" in response)


def is_wrapper(answer: Object) -> bool:
    """True if a client put the output of a function under `content`, beside the function's name."""
    response = answer.get("response")
    if not isinstance(response, dict) or response.keys() != {"name", "content"}:
        return False
    return response["name"] == answer.get("name")


def read_response(answer: Object) -> tuple[JSON, bool]:
    """The output of a function, and True if it is an error.

    The output is the value under `output`, `error` or, in a wrapper, `content`; otherwise the whole
    response.
    """
    response = answer.get("response")
    output: JSON = response
    error = False
    if isinstance(response, dict):
        if _is_envelope(response):
            error = "error" in response
            output = response["error" if error else "output"]
        elif is_wrapper(answer):
            output = response["content"]
    return "" if output is None else output, error


def write_response(output: JSON, *, error: bool, wrapper: str) -> JSON:
    """The response for an output. An error is put under `error`, an output whose client wrapped it
    into a wrapper with the name `wrapper`; an object is the response itself unless it looks like an
    envelope; anything else is put under `output`."""
    if wrapper and not error:
        return {"name": wrapper, "content": output}
    if isinstance(output, dict) and not error and not _is_envelope(output):
        return output
    return {"error" if error else "output": output}
