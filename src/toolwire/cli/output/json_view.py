"""Output for programs: compact JSON on stdout, one line per loss, repair or finding on stderr."""

from __future__ import annotations

from collections.abc import Sequence

import click

from toolwire.cli.output.printable import to_printable
from toolwire.cli.output.view import WHOLE_BODY
from toolwire.conversation.json import JSON, dump
from toolwire.conversation.model import Change, Finding, Loss, position


class JsonView:
    """A view for pipes."""

    def body(self, text: bytes) -> None:
        click.echo(text, nl=not text.endswith(b"\n"))

    def losses(self, losses: Sequence[Loss]) -> None:
        for loss in losses:
            pointer = to_printable(position(loss.line, loss.path)) or WHOLE_BODY
            click.echo(f"{loss.severity} {pointer}: {to_printable(loss.reason)}", err=True)

    def repairs(self, changes: Sequence[Change]) -> None:
        for change in changes:
            click.echo(f"repair {to_printable(str(change))}", err=True)

    def findings(self, findings: Sequence[Finding]) -> None:
        for finding in findings:
            click.echo(f"refused {to_printable(str(finding))}", err=True)

    def table(self, columns: Sequence[str], cells: Sequence[Sequence[str]], rows: JSON) -> None:
        click.echo(dump(rows))
