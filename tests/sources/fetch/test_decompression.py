"""Tests of decompression piece by piece, up to a limit."""

import gzip
import random
import tracemalloc
import zlib
from collections.abc import Callable
from functools import partial

import pytest

from tenure.sources.fetch.decompression import ResponseBody
from tenure.sources.fetch.errors import UnusableResponse

TEXT = random.Random(3).randbytes(3_000) * 60


PACKINGS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "none": ("", bytes),
    "identity": ("identity", bytes),
    "gzip": ("gzip", gzip.compress),
    "x-gzip": ("X-Gzip", gzip.compress),
    "list": ("gzip, identity", gzip.compress),
    "deflate": ("deflate", zlib.compress),
    "raw deflate": ("Identity, Deflate", partial(zlib.compress, wbits=-zlib.MAX_WBITS)),
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


@pytest.mark.parametrize("step", [1, 100_000])
def test_several_compressed_members_are_one_content(step: int) -> None:
    """Two compressed members are one content; trailing zeros are ignored."""
    packed = gzip.compress(b"one ") + gzip.compress(b"two") + b"\0\0\0"

    assert _unpacked("gzip", packed, step) == b"one two"


@pytest.mark.parametrize(("packing", "pack"), [("gzip", gzip.compress), ("deflate", zlib.compress)])
def test_a_decompression_bomb_stops_at_the_limit(packing: str, pack: Callable[[bytes], bytes]) -> None:
    """A body that decompresses to forty megabytes needs only the memory of the limit and one piece."""
    bomb = pack(bytes(40_000_000))
    tracemalloc.start()
    with pytest.raises(UnusableResponse, match="larger than 1 MB"):
        _unpacked(packing, bomb, step=10**9)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 5_000_000


def test_an_incomplete_body_is_an_error() -> None:
    """A truncated body is unusable, and an empty body is valid."""
    assert _unpacked("gzip", b"") == b""
    with pytest.raises(UnusableResponse, match="it is incomplete"):
        _unpacked("gzip", gzip.compress(TEXT)[:-8])


def test_a_wrong_content_encoding_is_an_error() -> None:
    """Plain text with the header of a compressed body is unusable."""
    with pytest.raises(UnusableResponse, match="its content encoding is wrong"):
        _unpacked("gzip", b"<!doctype html><title>Plain</title>" * 10)


def test_later_damage_is_an_error() -> None:
    """Damage is detected after the first bytes, too."""
    packed = bytearray(gzip.compress(TEXT))
    packed[len(packed) // 2 :] = b"\xff" * (len(packed) // 2)
    with pytest.raises(UnusableResponse):
        _unpacked("gzip", bytes(packed))


@pytest.mark.parametrize("packing", ["sdch", "gzip, br", "compress", "gzip, deflate", "br"])
def test_an_unsupported_content_encoding_is_an_error(packing: str) -> None:
    """Unknown encodings and combinations are reported by name."""
    with pytest.raises(UnusableResponse, match="is not supported"):
        ResponseBody(10).start(packing)


def test_trailing_bytes_are_ignored() -> None:
    """Bytes after the end of a compressed body are ignored."""
    assert _unpacked("gzip", gzip.compress(b"all") + b"more") == b"all"
    assert _unpacked("deflate", zlib.compress(b"all") + b"more") == b"all"


def test_a_body_can_be_truncated() -> None:
    """If only the beginning is needed, the rest is neither an error nor received."""
    body = ResponseBody(5, truncate=True)
    body.feed(b"1234")
    assert not body.is_full
    body.feed(b"5678")

    assert (body.is_full, body.get_content(), body.received) == (True, b"12345", 8)
