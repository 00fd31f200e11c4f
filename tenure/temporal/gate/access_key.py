"""Create the key of a home's local HTTP services, and links that let a browser in.

Every command imports this module, so it needs the standard library only.
"""

import errno
import hashlib
import hmac
import time
from pathlib import Path
from urllib.parse import urlsplit

from tenure.private_files import read_or_create_secret

KEY_FILE = "access.key"
"""File in the home with the key of its local services."""

LINK_SECONDS = 24 * 3600
"""Lifetime of the token in a link."""

HOST = "127.0.0.1"

TOKEN = "token"
"""Parameter of a link with its token."""

_MIN_KEY_LENGTH = 32
_SIGNATURE_DIGITS = 32


def load_key(home: Path) -> str:
    """Return the key of a home's local services, creating it if it does not exist.

    Raises:
        OSError: it can neither be read nor created.
    """
    path = home.absolute() / KEY_FILE
    key = read_or_create_secret(path).decode("ascii", "replace").strip()
    if len(key) < _MIN_KEY_LENGTH or not key.isalnum():
        raise OSError(errno.EINVAL, "it does not hold a key: delete it, and a new one is created", str(path))
    return key


def build_link(key: str, url: str, now: float | None = None) -> str:
    """Add a token to a URL of a local service."""
    expires = f"{int((time.time() if now is None else now) + LINK_SECONDS):x}"
    joint = "&" if urlsplit(url).query else "?"
    return f"{url}{'' if urlsplit(url).path else '/'}{joint}{TOKEN}={expires}.{sign(key, f'link {expires}')}"


def is_valid_token(key: str, token: str) -> bool:
    """Return whether a token of a link is genuine and has not expired."""
    expires, _, signature = token.partition(".")
    if not hmac.compare_digest(signature.encode(), sign(key, f"link {expires}").encode()):
        return False
    return int(expires, 16) > time.time()


def sign(key: str, purpose: str) -> str:
    """Return the signature of a purpose."""
    return hmac.new(key.encode(), purpose.encode(), hashlib.sha256).hexdigest()[:_SIGNATURE_DIGITS]
