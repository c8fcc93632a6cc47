"""The sections of `toolwire --help`, and an example of every command, which its own help shows."""

from __future__ import annotations

SECTIONS: dict[str, dict[str, str]] = {
    "Sessions": {
        "check": "toolwire check history.json",
        "repair": "toolwire repair history.json --in-place",
        "explain": 'toolwire explain "No tool output found for function call call_1"',
        "cut": "toolwire cut history.json --messages 20",
        "rules": "toolwire rules missing-result",
    },
    "Translate": {
        "translate": "toolwire translate history.json --to anthropic",
        "stream": "toolwire stream answer.sse --from anthropic --to openai-chat",
        "wires": "toolwire wires --types",
    },
    "Serve": {
        "up": "toolwire up tools.py",
        "gateway": "toolwire gateway gateway.toml",
        "keys": "toolwire keys add alice keys.toml",
        "usage": "toolwire usage sqlite:///usage.db --by key",
        "serve": "toolwire serve tools.py",
        "tools": "toolwire tools tools.py",
        "call": "toolwire call Calculator.Add a=10 b=5",
        "run": 'toolwire run --model demo: --tools tools.py "add 10 and 5"',
    },
    "Debug": {
        "probe": "toolwire probe http://127.0.0.1:8080",
        "mock": "toolwire mock --wire anthropic",
        "tour": "toolwire tour",
        "help": "toolwire help repair",
    },
}
EXAMPLES = {name: text for examples in SECTIONS.values() for name, text in examples.items()}
COMPLETION = (
    'Completion in bash: eval "$(_TOOLWIRE_COMPLETE=bash_source toolwire)"; other shells:'
    " zsh_source, fish_source."
)


def epilog(example: str) -> str:
    """The end of the help of a command."""
    return f"\b\nExample:\n  $ {example}"
