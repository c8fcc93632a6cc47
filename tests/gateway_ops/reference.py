"""The reference of the configuration, from the code: every key with its default and docstring."""

from __future__ import annotations

import ast
import inspect

from toolwire.gateway import keys
from toolwire.gateway.config import schema
from toolwire.gateway.usage import prices

TABLES = (
    (schema, "ServerConfig", "[server]"),
    (schema, "ModelConfig", "[models.NAME]"),
    (schema, "ToolsConfig", "[tools]"),
    (schema, "ToolServerConfig", '[tools.servers."SOURCE"]'),
    (schema, "KeysConfig", "[keys]"),
    (schema, "UsageConfig", "[usage]"),
    (schema, "ResponsesConfig", "[responses]"),
    (prices, "Price", "[prices.MODEL]"),
    (keys, "KeyConfig", "A file of keys: [keys.NAME]"),
)
_NAMES = {
    "TIMEOUTS.connect": "10.0",
    "TIMEOUTS.idle": "300.0",
    "field(default_factory=dict)": "{}",
    "None": "",
    "()": "[]",
}


def reference() -> str:
    """The tables as Markdown."""
    out: list[str] = []
    for module, name, title in TABLES:
        found = next(
            node
            for node in ast.parse(inspect.getsource(module)).body
            if isinstance(node, ast.ClassDef) and node.name == name
        )
        out += [f"## `{title}`", "", "| key | default | |", "|---|---|---|"]
        for at, node in enumerate(found.body):
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                docstring = found.body[at + 1] if at + 1 < len(found.body) else None
                text = (
                    docstring.value.value
                    if isinstance(docstring, ast.Expr) and isinstance(docstring.value, ast.Constant)
                    else ""
                )
                out.append(
                    f"| `{node.target.id}` | {_default(node.value)} |"
                    f" {' '.join(str(text).split())} |"
                )
        out.append("")
    return "\n".join(out)


def _default(value: ast.expr | None) -> str:
    if value is None:
        return "required"
    text = ast.unparse(value).replace("'", '"')
    text = (
        _NAMES.get(text, text)
        .replace("True", "true")
        .replace("False", "false")
        .replace('("*",)', '["*"]')
    )
    return f"`{text}`" if text else ""
