"""Encrypt everything that Temporal stores of a run: arguments, results, heartbeats, summaries and failures.

The cipher is AES-256-GCM (NIST SP 800-38D). The key's id is part of the payload's metadata, so that a new key can
encrypt while older keys still decrypt. Run as a program it prints a new key.
"""

import asyncio
import base64
import os
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Self

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from temporalio.api.common.v1 import Payload
from temporalio.converter import PayloadCodec

from tenure.encryption_keys import KEY_BYTES, parse_encryption_keys
from tenure.ownership import derive_payload_key
from tenure.settings.home import ConnectionSettings

ENCODING = b"binary/tenure-aes-gcm"
"""Value of the metadata field `encoding` of encrypted payloads."""

# The length for which AES-GCM needs no hashing of the nonce: NIST SP 800-38D, section 7.1.
NONCE_BYTES = 12

_KEY_ID = "tenure-key-id"
_OWNER_KEYS = "owner:"
"""Prefix of the key ids of owners; ids in the settings contain no colon."""
_LARGE = 64 * 1024


class DecryptionError(ValueError):
    """A payload was encrypted with a missing key, or was modified."""


class EncryptionCodec(PayloadCodec):
    """Payload codec that encrypts.

    Args:
        keys: keys by id; the first one encrypts, all decrypt.
        is_required: whether payloads that are not encrypted are refused. Everyone who reaches a Temporal server can
            send plain ones. New encrypted ones need the key, and recorded ones can be sent again.
    """

    def __init__(self, keys: Mapping[str, bytes], *, is_required: bool = False) -> None:
        self._ciphers = {name: AESGCM(key) for name, key in keys.items()}
        self._current, self._is_required = next(iter(keys)), is_required

    @classmethod
    def from_settings(cls, settings: ConnectionSettings) -> Self | None:
        """Return the codec that the settings describe, or None if encryption is off.

        An owner with a name has the key of the own token and no other one.
        """
        if settings.owner_token is not None and settings.owner:
            key = derive_payload_key(settings.owner_token.get_secret_value())
            return cls({f"{_OWNER_KEYS}{settings.owner}": key}, is_required=True)
        keys = settings.encryption_keys
        if keys is None:
            return None
        # Next to owners with names there are people who may not use the namespace without one.
        return cls(parse_encryption_keys(keys.get_secret_value()), is_required=bool(settings.owners))

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """Encrypt payloads."""
        return await _transform(payloads, self.encrypt)

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """Decrypt payloads; unencrypted payloads are returned unchanged, unless they are refused.

        Raises:
            DecryptionError: a key is missing, or a payload was modified or is refused.
        """
        return await _transform(payloads, self.decrypt)

    def encrypt(self, payload: Payload) -> Payload:
        """Return the encrypted payload, which reveals nothing but its length."""
        nonce = secrets.token_bytes(NONCE_BYTES)
        name = self._current.encode()
        sealed = self._ciphers[self._current].encrypt(nonce, payload.SerializeToString(), _associated_data(name))
        return Payload(metadata={"encoding": ENCODING, _KEY_ID: name}, data=nonce + sealed)

    def decrypt(self, payload: Payload) -> Payload:
        """Return the decrypted payload, or the payload itself if it is not encrypted.

        Raises:
            DecryptionError: a key is missing, or the payload was modified or is refused.
        """
        if payload.metadata.get("encoding") != ENCODING:
            if self._is_required:
                raise DecryptionError("a payload without the encryption of the namespace is refused")
            return payload
        name = payload.metadata.get(_KEY_ID, b"")
        key = name.decode(errors="replace")
        cipher = self._ciphers.get(key)
        if cipher is None:
            if key.startswith(_OWNER_KEYS):
                raise DecryptionError(f"this belongs to the owner {key.removeprefix(_OWNER_KEYS)!r}")
            raise DecryptionError(f"the key {key!r} is not in TENURE_ENCRYPTION_KEYS")
        try:
            opened = cipher.decrypt(payload.data[:NONCE_BYTES], payload.data[NONCE_BYTES:], _associated_data(name))
        except (InvalidTag, ValueError):
            raise DecryptionError("a payload was modified after encryption, or its key has another id") from None
        return Payload.FromString(opened)


def _associated_data(name: bytes) -> bytes:
    """Return the associated data of the cipher, which ties a payload to its key and format."""
    return ENCODING + b"/" + name


async def _transform(payloads: Sequence[Payload], change: Callable[[Payload], Payload]) -> list[Payload]:
    """Transform payloads, in a thread if they are large."""
    if sum(len(payload.data) for payload in payloads) < _LARGE:
        return _changed(payloads, change)
    return await asyncio.to_thread(_changed, payloads, change)


def _changed(payloads: Iterable[Payload], change: Callable[[Payload], Payload]) -> list[Payload]:
    return [change(payload) for payload in payloads]


def generate_key() -> str:
    """Return a new key with an id made from the date, in the format of `TENURE_ENCRYPTION_KEYS`."""
    return f"k{datetime.now(UTC):%Y%m%d}:{base64.b64encode(os.urandom(KEY_BYTES)).decode()}"


if __name__ == "__main__":
    print(generate_key())
