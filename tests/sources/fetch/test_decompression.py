"""Tests of decompression piece by piece, up to a limit."""

import gzip
import random
import sys
import tracemalloc
import zlib
from collections.abc import Callable

import brotli
import pytest

from tenure.sources.fetch.decompression import ResponseBody
from tenure.sources.fetch.errors import UnusableResponse

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

TEXT = random.Random(3).randbytes(3_000) * 60


def _raw(content: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(content) + packer.flush()


PACKINGS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "none": ("", bytes),
    "identity": ("identity", bytes),
    "gzip": ("gzip", gzip.compress),
    "x-gzip": ("X-Gzip", gzip.compress),
    "deflate": ("deflate", zlib.compress),
    "deflate without a header": ("deflate", _raw),
    "brotli": ("br", lambda content: brotli.compress(content, quality=4)),
    "zstd": ("zstd", zstd.compress),
}


def _unpacked(packing: str, packed: bytes, step: int = 1_000, limit: int = 10**6) -> bytes:
    body = ResponseBody(limit)
    body.start(packing)
    for at in range(0, len(packed), step):
        body.feed(packed[at : at + step])
    return body.get_content()


@pytest.mark.parametrize("step", [1, 7, 1_000, 10**6])
@pytest.mark.parametrize("name", PACKINGS)
def test_every_content_encoding_is_decompressed(name: str, step: int) -> None:
    """Every content encoding is supported, in pieces of any size."""
    packing, pack = PACKINGS[name]

    assert _unpacked(packing, pack(TEXT[:20_000] if step < 10 else TEXT), step) == (
        TEXT[:20_000] if step < 10 else TEXT
    )


@pytest.mark.parametrize("name", ["gzip", "zstd"])
@pytest.mark.parametrize("step", [1, 100_000])
def test_several_compressed_members_are_one_content(name: str, step: int) -> None:
    """Two compressed members are one content; trailing zeros are ignored."""
    packing, pack = PACKINGS[name]
    packed = pack(b"one ") + pack(b"two") + (b"\0\0\0" if name == "gzip" else b"")

    assert _unpacked(packing, packed, step) == b"one two"


@pytest.mark.parametrize("name", [name for name in PACKINGS if name not in ("none", "identity")])
def test_a_decompression_bomb_stops_at_the_limit(name: str) -> None:
    """A body that decompresses to forty megabytes needs only the memory of the limit and one piece."""
    packing, pack = PACKINGS[name]
    bomb = pack(bytes(40_000_000))
    tracemalloc.start()
    with pytest.raises(UnusableResponse, match="larger than 1 MB"):
        _unpacked(packing, bomb, step=10**9)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 5_000_000


@pytest.mark.parametrize("name", ["gzip", "deflate", "brotli", "zstd"])
def test_an_incomplete_body_is_an_error(name: str) -> None:
    """A truncated body is unusable, and an empty body is valid."""
    packing, pack = PACKINGS[name]

    assert _unpacked(packing, b"") == b""
    with pytest.raises(UnusableResponse, match="it is incomplete"):
        _unpacked(packing, pack(TEXT)[:-8])


@pytest.mark.parametrize("name", ["gzip", "deflate", "brotli", "zstd"])
def test_a_wrong_content_encoding_is_an_error(name: str) -> None:
    """Plain text with the header of a compressed body is unusable."""
    with pytest.raises(UnusableResponse, match="its content encoding is wrong"):
        _unpacked(PACKINGS[name][0], b"<!doctype html><title>Plain</title>" * 10)


def test_later_damage_is_an_error() -> None:
    """Damage is detected after the first bytes, too."""
    packed = bytearray(zlib.compress(TEXT))
    packed[len(packed) // 2 :] = b"\xff" * (len(packed) // 2)
    with pytest.raises(UnusableResponse):
        _unpacked("deflate", bytes(packed))


@pytest.mark.parametrize("packing", ["sdch", "gzip, br", "compress"])
def test_an_unsupported_content_encoding_is_an_error(packing: str) -> None:
    """Unknown encodings and combinations are reported by name."""
    with pytest.raises(UnusableResponse, match="is not supported"):
        ResponseBody(10).start(packing)


def test_trailing_bytes_are_ignored() -> None:
    """Bytes after the end of a compressed body are ignored."""
    assert _unpacked("deflate", zlib.compress(b"all") + b"more") == b"all"


def test_a_body_can_be_truncated() -> None:
    """If only the beginning is needed, the rest is neither an error nor received."""
    body = ResponseBody(5, truncate=True)
    body.feed(b"1234")
    assert not body.is_full
    body.feed(b"5678")

    assert (body.is_full, body.get_content(), body.received) == (True, b"12345", 8)


def test_a_large_window_is_refused() -> None:
    """A compressed body cannot allocate a gigabyte in advance."""
    options: dict[int, int] = {
        zstd.CompressionParameter.window_log: 27,
        zstd.CompressionParameter.enable_long_distance_matching: 1,
    }
    packer = zstd.ZstdCompressor(options=options)
    with pytest.raises(UnusableResponse):
        _unpacked("zstd", packer.compress(TEXT) + packer.flush())
