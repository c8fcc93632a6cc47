"""The page about errors of providers, from the table of `explain`."""

from __future__ import annotations

from page_markdown import GENERATED, cell, table

from toolwire.lint.provider_errors import ERROR_CLASSES, ERROR_KINDS, ErrorKind


def refusals_page() -> str:
    """The page: how to use `explain`, and the errors that it knows, by their text."""
    parts = [GENERATED, REFUSALS]
    for title, patterns in ERROR_CLASSES.items():
        parts.append(f"## {title}")
        for pattern in patterns:
            links = ", ".join(f"[{name}](../reference/rules/{name}.md)" for name in pattern.rules)
            meaning = f"{pattern.meaning[:1].upper()}{pattern.meaning[1:]}"
            texts = "\n\n".join(f"### {heading(text)}" for text in pattern.examples)
            parts.append(f"{texts}\n\n{meaning}. Rules: {links}.")
    tools = [error for error in ERROR_KINDS if error.about_tools]
    others = [error for error in ERROR_KINDS if not error.about_tools]
    parts += ["## Errors about tools that no rule explains", tools_table(tools)]
    kinds = ((f"`{error.kind}`", cell(error.meaning)) for error in others)
    parts += ["## Errors that are not about tool calls", table(("kind", "what it is"), kinds)]
    return "\n\n".join(parts).rstrip() + "\n"


def tools_table(kinds: list[ErrorKind]) -> str:
    """A table of the meaning of each kind of error, the remedy, and the command to paste."""
    rows = (
        (f"`{error.kind}`", cell(error.meaning), cell(error.advice), f"`{error.command}`")
        for error in kinds
    )
    return table(("kind", "what it is", "what to do", "command"), rows).rstrip()


def heading(text: str) -> str:
    """An error text as a heading: code, because the text has characters of Markdown."""
    return f"`` {text} ``" if "`" in text else f"`{text}`"


REFUSALS = """\
# A provider refused a request

For people who got an error from a provider, a coding agent or a gateway. Each heading is such an error: search this page for a few
words of your error.

Or pass the error to `explain`, as you see it: cut off, with line breaks, as JSON inside JSON, or with a traceback around it. `explain`
names the rule that the history breaks. If you also pass the body or the session file, it shows the position, lists everything else
that `check` finds, and ends with the command that repairs the file:

```json title="request.json"
{
  "model": "claude-opus-5",
  "max_tokens": 1000,
  "messages": [
    {"role": "user", "content": "What time is it?"},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "clock", "input": {}}]},
    {"role": "user", "content": "Hello?"}
  ]
}
```

```console
$ toolwire explain "messages.1: tool_use ids were found without tool_result blocks immediately after: toolu_1" --body request.json
TW021 missing-result at /messages/1/content/0
…
```

In Python, `explain(error_text, body=None, wire=None)` returns a list of `Explanation`, the most likely first. `likely` is False for
additional findings of `check`, and `command` is the command to paste. For an error that no rule explains, the list has one
explanation, with the code `TW000` and the kind of the error as its name: [about tools](#errors-about-tools-that-no-rule-explains), such
as a model that cannot call them, with what to do; or [about something else](#errors-that-are-not-about-tool-calls), with `likely` False.

Gateways and agents repeat the errors of providers, with other ids, indexes and wrapping, so this page is sorted by what is wrong, not
by provider. `tests/lint/error_texts.jsonl` has more than two thousand errors, from public issues and from the source code of servers;
`explain` is tested with all of them."""
