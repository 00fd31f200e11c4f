"""Read pictures of a web page: data addresses, and files in the folder of the page or below it."""

import base64
import binascii
import re
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Final
from urllib.parse import unquote, unquote_to_bytes, urlsplit

from tenure.files.opening import FileRefused, open_file
from tenure.sources.document.document import Unreadable

MAX_BYTES: Final = 30_000_000
"""Bytes of one picture."""
Loader = Callable[[str], bytes]
"""Function that returns the content of a picture in the folder of a document; it raises `Unreadable` or `OSError`."""
# "data:image/png;base64,iVBOR…".
_DATA = re.compile(r"data:image/[\w.+-]{1,40}(?:;[\w=.-]{1,60}){0,5},", re.IGNORECASE)


def is_data_address(address: str) -> bool:
    """Return whether an address contains a picture."""
    return bool(_DATA.match(address))


def read_data_address(address: str) -> bytes:
    """Return the picture that an address contains.

    Raises:
        Unreadable: it is damaged.
    """
    header = _DATA.match(address)
    if header is None:
        raise Unreadable("is a damaged picture")
    try:
        content = unquote_to_bytes(address[header.end() :])
        return base64.b64decode(content) if header[0].casefold().endswith(";base64,") else content
    except (binascii.Error, ValueError) as error:
        raise Unreadable("is a damaged picture") from error


def load_neighbour(folder: Path) -> Loader:
    """Return a function that reads pictures of a web page: in its folder, or below it."""

    def load(part: str) -> bytes:
        address = urlsplit(part)
        names = PurePosixPath(unquote(address.path))
        if address.scheme or address.netloc or names.is_absolute() or ".." in names.parts:
            raise Unreadable("is not in the folder of the page")
        try:
            with open_file(folder.absolute() / names) as opened:
                if opened.status.st_size > MAX_BYTES:
                    raise Unreadable(f"is a picture of more than {MAX_BYTES // 1_000_000} MB")
                return opened.read(MAX_BYTES)
        except FileRefused as error:
            raise Unreadable(error.reason) from error

    return load


def load_nothing(part: str) -> bytes:
    """Refuse pictures next to a document without a folder."""
    raise Unreadable("is not in the folder of the page")
