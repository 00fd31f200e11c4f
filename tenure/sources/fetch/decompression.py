"""Bodies as they come over the wire, unpacked piece by piece and never beyond a limit.

A few kilobytes can unpack to gigabytes. So no more is unpacked at a time than a piece, and what is over the limit
ends the download at once, whatever is still to come.
"""

import sys
import zlib
from collections.abc import Iterator
from typing import Final, Protocol

import brotli

from tenure.sources.fetch.errors import Unusable

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

ACCEPTED: Final = "gzip, deflate, br, zstd"
"""Packings that are understood, as a request names them."""

_PIECE: Final = 1 << 16
_HEADER: Final = 2
_WINDOW: Final[dict[int, int]] = {zstd.DecompressionParameter.window_log_max: 23}
"""The memory that packings of the web may ask for at the most: 8 MiB."""


class Unpacker(Protocol):
    """Unpacks one packing."""

    def pieces(self, packed: bytes) -> Iterator[bytes]:
        """Yield what more packed bytes stand for, in small pieces."""
        ...

    @property
    def complete(self) -> bool:
        """Whether nothing is missing at the end."""
        ...


class Body:
    """A body that comes in parts; packed bytes go in, and the content is kept as long as it is within the limit."""

    def __init__(self, limit: int, *, cut: bool = False) -> None:
        """Keep at most `limit` bytes; a longer body is an error, or is cut there."""
        self._limit, self.cuts = limit, cut
        self.begin("")

    def begin(self, packing: str) -> None:
        """Begin anew, with a packing as `Content-Encoding` names it.

        Raises:
            Unusable: nobody here understands it.
        """
        self.received = 0
        self._content = bytearray()
        self._packing = packing
        self._unpacker = _unpacker(packing)

    @property
    def packing(self) -> str:
        """The packing it began with."""
        return self._packing

    @property
    def full(self) -> bool:
        """Whether it was cut, so that nothing more is wanted."""
        return self.cuts and len(self._content) >= self._limit

    def feed(self, packed: bytes) -> None:
        """Take bytes from the wire.

        Raises:
            Unusable: they are not packed as they should be, or there are too many.
        """
        self.received += len(packed)
        try:
            for piece in self._unpacker.pieces(packed):
                self._content += piece
                if len(self._content) > self._limit:
                    self._over()
                    return
        except (zlib.error, brotli.error, zstd.ZstdError, EOFError) as error:
            raise Unusable(f"it is not packed as it says ({self._packing})") from error

    def content(self) -> bytes:
        """Return the whole content.

        Raises:
            Unusable: its end is missing.
        """
        if not self.full and self.received and not self._unpacker.complete:
            raise Unusable("its end is missing")
        return bytes(self._content)

    def _over(self) -> None:
        if not self.cuts:
            raise Unusable(f"it is larger than {megabytes(self._limit)}")
        del self._content[self._limit :]


def megabytes(size: int) -> str:
    """Return a size in words."""
    return f"{size / 1e6:.3g} MB"


def _unpacker(packing: str) -> Unpacker:
    names = [name.strip().lower().removeprefix("x-") for name in packing.split(",")]
    match [name for name in names if name not in ("", "identity")]:
        case []:
            return _Plain()
        case ["gzip"]:
            return _Zlib(16 + zlib.MAX_WBITS)
        case ["deflate"]:
            return _Zlib(zlib.MAX_WBITS)
        case ["br"]:
            return _Brotli()
        case ["zstd"]:
            return _Zstd()
    raise Unusable(f"it is packed in a way that nobody asked for: {packing[:60]!r}")


class _Plain:
    complete = True

    def pieces(self, packed: bytes) -> Iterator[bytes]:
        yield packed


class _Zlib:
    """The packings gzip, of which several may follow each other, and deflate, with its header or without."""

    def __init__(self, bits: int) -> None:
        self._bits = bits
        self._inner = zlib.decompressobj(bits)
        self._head = b""
        self._begun = False

    @property
    def complete(self) -> bool:
        return self._inner.eof or not self._head

    def pieces(self, packed: bytes) -> Iterator[bytes]:
        packed = self._begin(packed)
        while packed:
            if self._inner.eof:
                if self._bits == zlib.MAX_WBITS or not packed.strip(b"\0"):
                    return  # what follows the end means nothing
                self._inner = zlib.decompressobj(self._bits)
            yield self._inner.decompress(packed, _PIECE)
            packed = self._inner.unconsumed_tail or self._inner.unused_data

    def _begin(self, packed: bytes) -> bytes:
        """Return what is to be unpacked; the first two bytes say whether deflate has a header, which some leave out."""
        if self._begun:
            return packed
        self._head += packed
        if len(self._head) < _HEADER:
            return b""
        self._begun = True
        if self._bits == zlib.MAX_WBITS and (self._head[0] & 15 != 8 or int.from_bytes(self._head[:2]) % 31):
            self._inner = zlib.decompressobj(-zlib.MAX_WBITS)
        return self._head


class _Brotli:
    def __init__(self) -> None:
        self._inner = brotli.Decompressor()

    @property
    def complete(self) -> bool:
        return bool(self._inner.is_finished())

    def pieces(self, packed: bytes) -> Iterator[bytes]:
        piece = self._inner.process(packed, output_buffer_limit=_PIECE)
        # It may take more while it still holds content back, so it is empty only once nothing comes.
        while piece or not self._inner.can_accept_more_data():
            yield piece
            piece = self._inner.process(b"", output_buffer_limit=_PIECE)


class _Zstd:
    """The packing zstd, of which several frames may follow each other."""

    def __init__(self) -> None:
        self._inner = zstd.ZstdDecompressor(options=_WINDOW)
        self._begun = False

    @property
    def complete(self) -> bool:
        return self._inner.eof or not self._begun

    def pieces(self, packed: bytes) -> Iterator[bytes]:
        while packed or not self._inner.needs_input:
            if self._inner.eof:
                if not packed:
                    return
                self._inner = zstd.ZstdDecompressor(options=_WINDOW)
            self._begun = True
            piece = self._inner.decompress(packed, _PIECE)
            packed = self._inner.unused_data if self._inner.eof else b""
            yield piece
