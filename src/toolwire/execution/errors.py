"""Errors of running tool calls."""

from __future__ import annotations

from toolwire.errors import ToolwireError
from toolwire.tools.runnable import Requirements


class ExecutorClosed(ToolwireError):
    """The ToolExecutor was closed and accepts no calls."""


class MissingRequirements(ToolwireError):
    """The tool needs tokens, secrets or a user id that the call lacks. Nothing was recorded."""

    def __init__(self, missing: Requirements) -> None:
        names = [*(authorization.id for authorization in missing.authorization), *missing.secrets]
        if missing.user_id:
            names.append("user_id")
        super().__init__(f"the tool needs {', '.join(names)}")
        self.missing = missing
