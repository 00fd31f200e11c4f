"""Identify a knowledge base by random numbers that are stored next to its tables and move with them.

An identity is the name of a file. An object store has no atomic creation for it, so two processes that open a new base
at the same time may each store one: a base is recognised by any of its identities.
"""

from uuid import uuid4

from tenure.knowledge.store.stored_files import StoredFiles

_FOLDER = "identity"


def read_identities(uri: str) -> frozenset[str]:
    """Return the identities of the base at `uri`; none if no worker has used it yet."""
    return StoredFiles(uri).list_names(_FOLDER)


def ensure_identity(uri: str) -> str:
    """Return an identity of the base at `uri`, storing one if it has none."""
    if identities := read_identities(uri):
        return min(identities)
    identity = uuid4().hex
    StoredFiles(uri).write(f"{_FOLDER}/{identity}", identity.encode())
    return identity
