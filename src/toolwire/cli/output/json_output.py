"""Output for programs: compact JSON on stdout, one line for each loss on stderr."""

from __future__ import annotations

from collections.abc import Sequence

import click

from toolwire.cli.framework.usage_error import printable
from toolwire.conversation.json import JSON, dump
from toolwire.conversation.model import Change, Finding, Loss


class Piped:
    """The view at the other end of a pipe."""

    def body(self, text: bytes) -> None:
        click.echo(text, nl=not text.endswith(b"\n"))

    def losses(self, losses: Sequence[Loss]) -> None:
        for loss in losses:
            click.echo(
                f"loss {printable(loss.pointer) or '(the whole body)'}: {printable(loss.reason)}",
                err=True,
            )

    def repairs(self, changes: Sequence[Change]) -> None:
        for change in changes:
            click.echo(f"repair {printable(str(change))}", err=True)

    def findings(self, findings: Sequence[Finding]) -> None:
        for finding in findings:
            click.echo(f"refused {printable(str(finding))}", err=True)

    def table(self, columns: Sequence[str], cells: Sequence[Sequence[str]], rows: JSON) -> None:
        click.echo(dump(rows))


VIEW = Piped()
