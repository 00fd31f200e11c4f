"""Decompress response bodies piece by piece up to a limit, which stops decompression bombs.

A few kilobytes can decompress to gigabytes. Decompression therefore proceeds in small pieces, and a body over the
limit ends the download immediately. Servers send gzip to clients that accept nothing else; some send deflate.
"""

import zlib
from collections.abc import Iterator
from typing import Final

from tenure.sources.fetch.errors import UnusableResponse

ACCEPT_ENCODING: Final = "gzip"

_PIECE_BYTES: Final = 1 << 16
_GZIP_BITS: Final = 16 + zlib.MAX_WBITS  # 16 more than the bits of the window expect the header of gzip.
_ZLIB_METHOD: Final = 8
"""Lower half of the first byte of a zlib stream; a stream without header would begin with an uncompressed block."""
_GZIP_MAGIC: Final = b"\x1f"
"""First byte of each member of a gzip stream."""


class ResponseBody:
    """Body of a response, decompressed as its data arrives and limited in size.

    An unsupported or wrong encoding and a body that is too large or incomplete raise `UnusableResponse`.
    """

    def __init__(self, limit: int, *, truncate: bool = False) -> None:
        """Keep at most `limit` bytes; a longer body is an error, or is truncated."""
        self._limit, self.truncates = limit, truncate
        self.start("")

    def start(self, content_encoding: str) -> None:
        """Start again with the value of a `Content-Encoding` header."""
        names = [name.strip().removeprefix("x-") for name in content_encoding.lower().split(",")]
        names = [name for name in names if name not in ("", "identity")]
        if names not in ([], ["gzip"], ["deflate"]):
            raise UnusableResponse(f"its content encoding is not supported: {content_encoding[:60]!r}")
        self.received = 0
        self.content_encoding = content_encoding
        self._content = bytearray()
        self._is_deflate = names == ["deflate"]
        self._inflater = zlib.decompressobj(_GZIP_BITS) if names else None

    @property
    def is_full(self) -> bool:
        """Whether the body was truncated at the limit, so that no more data is needed."""
        return self.truncates and len(self._content) >= self._limit

    def feed(self, data: bytes) -> None:
        """Add data from the network."""
        self.received += len(data)
        try:
            for piece in self._decompress(data):
                self._content += piece
                if len(self._content) > self._limit:
                    if not self.truncates:
                        raise UnusableResponse(f"it is larger than {format_megabytes(self._limit)}")
                    del self._content[self._limit :]
                    return
        except zlib.error as error:
            raise UnusableResponse(f"its content encoding is wrong ({self.content_encoding})") from error

    def get_content(self) -> bytes:
        """Return the complete content."""
        if not self.is_full and self.received and self._inflater and not self._inflater.eof:
            raise UnusableResponse("it is incomplete")
        return bytes(self._content)

    def _decompress(self, data: bytes) -> Iterator[bytes]:
        """Yield the content of more data in small pieces; a gzip stream may have several members."""
        if self._inflater is None:
            yield data
            return
        if self._is_deflate and data and self.received == len(data):
            # Deflate has the header of zlib (its first byte is 0x78 with the usual window), or none.
            self._inflater = zlib.decompressobj(zlib.MAX_WBITS if data[0] & 0x0F == _ZLIB_METHOD else -zlib.MAX_WBITS)
        while data:
            if self._inflater.eof:
                if self._is_deflate or not data.startswith(_GZIP_MAGIC):
                    return  # trailing bytes have no meaning
                self._inflater = zlib.decompressobj(_GZIP_BITS)
            yield self._inflater.decompress(data, _PIECE_BYTES)
            data = self._inflater.unconsumed_tail or self._inflater.unused_data


def format_megabytes(size: int) -> str:
    """Return a size as text."""
    return f"{size / 1e6:.3g} MB"
