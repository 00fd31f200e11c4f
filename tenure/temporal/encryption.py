"""Encryption of everything that Temporal stores of a run: arguments, results, heartbeats, summaries, failures.

AES-256 in Galois/Counter Mode. The id of the key stands in the payload's metadata, so that a new key can
encrypt from today while older ones still decipher. Run as a program it prints a new key.
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

from tenure.settings import KEY_BYTES, Settings, named_keys

ENCODING = b"binary/tenure-aes-gcm"
"""How an encrypted payload is marked."""

NONCE_BYTES = 12

_KEY_ID = "tenure-key-id"
_LARGE = 64 * 1024


class Undecipherable(ValueError):
    """A payload was encrypted with a key that is not here, or was changed since."""


class Encryption(PayloadCodec):
    """A payload codec.

    Args:
        keys: by id; the first one encrypts, all decipher.
    """

    def __init__(self, keys: Mapping[str, bytes]) -> None:
        self._ciphers = {name: AESGCM(key) for name, key in keys.items()}
        self._current = next(iter(keys))

    @classmethod
    def from_settings(cls, settings: Settings) -> Self | None:
        """Make the codec that the settings describe; None where nothing is encrypted."""
        keys = settings.encryption_keys
        return None if keys is None else cls(named_keys(keys.get_secret_value()))

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """Encrypt payloads."""
        return await _aside(payloads, self.encrypted)

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """Decipher payloads; those that are not encrypted are left as they are.

        Raises:
            Undecipherable: a key is missing, or a payload was changed.
        """
        return await _aside(payloads, self.deciphered)

    def encrypted(self, payload: Payload) -> Payload:
        """Return a payload that says nothing of what it holds but its length."""
        nonce = secrets.token_bytes(NONCE_BYTES)
        name = self._current.encode()
        sealed = self._ciphers[self._current].encrypt(nonce, payload.SerializeToString(), _bound(name))
        return Payload(metadata={"encoding": ENCODING, _KEY_ID: name}, data=nonce + sealed)

    def deciphered(self, payload: Payload) -> Payload:
        """Return what an encrypted payload holds, and any other payload itself."""
        if payload.metadata.get("encoding") != ENCODING:
            return payload
        name = payload.metadata.get(_KEY_ID, b"")
        cipher = self._ciphers.get(name.decode(errors="replace"))
        if cipher is None:
            raise Undecipherable(f"the key {name.decode(errors='replace')!r} is not in TENURE_ENCRYPTION_KEYS")
        try:
            opened = cipher.decrypt(payload.data[:NONCE_BYTES], payload.data[NONCE_BYTES:], _bound(name))
        except (InvalidTag, ValueError):
            raise Undecipherable("a payload was changed since it was encrypted, or its key has another id") from None
        return Payload.FromString(opened)


def _bound(name: bytes) -> bytes:
    """Return what is sealed along, so that a payload cannot pass for one of another key or form."""
    return ENCODING + b"/" + name


async def _aside(payloads: Sequence[Payload], change: Callable[[Payload], Payload]) -> list[Payload]:
    """Change payloads, in a thread where they are large."""
    if sum(len(payload.data) for payload in payloads) < _LARGE:
        return _changed(payloads, change)
    return await asyncio.to_thread(_changed, payloads, change)


def _changed(payloads: Iterable[Payload], change: Callable[[Payload], Payload]) -> list[Payload]:
    return [change(payload) for payload in payloads]


def new_key() -> str:
    """Make a key with an id of today, as `TENURE_ENCRYPTION_KEYS` takes it."""
    return f"k{datetime.now(UTC):%Y%m%d}:{base64.b64encode(os.urandom(KEY_BYTES)).decode()}"


if __name__ == "__main__":
    print(new_key())
