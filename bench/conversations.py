"""Conversations for the benchmarks: an agent that works in a repository, generated from a seed, the
same in every run.

They mix words, code, quotes, line breaks and accents much like real transcripts; tool results are
JSON or logs. Sizes are those of real agents: about 0.8 kB per message in short histories, 2 kB in
long ones.
"""

from __future__ import annotations

import json
from random import Random

WORDS = (
    "the a of to and in is it that for was on are with as be at one have this from or had by but"
    " some what there we can out other were all your when up use word how said an each she which do"
    " their time if will way about many then them would function module result value error test"
    " naïve café façade — “quoted” schema wire message retry timeout cursor"
).split()


def prose(rng: Random, size: int) -> str:
    """Sentences with line breaks, some in code fences."""
    out: list[str] = []
    length = 0
    while length < size:
        words = [rng.choice(WORDS) for _ in range(rng.randint(6, 18))]
        line = " ".join(words).capitalize() + rng.choice(
            (". ", ".\n", ":\n\n```python\nif x == \"a\":\n    return {'k': 1}\n```\n")
        )
        out.append(line)
        length += len(line)
    return "".join(out)[:size]


def outcome(rng: Random, size: int) -> str:
    """The output of a tool: a log, or JSON that contains a log."""
    text = "\n".join(
        f'{i:04d} | {rng.choice(WORDS)}: "{rng.choice(WORDS)}" -> {rng.random():.4f}'
        for i in range(size // 40)
    )
    return (
        text
        if rng.random() < 0.5
        else json.dumps({"ok": True, "lines": text.splitlines(), "took": round(rng.random(), 3)})
    )


def chat(messages: int, *, seed: int = 7) -> dict[str, object]:
    """A request on the chat wire with `messages` messages: two or three parallel calls, then their
    results."""
    rng = Random(seed)
    size = 800 if messages <= 100 else 2000
    out: list[dict[str, object]] = [{"role": "system", "content": prose(rng, 3 * size)}]
    while len(out) < messages:
        out.append({"role": "user", "content": prose(rng, size)})
        calls = [call(rng) for _ in range(rng.choice((1, 2, 3)))]
        out.append({"role": "assistant", "content": prose(rng, size // 3), "tool_calls": calls})
        out += [
            {"role": "tool", "tool_call_id": call["id"], "content": outcome(rng, 2 * size)}
            for call in calls
        ]
        out.append({"role": "assistant", "content": prose(rng, size // 2)})
    history = out[:messages]
    return {
        "model": "some-model",
        "messages": history,
        "temperature": 0.2,
        "max_tokens": 4096,
        "tools": [tool(name) for name in TOOLS],
    }


def call(rng: Random) -> dict[str, object]:
    """A call of one of the tools."""
    arguments = json.dumps({"path": f"src/{rng.choice(WORDS)}.py", "limit": rng.randint(1, 400)})
    function = {"name": rng.choice(TOOLS), "arguments": arguments}
    return {"id": f"call_{rng.getrandbits(96):024x}", "type": "function", "function": function}


TOOLS = ("read_file", "write_file", "run_tests", "search", "list_folder", "git_diff")


def tool(name: str) -> dict[str, object]:
    """A tool definition."""
    properties = {
        "path": {"type": "string", "description": "Where, relative to the top of the repository."},
        "limit": {"type": "integer", "minimum": 1, "description": "How many lines at most."},
        "pattern": {
            "type": "string",
            "description": 'A regular expression; "(?i)" makes it ignore case.',
        },
    }
    schema = {
        "type": "object",
        "properties": properties,
        "required": ["path"],
        "additionalProperties": False,
    }
    return {
        "type": "function",
        "function": {
            "name": name,
            "description": f"Use {name} when the task needs it.",
            "parameters": schema,
        },
    }
