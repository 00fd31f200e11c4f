"""Encrypt what Temporal stores of an owner's workflows with a key of this owner.

Everyone who reaches a Temporal server can read every history, without asking a worker. A payload of a workflow whose id
contains an owner is therefore encrypted with a key derived from the owner's token: the worker knows the keys of all
owners, and a client only its own. A payload that could be an owner's is never stored without a key: without a
context, or for an owner whose token is unknown, it is refused.
"""

import hashlib
import hmac
from collections.abc import Mapping
from copy import copy
from typing import Self

from temporalio.api.common.v1 import Payload
from temporalio.converter import (
    ActivitySerializationContext,
    SerializationContext,
    WithSerializationContext,
    WorkflowSerializationContext,
)

from tenure.encryption_keys import parse_encryption_keys
from tenure.ownership import get_owner
from tenure.settings import Settings
from tenure.temporal.encryption import DecryptionError, EncryptionCodec, get_key_id

_PREFIX = "owner:"
"""Prefix of the key ids of owners; ids in the settings contain no colon."""


class MissingOwnerKey(ValueError):
    """A payload was not encrypted because the key of its owner is unknown."""


class OwnerCodec(EncryptionCodec, WithSerializationContext):
    """Payload codec that encrypts with the key of the owner of a workflow.

    Args:
        tokens: tokens of the known owners.
        owner: owner whose key is used for workflows without an owner; empty for none.
        keys: keys by id for these workflows if there is no such owner; without them their payloads are not encrypted.
    """

    def __init__(self, tokens: Mapping[str, str], owner: str = "", keys: Mapping[str, bytes] | None = None) -> None:
        own = {f"{_PREFIX}{name}": _derive_key(token) for name, token in tokens.items()}
        super().__init__({**(keys or {}), **own})
        self._owners = frozenset(tokens)
        self._default = f"{_PREFIX}{owner}" if owner else next(iter(keys or {}), "")
        self._key: str | None = self._default if owner else None

    @classmethod
    def from_settings(cls, settings: Settings) -> Self | None:
        """Return the codec that the settings describe, or None if they name no owner."""
        tokens = {name: token.get_secret_value() for name, token in settings.owners.items()}
        if settings.owner and settings.owner_token:
            tokens[settings.owner] = settings.owner_token.get_secret_value()
        keys = settings.encryption_keys
        if not tokens:
            return None
        return cls(
            tokens,
            settings.owner or settings.default_owner,
            parse_encryption_keys(keys.get_secret_value()) if keys else None,
        )

    def with_context(self, context: SerializationContext) -> Self:
        """Return a codec for the payloads of a workflow or activity."""
        bound = copy(self)
        if isinstance(context, WorkflowSerializationContext | ActivitySerializationContext) and context.workflow_id:
            owner = get_owner(context.workflow_id)
            if owner is None:
                bound._key = self._default
            else:
                bound._key = f"{_PREFIX}{owner}" if owner in self._owners else None
        return bound

    def encrypt(self, payload: Payload) -> Payload:
        """Return the encrypted payload; without any key, that of a workflow without an owner stays as it is.

        Raises:
            MissingOwnerKey: its owner is unknown.
        """
        if self._key is None:
            raise MissingOwnerKey("a payload is not stored, because no known owner's key encrypts it")
        return self.encrypt_with(self._key, payload) if self._key else payload

    def decrypt(self, payload: Payload) -> Payload:
        """Return the decrypted payload, or the payload itself if it is not encrypted.

        Raises:
            DecryptionError: it belongs to another owner, a key is missing, or it was modified.
        """
        name = get_key_id(payload)
        if name.startswith(_PREFIX) and name.removeprefix(_PREFIX) not in self._owners:
            raise DecryptionError(f"this belongs to the owner {name.removeprefix(_PREFIX)!r}")
        return super().decrypt(payload)


def _derive_key(token: str) -> bytes:
    """Return the AES-256 key of an owner, which does not reveal the token."""
    return hmac.new(token.encode(), b"tenure-owner-payloads-1", hashlib.sha256).digest()
