"""Encrypt the cached answers of models with the keys that encrypt what Temporal stores of their runs."""

from temporalio.api.common.v1 import Payload
from temporalio.converter import WorkflowSerializationContext

from tenure.settings import Settings
from tenure.temporal.encryption import DecryptionError, EncryptionCodec
from tenure.temporal.owner_codec import OwnerCodec


class CodecCipher:
    """Encryption by the codec of payloads.

    Args:
        codec: codec of the settings; None for plain text.
    """

    def __init__(self, codec: EncryptionCodec | None) -> None:
        self._codec = codec

    @classmethod
    def from_settings(cls, settings: Settings) -> "CodecCipher":
        """Return the encryption that the settings describe."""
        return cls(OwnerCodec.from_settings(settings) or EncryptionCodec.from_settings(settings))

    def encrypt(self, run: str, data: bytes) -> bytes:
        """Return encrypted data of a run, or the data itself if no key applies."""
        codec, payload = self._get_codec(run), Payload(data=data)
        return (codec.encrypt(payload) if codec else payload).SerializeToString()

    def decrypt(self, run: str, data: bytes) -> bytes | None:
        """Return decrypted data, or None if no key of the run's owner decrypts it."""
        codec, payload = self._get_codec(run), Payload.FromString(data)
        if codec is None:
            return None if payload.metadata else payload.data
        try:
            return codec.decrypt(payload).data
        except DecryptionError:
            return None

    def _get_codec(self, run: str) -> EncryptionCodec | None:
        """Return the codec with the key of the owner of a run."""
        if isinstance(self._codec, OwnerCodec):
            return self._codec.with_context(WorkflowSerializationContext(namespace="", workflow_id=run))
        return self._codec
