"""Ledgers as the command line names them: sqlite:///FILE, postgresql://…, memory:."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from toolwire.cli.framework.errors import CommandError
from toolwire.cli.output.redact_url import redact_url
from toolwire.errors import InputError

if TYPE_CHECKING:
    from toolwire.execution.ledger.base import Ledger

FORMS = "expected sqlite:///FILE, postgresql://HOST/DATABASE or memory:"


def open_ledger(url: str | None) -> Ledger | None:
    """Return the ledger of a URL; None stands for the memory of this process."""
    if url is None or url == "memory:":
        return None
    scheme, _, rest = url.partition("://")
    if scheme == "sqlite":
        from toolwire.execution.ledger.sqlite.ledger import SqliteLedger

        file = rest.removeprefix("/")
        if not file or not rest.startswith("/"):
            raise CommandError(f"{url}: name a file, as in sqlite:///calls.db")
        return SqliteLedger(file)
    if scheme in ("postgresql", "postgres"):
        from toolwire.execution.ledger.postgres.ledger import PostgresLedger

        return PostgresLedger(url)
    raise CommandError(f"{redact_url(url)}: {FORMS}")


@contextmanager
def report_ledger_errors(url: str | None) -> Iterator[None]:
    """Turn a ledger that cannot be used into a CommandError that names the option."""
    from toolwire.execution.ledger.base import LedgerUnavailable

    try:
        yield
    except InputError:  # It names the file.
        raise
    except LedgerUnavailable as error:
        name = redact_url(url or "memory:")
        raise CommandError(f"--ledger {name}: {redact_url(str(error))}") from None
