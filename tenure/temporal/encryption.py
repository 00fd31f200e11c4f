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
from tenure.settings import Settings

ENCODING = b"binary/tenure-aes-gcm"
"""Value of the metadata field `encoding` of encrypted payloads."""

NONCE_BYTES = 12

_KEY_ID = "tenure-key-id"
_LARGE = 64 * 1024


class DecryptionError(ValueError):
    """A payload was encrypted with a missing key, or was modified."""


class EncryptionCodec(PayloadCodec):
    """Payload codec that encrypts.

    Args:
        keys: keys by id; the first one encrypts, all decrypt.
    """

    def __init__(self, keys: Mapping[str, bytes]) -> None:
        self._ciphers = {name: AESGCM(key) for name, key in keys.items()}
        self._current = next(iter(keys))

    @classmethod
    def from_settings(cls, settings: Settings) -> Self | None:
        """Return the codec that the settings describe, or None if encryption is off."""
        keys = settings.encryption_keys
        return None if keys is None else cls(parse_encryption_keys(keys.get_secret_value()))

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """Encrypt payloads."""
        return await _transform(payloads, self.encrypt)

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """Decrypt payloads; unencrypted payloads are returned unchanged.

        Raises:
            DecryptionError: a key is missing, or a payload was modified.
        """
        return await _transform(payloads, self.decrypt)

    def encrypt(self, payload: Payload) -> Payload:
        """Return the encrypted payload."""
        return self.encrypt_with(self._current, payload)

    def encrypt_with(self, key: str, payload: Payload) -> Payload:
        """Return the payload encrypted with a key, which reveals nothing but its length."""
        nonce = secrets.token_bytes(NONCE_BYTES)
        name = key.encode()
        sealed = self._ciphers[key].encrypt(nonce, payload.SerializeToString(), _associated_data(name))
        return Payload(metadata={"encoding": ENCODING, _KEY_ID: name}, data=nonce + sealed)

    def decrypt(self, payload: Payload) -> Payload:
        """Return the decrypted payload, or the payload itself if it is not encrypted."""
        if payload.metadata.get("encoding") != ENCODING:
            return payload
        name = payload.metadata.get(_KEY_ID, b"")
        cipher = self._ciphers.get(name.decode(errors="replace"))
        if cipher is None:
            raise DecryptionError(f"the key {name.decode(errors='replace')!r} is not in TENURE_ENCRYPTION_KEYS")
        try:
            opened = cipher.decrypt(payload.data[:NONCE_BYTES], payload.data[NONCE_BYTES:], _associated_data(name))
        except (InvalidTag, ValueError):
            raise DecryptionError("a payload was modified after encryption, or its key has another id") from None
        return Payload.FromString(opened)


def get_key_id(payload: Payload) -> str:
    """Return the id of the key of an encrypted payload; empty if it is not encrypted."""
    encrypted = payload.metadata.get("encoding") == ENCODING
    return payload.metadata.get(_KEY_ID, b"").decode(errors="replace") if encrypted else ""


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
