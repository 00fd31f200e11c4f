"""Test the encryption of cached answers with the keys of the settings."""

from pathlib import Path

import pytest

from tenure.settings import Settings
from tenure.temporal.answer_cipher import CodecCipher
from tenure.temporal.encryption import generate_key

DATA = b"an answer"
TOKENS = {"ann": "a" * 40, "bob": "b" * 40}


def make_cipher(tmp_path: Path, **settings: object) -> CodecCipher:
    return CodecCipher.from_settings(Settings.model_validate({"home": tmp_path, **settings}))


def test_without_keys_answers_are_plain(tmp_path: Path) -> None:
    """Without keys the data is readable, and encrypted data of an earlier setting is not used."""
    plain, keyed = make_cipher(tmp_path), make_cipher(tmp_path, encryption_keys=generate_key())

    assert DATA in plain.encrypt("run", DATA)
    assert plain.decrypt("run", plain.encrypt("run", DATA)) == DATA
    assert plain.decrypt("run", keyed.encrypt("run", DATA)) is None


def test_answers_are_encrypted_with_the_key(tmp_path: Path) -> None:
    """With a key the data is unreadable without it; a new key still reads the answers of the old one."""
    old, new = generate_key(), generate_key().replace("k", "n", 1)
    sealed = make_cipher(tmp_path, encryption_keys=old).encrypt("run", DATA)

    assert DATA not in sealed
    assert make_cipher(tmp_path, encryption_keys=f"{new},{old}").decrypt("run", sealed) == DATA
    assert make_cipher(tmp_path, encryption_keys=new).decrypt("run", sealed) is None


@pytest.mark.parametrize("run", ["ann~why", "ann~why/spiral"])
def test_owners_have_keys_of_their_own(run: str, tmp_path: Path) -> None:
    """The data of an owner is encrypted with the owner's key, and only a worker that knows the owner reads it."""
    sealed = make_cipher(tmp_path, owners=TOKENS).encrypt(run, DATA)

    assert DATA not in sealed
    assert make_cipher(tmp_path, owners=TOKENS).decrypt(run, sealed) == DATA
    assert make_cipher(tmp_path, owners={"bob": TOKENS["bob"]}).decrypt(run, sealed) is None
