"""placeholder"""

import base64
import codecs
import re
import unicodedata
from collections.abc import Iterator
from urllib.parse import unquote

_MARK = re.compile(r"OBEY\s+([a-z_]+)")
_CYR = str.maketrans("аеорсухі", "aeopcyxi")


def readings(text: str) -> Iterator[str]:
    tags = "".join(chr(ord(c) - 0xE0000) if 0xE0000 < ord(c) < 0xE0080 else c for c in text)
    plain = unicodedata.normalize("NFKC", re.sub("[\u200b-\u200f\u2060\ufeff]", "", tags)).translate(_CYR)
    yield plain
    yield plain[::-1]
    yield codecs.encode(plain, "rot13")
    yield unquote(plain)
    yield re.sub(r"\\u([0-9a-f]{4})", lambda m: chr(int(m[1], 16)), plain)
    yield re.sub(r"(\S) (?=\S( |$))", r"\1", plain)
    for part in re.findall(r"[A-Za-z0-9+/]{24,}={0,2}", plain):
        for decode in (lambda p: base64.b64decode(p + "=" * (-len(p) % 4)), bytes.fromhex):
            try:
                yield decode(part).decode()
            except ValueError:
                pass


def find_orders(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(n for r in readings(text) for n in _MARK.findall(r)))
