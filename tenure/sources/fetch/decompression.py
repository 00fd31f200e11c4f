"""Decompress response bodies piece by piece up to a limit, which stops decompression bombs.

A few kilobytes can decompress to gigabytes. Decompression therefore proceeds in small pieces, and a body over the
limit ends the download immediately.
"""

import sys
import zlib
from collections.abc import Iterator
from typing import Final, Protocol

import brotli

from tenure.sources.fetch.errors import UnusableResponse

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

ACCEPT_ENCODING: Final = "gzip, deflate, br, zstd"
"""Supported content encodings, as the `Accept-Encoding` header lists them."""

_PIECE_BYTES: Final = 1 << 16
_HEADER_BYTES: Final = 2
_ZSTD_OPTIONS: Final[dict[int, int]] = {zstd.DecompressionParameter.window_log_max: 23}
"""Maximum window size of Zstandard: 8 MiB."""


class Decompressor(Protocol):
    """Decompressor of one content encoding."""

    def decompress(self, data: bytes) -> Iterator[bytes]:
        """Yield the decompressed content of more data, in small pieces."""
        ...

    @property
    def is_complete(self) -> bool:
        """Whether the end of the stream was reached."""
        ...


class ResponseBody:
    """Body of a response, decompressed as its data arrives and limited in size."""

    def __init__(self, limit: int, *, truncate: bool = False) -> None:
        """Keep at most `limit` bytes; a longer body is an error, or is truncated."""
        self._limit, self.truncates = limit, truncate
        self.start("")

    def start(self, content_encoding: str) -> None:
        """Start again with the value of a `Content-Encoding` header.

        Raises:
            UnusableResponse: the content encoding is not supported.
        """
        self.received = 0
        self._content = bytearray()
        self._content_encoding = content_encoding
        self._decompressor = _create_decompressor(content_encoding)

    @property
    def content_encoding(self) -> str:
        """Content encoding of the body."""
        return self._content_encoding

    @property
    def is_full(self) -> bool:
        """Whether the body was truncated at the limit, so that no more data is needed."""
        return self.truncates and len(self._content) >= self._limit

    def feed(self, data: bytes) -> None:
        """Add data from the network.

        Raises:
            UnusableResponse: the data contradicts the content encoding, or exceeds the limit.
        """
        self.received += len(data)
        try:
            for piece in self._decompressor.decompress(data):
                self._content += piece
                if len(self._content) > self._limit:
                    self._handle_excess()
                    return
        except (zlib.error, brotli.error, zstd.ZstdError, EOFError) as error:
            raise UnusableResponse(f"its content encoding is wrong ({self._content_encoding})") from error

    def get_content(self) -> bytes:
        """Return the complete content.

        Raises:
            UnusableResponse: the body is incomplete.
        """
        if not self.is_full and self.received and not self._decompressor.is_complete:
            raise UnusableResponse("it is incomplete")
        return bytes(self._content)

    def _handle_excess(self) -> None:
        if not self.truncates:
            raise UnusableResponse(f"it is larger than {format_megabytes(self._limit)}")
        del self._content[self._limit :]


def format_megabytes(size: int) -> str:
    """Return a size as text."""
    return f"{size / 1e6:.3g} MB"


def _create_decompressor(content_encoding: str) -> Decompressor:
    names = [name.strip().lower().removeprefix("x-") for name in content_encoding.split(",")]
    match [name for name in names if name not in ("", "identity")]:
        case []:
            return _IdentityDecompressor()
        case ["gzip"]:
            return _ZlibDecompressor(16 + zlib.MAX_WBITS)
        case ["deflate"]:
            return _ZlibDecompressor(zlib.MAX_WBITS)
        case ["br"]:
            return _BrotliDecompressor()
        case ["zstd"]:
            return _ZstdDecompressor()
    raise UnusableResponse(f"its content encoding is not supported: {content_encoding[:60]!r}")


class _IdentityDecompressor:
    is_complete = True

    def decompress(self, data: bytes) -> Iterator[bytes]:
        yield data


class _ZlibDecompressor:
    """Decompressor of gzip with one or several members, and of deflate with or without a zlib header."""

    def __init__(self, bits: int) -> None:
        self._bits = bits
        self._inner = zlib.decompressobj(bits)
        self._head = b""
        self._started = False

    @property
    def is_complete(self) -> bool:
        return self._inner.eof or not self._head

    def decompress(self, data: bytes) -> Iterator[bytes]:
        data = self._detect_header(data)
        while data:
            if self._inner.eof:
                if self._bits == zlib.MAX_WBITS or not data.strip(b"\0"):
                    return  # trailing bytes have no meaning
                self._inner = zlib.decompressobj(self._bits)
            yield self._inner.decompress(data, _PIECE_BYTES)
            data = self._inner.unconsumed_tail or self._inner.unused_data

    def _detect_header(self, data: bytes) -> bytes:
        """Return the data to decompress; its first two bytes show whether deflate has its optional zlib header."""
        if self._started:
            return data
        self._head += data
        if len(self._head) < _HEADER_BYTES:
            return b""
        self._started = True
        if self._bits == zlib.MAX_WBITS and (self._head[0] & 15 != 8 or int.from_bytes(self._head[:2]) % 31):
            self._inner = zlib.decompressobj(-zlib.MAX_WBITS)
        return self._head


class _BrotliDecompressor:
    def __init__(self) -> None:
        self._inner = brotli.Decompressor()

    @property
    def is_complete(self) -> bool:
        return bool(self._inner.is_finished())

    def decompress(self, data: bytes) -> Iterator[bytes]:
        piece = self._inner.process(data, output_buffer_limit=_PIECE_BYTES)
        # It may accept more data while it still buffers output, so it is empty only when it returns nothing.
        while piece or not self._inner.can_accept_more_data():
            yield piece
            piece = self._inner.process(b"", output_buffer_limit=_PIECE_BYTES)


class _ZstdDecompressor:
    """Decompressor of Zstandard with one or several frames."""

    def __init__(self) -> None:
        self._inner = zstd.ZstdDecompressor(options=_ZSTD_OPTIONS)
        self._started = False

    @property
    def is_complete(self) -> bool:
        return self._inner.eof or not self._started

    def decompress(self, data: bytes) -> Iterator[bytes]:
        while data or not self._inner.needs_input:
            if self._inner.eof:
                if not data:
                    return
                self._inner = zstd.ZstdDecompressor(options=_ZSTD_OPTIONS)
            self._started = True
            piece = self._inner.decompress(data, _PIECE_BYTES)
            data = self._inner.unused_data if self._inner.eof else b""
            yield piece
