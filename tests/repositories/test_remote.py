"""Repositories of servers: over HTTPS, under the address rules of pages, without redirects or passwords."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tenure.contracts.base import RunId
from tenure.contracts.coding.repositories import Workspace
from tenure.repositories import remote
from tenure.repositories.errors import RepositoryRefused, RepositoryUnavailable
from tenure.repositories.remote import is_url
from tenure.sources.fetch.address_guard import AddressGuard
from tests.repositories.git_server import GitServer, serve_repositories
from tests.support.repositories.git import (
    commit_files,
    make_repository,
    make_workspaces,
    read_tree,
    run_git,
)

ALLOWED = AddressGuard(("127.0.0.1",))


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[GitServer]:
    folder = tmp_path / "served"
    path = make_repository(folder / "repository", {"a": "1\n"})
    run_git(path, "tag", "v1")
    commit_files(path, {"a": "2\n"})
    with serve_repositories(folder, tmp_path) as server:
        monkeypatch.setenv("SSL_CERT_FILE", str(server.certificate))
        yield server


async def test_a_commit_of_a_server_is_copied(tmp_path: Path, server: GitServer) -> None:
    """Head, branch, tag and full hash are fetched, each without its history."""
    path = tmp_path / "served" / "repository"
    workspaces = make_workspaces(tmp_path / "home")
    first, second = (run_git(path, "rev-parse", name) for name in ("v1", "HEAD"))
    for revision, commit in (("HEAD", second), ("main", second), ("v1", first), (first, first)):
        copied = await workspaces.copies.copy_remote(f"{server.url}/repository/.git", revision, ALLOWED)
        assert copied.commit == commit
    state = Workspace(run=RunId("run"), repository=copied.key, commit=first)
    async with workspaces.open(state) as folder:
        assert read_tree(folder) == {"a": b"1\n"}


async def test_what_a_server_does_not_have_is_refused(tmp_path: Path, server: GitServer) -> None:
    """Unknown revisions and repositories, and revisions that only a local Git understands."""
    copies = make_workspaces(tmp_path / "home").copies
    for address, revision, reason in (
        ("/repository/.git", "nothing", "has no revision 'nothing'"),
        ("/repository/.git", "0" * 40, "has no revision"),
        ("/repository/.git", "HEAD~1", "branches, tags and full hashes"),
        ("/repository/.git", "--upload-pack=x", "branches, tags and full hashes"),
        ("/repository/.git", "main:refs/heads/x", "branches, tags and full hashes"),
        ("/elsewhere", "HEAD", "is no public repository"),
    ):
        with pytest.raises(RepositoryRefused, match=reason):
            await copies.copy_remote(server.url + address, revision, ALLOWED)


async def test_addresses_have_the_rules_of_pages(tmp_path: Path, server: GitServer) -> None:
    """Other schemes, passwords and addresses that are not public are refused before anything is sent."""
    copies = make_workspaces(tmp_path / "home").copies
    for address, reason in (
        (server.url, "TENURE_FETCH_ALLOW"),
        ("https://localhost/x", "TENURE_FETCH_ALLOW"),
        ("https://169.254.169.254/x", "metadata"),
        ("http://example.org/x", "over https only"),
        ("ssh://example.org/x", "Only https"),
        ("ext::sh -c id", "Only https"),
        ("git@example.org:x/y", "Only https"),
        ("file:///etc", "Only https"),
        ("https://user:secret@example.org/x", "is not valid"),
    ):
        with pytest.raises(RepositoryRefused, match=reason) as raised:
            await copies.copy_remote(address, "HEAD", AddressGuard())
        assert "secret" not in str(raised.value)
    assert server.requests == []


async def test_no_redirect_is_followed(tmp_path: Path, server: GitServer) -> None:
    """A server cannot lead Git to an address that was not checked."""
    server.redirect = "https://127.0.0.1:1"
    with pytest.raises(RepositoryRefused, match="redirects"):
        await make_workspaces(tmp_path / "home").copies.copy_remote(f"{server.url}/repository", "HEAD", ALLOWED)


async def test_a_repository_that_is_too_large_ends_during_the_transfer(
    tmp_path: Path, server: GitServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No file of the copy may exceed the limit, so the transfer ends there."""
    path = tmp_path / "served" / "repository"
    commit_files(path, {"large": bytes(range(256)) * 40 + b"".join(number.to_bytes(4) for number in range(100_000))})
    monkeypatch.setattr(remote, "MAX_FETCHED_BYTES", 50_000)
    with pytest.raises(RepositoryRefused, match=r"larger than"):
        await make_workspaces(tmp_path / "home").copies.copy_remote(f"{server.url}/repository/.git", "HEAD", ALLOWED)


async def test_a_server_that_is_away_may_come_back(tmp_path: Path, server: GitServer) -> None:
    """A refused connection, or a certificate that no authority has signed, is tried again later."""
    copies = make_workspaces(tmp_path / "home").copies
    with pytest.raises(RepositoryUnavailable, match="cannot be fetched"):
        await copies.copy_remote("https://127.0.0.1:1/x", "HEAD", ALLOWED)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("https://host/x.git", True),
        ("git@host:x/y", True),
        ("ext::sh", True),
        ("/home/me/project", False),
        ("./a:b", False),
        ("project/a:b", False),
        ("project", False),
    ],
)
def test_addresses_are_told_from_paths(path: str, expected: bool) -> None:
    """A path with a colon in a folder is a path, as for Git."""
    assert is_url(path) == expected
