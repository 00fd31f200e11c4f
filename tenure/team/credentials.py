"""Store the credentials of people on the server of a team: sessions, tokens of programs, sign-ins under way.

The file holds hashes of random secrets, so that a reader of the file can use none.
"""

import os
import sqlite3
import time
from hashlib import sha256
from pathlib import Path
from secrets import token_urlsafe
from typing import Final, Literal, NamedTuple

from tenure.private_files import open_private

CREDENTIALS_FILE: Final = "team-credentials.sqlite"
"""File in the home."""

SECRET_BYTES: Final = 32

Kind = Literal["session", "token", "sign-in"]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS credentials
(hash TEXT PRIMARY KEY, kind TEXT NOT NULL, value TEXT NOT NULL, label TEXT NOT NULL, expires REAL NOT NULL) STRICT
"""


class ListedToken(NamedTuple):
    """A token of a person, as the account page lists it."""

    id: str
    """Hash, which identifies it and opens nothing."""
    label: str
    end: str
    """Day on which it expires."""


class Credentials:
    """Credentials of all people.

    Raises:
        OSError: the file cannot be opened.
    """

    def __init__(self, home: Path) -> None:
        path = home / CREDENTIALS_FILE
        os.close(open_private(str(path), os.O_RDWR | os.O_CREAT))
        # Statements take microseconds and are those of one thread; another server on the same home may hold the lock.
        self._database = sqlite3.connect(path, timeout=5, isolation_level=None)
        self._database.execute(_SCHEMA)

    def create(self, kind: Kind, value: str, lifetime: float, label: str = "") -> str:
        """Return a new secret for a value, which is the name of the person, or the state of a sign-in."""
        secret, now = token_urlsafe(SECRET_BYTES), time.time()
        self._database.execute("DELETE FROM credentials WHERE expires < ?", (now,))
        row = (_hash(secret), kind, value, label, now + lifetime)
        self._database.execute("INSERT INTO credentials VALUES (?, ?, ?, ?, ?)", row)
        return secret

    def find(self, kind: Kind, secret: str) -> str | None:
        """Return the value of a secret, or None if it is unknown or has expired."""
        query = "SELECT value FROM credentials WHERE hash = ? AND kind = ? AND expires > ?"
        row = self._database.execute(query, (_hash(secret), kind, time.time())).fetchone()
        return str(row[0]) if row else None

    def end(self, kind: Kind, secret: str) -> str | None:
        """Make a secret invalid and return its value, which only one of several calls at the same time receives."""
        query = "DELETE FROM credentials WHERE hash = ? AND kind = ? AND expires > ? RETURNING value"
        row = self._database.execute(query, (_hash(secret), kind, time.time())).fetchone()
        return str(row[0]) if row else None

    def list_tokens(self, person: str) -> list[ListedToken]:
        """Return the valid tokens of a person, the one that expires last first."""
        query = (
            "SELECT hash, label, date(expires, 'unixepoch') FROM credentials "
            "WHERE kind = 'token' AND value = ? AND expires > ? ORDER BY expires DESC"
        )
        return [ListedToken(*row) for row in self._database.execute(query, (person, time.time()))]

    def end_token(self, person: str, id: str) -> None:
        """Make a token of a person invalid."""
        self._database.execute("DELETE FROM credentials WHERE hash = ? AND kind = 'token' AND value = ?", (id, person))

    def close(self) -> None:
        """Close the file."""
        self._database.close()


def _hash(secret: str) -> str:
    # Of 32 random bytes, which no dictionary contains: one round without salt is enough.
    return sha256(secret.encode()).hexdigest()
