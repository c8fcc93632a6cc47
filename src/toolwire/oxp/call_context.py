"""The `context` of a call: the tokens, secrets and user id that its tool declares."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from toolwire.conversation.json import Object
from toolwire.oxp.dialects import ToolDefinition
from toolwire.oxp.errors import MissingRequirements
from toolwire.tools.runnable import Authorization, Requirements

Credential: TypeAlias = str | None | Awaitable[str | None]
Tokens: TypeAlias = Mapping[str, str] | Callable[[Authorization, str | None], Credential]
"""Tokens by authorization id, or a function of the declared authorization and the user id."""
Secrets: TypeAlias = Mapping[str, str] | Callable[[str], Credential]
"""Secrets by id, or a function of the id."""


class ContextBuilder:
    """Builds contexts from the credentials of a client and those given for one call."""

    def __init__(
        self, tokens: Tokens | None, secrets: Secrets | None, *, user_id: str | None
    ) -> None:
        self._tokens = tokens
        self._secrets = secrets
        self._user_id = user_id

    @property
    def has_credentials(self) -> bool:
        """True if the client has tokens, secrets or a user id."""
        return bool(self._tokens or self._secrets or self._user_id)

    def unmet(self, needs: Requirements) -> Requirements:
        """The requirements that the client does not meet itself."""
        tokens, secrets = self._tokens, self._secrets
        return Requirements(
            tuple(
                authorization
                for authorization in needs.authorization
                if not (callable(tokens) or authorization.id in (tokens or {}))
            ),
            tuple(id for id in needs.secrets if not (callable(secrets) or id in (secrets or {}))),
            needs.user_id and not self._user_id,
        )

    async def build(
        self,
        tool_id: str,
        definition: ToolDefinition | None,
        *,
        user_id: str | None,
        tokens: Mapping[str, str],
        secrets: Mapping[str, str],
    ) -> Object:
        """Build the context of a call. A tool gets nothing that it does not declare.

        Raises MissingRequirements for a secret or user id. A missing token is not an error yet: the
        server may respond with a challenge for it.
        """
        user_id = user_id or self._user_id
        if definition is None:  # the caller gave these credentials for this call
            return write_context(tokens, secrets, user_id)
        needs = definition.needs
        found_tokens = {
            authorization.id: tokens.get(authorization.id)
            or await self._token(authorization, user_id)
            for authorization in needs.authorization
        }
        found_secrets = {id: secrets.get(id) or await self._secret(id) for id in needs.secrets}
        missing = Requirements(
            secrets=tuple(id for id, value in found_secrets.items() if not value),
            user_id=needs.user_id and not user_id,
        )
        if missing:
            raise MissingRequirements(f"{tool_id} needs {_describe(missing)}", missing)
        return write_context(
            {id: token for id, token in found_tokens.items() if token},
            {id: value for id, value in found_secrets.items() if value},
            user_id if needs.user_id else None,
        )

    async def _token(self, authorization: Authorization, user_id: str | None) -> str | None:
        if self._tokens is None or isinstance(self._tokens, Mapping):
            return (self._tokens or {}).get(authorization.id)
        return await _resolve(self._tokens(authorization, user_id))

    async def _secret(self, id: str) -> str | None:
        if self._secrets is None or isinstance(self._secrets, Mapping):
            return (self._secrets or {}).get(id)
        return await _resolve(self._secrets(id))


def write_context(
    tokens: Mapping[str, str], secrets: Mapping[str, str], user_id: str | None
) -> Object:
    """A context as OXP writes it, without empty fields."""
    context: Object = {}
    if tokens:
        context["authorization"] = [{"id": id, "token": token} for id, token in tokens.items()]
    if secrets:
        context["secrets"] = [{"id": id, "value": value} for id, value in secrets.items()]
    if user_id:
        context["user_id"] = user_id
    return context


def _describe(missing: Requirements) -> str:
    names = [f"the secret {id}" for id in missing.secrets]
    if missing.user_id:
        names.append("a user id")
    return ", ".join(names)


async def _resolve(credential: Credential) -> str | None:
    return await credential if inspect.isawaitable(credential) else credential
