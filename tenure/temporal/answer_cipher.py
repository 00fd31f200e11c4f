"""Encrypt the cached answers of models with the keys that encrypt what Temporal stores of their runs."""

from temporalio.api.common.v1 import Payload

from tenure.settings.home import ConnectionSettings
from tenure.temporal.encryption import DecryptionError, EncryptionCodec


class CodecCipher:
    """Encryption by the codec of payloads; None for plain text."""

    def __init__(self, codec: EncryptionCodec | None) -> None:
        self._codec = codec

    @classmethod
    def from_settings(cls, settings: ConnectionSettings) -> "CodecCipher":
        """Return the encryption that the settings describe."""
        return cls(EncryptionCodec.from_settings(settings))

    def encrypt(self, data: bytes) -> bytes:
        """Return encrypted data, or the data itself without keys."""
        payload = Payload(data=data)
        return (self._codec.encrypt(payload) if self._codec else payload).SerializeToString()

    def decrypt(self, data: bytes) -> bytes | None:
        """Return decrypted data, or None if no key decrypts it."""
        payload = Payload.FromString(data)
        if self._codec is None:
            return None if payload.metadata else payload.data
        try:
            return self._codec.decrypt(payload).data
        except DecryptionError:
            return None
