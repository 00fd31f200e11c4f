"""Test the encryption of cached answers with the keys of the settings."""

from pathlib import Path

from tenure.settings import Settings
from tenure.temporal.answer_cipher import CodecCipher
from tenure.temporal.encryption import generate_key

DATA = b"an answer"
OWNERS = (("ann", "a" * 40), ("bob", "b" * 40), ("", None))


def make_cipher(tmp_path: Path, **settings: object) -> CodecCipher:
    return CodecCipher.from_settings(Settings.model_validate({"home": tmp_path, **settings}))


def test_without_keys_answers_are_plain(tmp_path: Path) -> None:
    """Without keys the data is readable, and encrypted data of an earlier setting is not used."""
    plain, keyed = make_cipher(tmp_path), make_cipher(tmp_path, encryption_keys=generate_key())

    assert DATA in plain.encrypt(DATA)
    assert plain.decrypt(plain.encrypt(DATA)) == DATA
    assert plain.decrypt(keyed.encrypt(DATA)) is None


def test_answers_are_encrypted_with_the_key(tmp_path: Path) -> None:
    """With a key the data is unreadable without it; a new key still reads the answers of the old one."""
    old, new = generate_key(), generate_key().replace("k", "n", 1)
    sealed = make_cipher(tmp_path, encryption_keys=old).encrypt(DATA)

    assert DATA not in sealed
    assert make_cipher(tmp_path, encryption_keys=f"{new},{old}").decrypt(sealed) == DATA
    assert make_cipher(tmp_path, encryption_keys=new).decrypt(sealed) is None


def test_owners_have_keys_of_their_own(tmp_path: Path) -> None:
    """The data of an owner is encrypted with the owner's key, and only that key reads it."""
    ann, bob, none = (make_cipher(tmp_path, owner=name, owner_token=token) for name, token in OWNERS)
    sealed = ann.encrypt(DATA)

    assert DATA not in sealed
    assert [cipher.decrypt(sealed) for cipher in (ann, bob, none)] == [DATA, None, None]
