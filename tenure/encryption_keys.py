"""Parse the keys that encrypt what Temporal stores."""

import base64
import re

KEY_BYTES = 32
"""Length of an encryption key in bytes."""


def parse_encryption_keys(text: str) -> dict[str, bytes]:
    """Parse encryption keys and return them by id, in order.

    Raises:
        ValueError: an id or a key is invalid; the message repeats no key.
    """
    keys: dict[str, bytes] = {}
    for number, pair in enumerate(text.split(","), 1):
        name, _, encoded = pair.strip().partition(":")
        if not re.fullmatch(r"[A-Za-z0-9_-]{1,40}", name) or name in keys:
            raise ValueError(f"key {number} needs a unique id of letters, digits, _ and -, before a colon")
        try:
            keys[name] = base64.b64decode(encoded, validate=True)
        except ValueError:
            advice = "`python -m tenure.temporal.encryption` makes one"
            raise ValueError(f"the key {name} is not base64; {advice}") from None
        if len(keys[name]) != KEY_BYTES:
            raise ValueError(f"the key {name} has {len(keys[name])} bytes and needs {KEY_BYTES}")
    return keys
