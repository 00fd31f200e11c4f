"""Derive what separates the owners of a shared installation: keys and folders.

An owner has a namespace of Temporal, a knowledge base, a folder in the home and keys. The owner of a run is the
namespace that the run is in, so no field of a request names it. The owner without a name is that of an installation
for one person, and has the configured namespace and the home itself.
"""

import hashlib
import hmac
from pathlib import Path

MIN_TOKEN_LENGTH = 32
"""Minimum length of a token: payloads are public on a Temporal server, so that a short token could be guessed."""

MAX_FAIRNESS_KEY_BYTES = 64
"""Maximum length of the server for a fairness key, which is the option `--owner` or, without it, the run."""


def derive_payload_key(token: str) -> bytes:
    """Return the AES-256 key of the payloads of an owner, which does not reveal the token."""
    return _derive(token, "tenure-owner-payloads-1").digest()


def derive_gate_key(token: str) -> str:
    """Return the key that a client of an owner sends to the gate of a local stack; it reveals no other one."""
    return _derive(token, "tenure-owner-gate-1").hexdigest()


def hash_key(key: str) -> str:
    """Return the hash by which the gate knows a key."""
    return hashlib.sha256(key.encode()).hexdigest()


def locate_owner_home(home: Path, owner: str) -> Path:
    """Return the folder of an owner in a home; that of the owner without a name is the home itself."""
    return home.absolute() / f"owner-{owner}" if owner else home.absolute()


def _derive(token: str, purpose: str) -> hmac.HMAC:
    return hmac.new(token.encode(), purpose.encode(), hashlib.sha256)
