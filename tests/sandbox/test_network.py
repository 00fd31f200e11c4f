"""Test which hosts and paths a setup reaches."""

from pathlib import Path

import pytest

from tenure.sandbox.network import parse_head, read_hosts, read_paths


def test_addresses_in_variables_name_hosts() -> None:
    """Hosts of servers are read with their ports from the values of variables, and other texts name none."""
    values = ("https://a.example/simple http://b.example:81/x", "c.example", "ftp://d.example", "https://[::1]:9/")

    assert read_hosts(values) == {"a.example:443", "b.example:81", "::1:9"}


def test_paths_in_variables_are_shown(tmp_path: Path) -> None:
    """Existing files and folders are shown, and neither the root nor folders of the sandbox."""
    (tmp_path / "wheels").mkdir()
    values = (
        f"file://{tmp_path}/wheels {tmp_path}/nothing",
        "/ /proc/1 /proc /dev/null //",
        f"{tmp_path}/wheels/../wheels",
    )

    assert read_paths(values) == (tmp_path / "wheels",)


def test_a_request_names_its_target() -> None:
    """A tunnel has no request of its own; a plain one is repeated without what concerns the proxy, for one answer."""
    tunnel = parse_head(b"CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\n\r\n")
    plain = parse_head(
        b"GET http://b.example/x?y=1 HTTP/1.1\r\nHost: b\r\nProxy-Authorization: z\r\nConnection: k\r\n\r\n"
    )

    assert tunnel == ("a.example", 443, b"")
    assert plain == ("b.example", 80, b"GET /x?y=1 HTTP/1.1\r\nConnection: close\r\nHost: b\r\n\r\n")


@pytest.mark.parametrize(
    "head",
    [
        b"GET /x HTTP/1.1\r\n\r\n",
        b"CONNECT :443 HTTP/1.1\r\n\r\n",
        b"\xff\r\n\r\n",
        b"GET ftp://a/ HTTP/1.1\r\n\r\n",
        b"a b\r\n",
    ],
)
def test_anything_else_is_refused(head: bytes) -> None:
    """A request that names no server is an error."""
    with pytest.raises(ValueError):
        parse_head(head)
