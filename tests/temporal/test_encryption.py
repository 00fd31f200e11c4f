"""Test the encryption of payloads."""

import base64
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr, ValidationError
from temporalio.api.common.v1 import Payload

from tenure.encryption_keys import KEY_BYTES, parse_encryption_keys
from tenure.settings import Settings
from tenure.temporal.encryption import ENCODING, DecryptionError, EncryptionCodec, generate_key
from tests.support.tiers import slow

OLD, NEW = bytes(range(KEY_BYTES)), bytes(reversed(range(KEY_BYTES)))


@given(st.binary(max_size=4000), st.dictionaries(st.text(max_size=9), st.binary(max_size=30), max_size=3))
def test_encrypted_payloads_can_be_decrypted(data: bytes, metadata: dict[str, bytes]) -> None:
    """Data and metadata are restored, and the encrypted payload contains neither."""
    codec = EncryptionCodec({"a": OLD})
    payload = Payload(metadata=metadata, data=data)
    sealed = codec.encrypt(payload)
    assert codec.decrypt(sealed) == payload
    assert sealed.metadata["encoding"] == ENCODING
    assert len(data) < 8 or data not in sealed.data


async def test_an_older_key_still_deciphers() -> None:
    """After a change of keys the new one encrypts, and what the old one encrypted can still be read."""
    payload = Payload(data=b"said before")
    (sealed,) = await EncryptionCodec({"old": OLD}).encode([payload])
    both = EncryptionCodec({"new": NEW, "old": OLD})
    assert await both.decode([sealed]) == [payload]
    (again,) = await both.encode([payload])
    assert again.metadata["tenure-key-id"] == b"new"
    with pytest.raises(DecryptionError, match="the key 'new' is not in TENURE_ENCRYPTION_KEYS"):
        await EncryptionCodec({"old": OLD}).decode([again])


async def test_large_payloads_and_foreign_ones_pass() -> None:
    """A payload of megabytes is transformed in a thread; an unencrypted one is returned unchanged."""
    codec = EncryptionCodec({"a": OLD})
    large, foreign = Payload(data=b"x" * 2_000_000), Payload(metadata={"encoding": b"json/plain"}, data=b"1")
    sealed = await codec.encode([large])
    assert await codec.decode([*sealed, foreign]) == [large, foreign]


@pytest.mark.parametrize("change", ["data", "key", "short"])
def test_a_changed_payload_is_refused(change: str) -> None:
    """A flipped bit, another key's id, or a payload cut short is noticed."""
    sealed = EncryptionCodec({"a": OLD, "b": OLD}).encrypt(Payload(data=b"said"))
    if change == "data":
        sealed.data = sealed.data[:-1] + bytes([sealed.data[-1] ^ 1])
    elif change == "key":
        sealed.metadata["tenure-key-id"] = b"b"
    else:
        sealed.data = sealed.data[:5]
    with pytest.raises(DecryptionError, match="was modified"):
        EncryptionCodec({"a": OLD, "b": OLD}).decrypt(sealed)


def test_two_encryptions_of_the_same_differ() -> None:
    """Two encryptions of one payload differ."""
    codec = EncryptionCodec({"a": OLD})
    assert codec.encrypt(Payload(data=b"x")).data != codec.encrypt(Payload(data=b"x")).data


@pytest.mark.parametrize(
    ("written", "complaint"),
    [
        ("nothing", "the key nothing has 0 bytes"),
        ("a:%%%", "the key a is not base64"),
        ("a:c2hvcnQ=", "the key a has 5 bytes and needs 32"),
        (f"a b:{base64.b64encode(OLD).decode()}", "key 1 needs a unique id"),
        (f"a:{base64.b64encode(OLD).decode()},a:{base64.b64encode(NEW).decode()}", "key 2 needs a unique id"),
    ],
)
def test_keys_that_cannot_be_used_are_refused_unseen(written: str, complaint: str) -> None:
    """The complaint says which key is wrong and how, and repeats none of them."""
    with pytest.raises(ValidationError) as refused:
        Settings(encryption_keys=SecretStr(written), _env_file=None)
    said = str(refused.value)
    assert complaint in said
    assert base64.b64encode(OLD).decode() not in said


@slow
def test_a_new_key_can_be_used() -> None:
    """The program prints a key that the setting takes, another one each time."""
    made = subprocess.run(
        [sys.executable, "-m", "tenure.temporal.encryption"], capture_output=True, text=True, check=True
    ).stdout.strip()
    assert [len(key) for key in parse_encryption_keys(made).values()] == [KEY_BYTES]
    assert generate_key() != made
    assert EncryptionCodec.from_settings(Settings(_env_file=None)) is None
