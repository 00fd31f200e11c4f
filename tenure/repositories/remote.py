"""Fetch a commit of a Git server over HTTPS, under the address rules of web pages."""

import os
import re
from typing import Final

from tenure.algorithms.text.urls import CanonicalUrl, InvalidUrlError, parse_url
from tenure.repositories.errors import RepositoryRefused, RepositoryUnavailable
from tenure.repositories.git import Git, GitFailed
from tenure.sources.fetch.address_guard import AddressGuard
from tenure.sources.fetch.errors import NoResponse, RequestRefused

MAX_FETCHED_BYTES: Final = 1 << 30
"""Maximum size of the packed commit that a server sends."""
_FETCH_SECONDS: Final = 1_800.0
_LOW_SPEED: Final = ("http.lowSpeedLimit=1000", "http.lowSpeedTime=60")
"""Bytes in a second below which a connection ends after a time in seconds."""
_MIN_VERSION: Final = (2, 37)
"""First version of Git that connects to a given address (`http.curloptResolve`)."""
_REVISION: Final = re.compile(r"[A-Za-z0-9_][\w./+@-]{0,199}")
"""Name of a branch or tag such as `release/1.2`, or a full hash; a server knows no other revisions."""


def is_url(path: str) -> bool:
    """Return whether the path of a repository is an address, such as `https://host/name.git` or `git@host:name`."""
    return "://" in path or (not path.startswith(("/", ".")) and ":" in path.partition("/")[0])


def parse_repository_url(text: str) -> CanonicalUrl:
    """Return the address of a repository.

    Raises:
        RepositoryRefused: it is not an HTTPS address without a user name.
    """
    try:
        url = parse_url(text)
    except InvalidUrlError as error:
        raise RepositoryRefused(
            f"the address of the repository is not valid: {error.reason}. Only https addresses are fetched; clone "
            "others and name the folder"
        ) from None
    if url.scheme != "https":
        raise RepositoryRefused("a repository is fetched over https only: clone it and name the folder")
    return url


async def resolve_server(guard: AddressGuard, url: CanonicalUrl) -> tuple[str, ...]:
    """Return the checked addresses of the server of a repository.

    Raises:
        RepositoryRefused: a rule forbids the host.
        RepositoryUnavailable: the host does not exist at the moment.
    """
    try:
        return await guard.resolve(url.host, url.port)
    except RequestRefused as error:
        raise RepositoryRefused(f"the repository is not fetched: {error}") from None
    except NoResponse as error:
        raise RepositoryUnavailable(f"the repository cannot be fetched: {error}") from None


def fetch_commit(git: Git, url: CanonicalUrl, addresses: tuple[str, ...], revision: str) -> str:
    """Fetch a commit into a private copy, and return its hash.

    Raises:
        RepositoryRefused: the server does not know the revision, or the repository is too large or not public.
        RepositoryUnavailable: the server does not answer.
    """
    if not _REVISION.fullmatch(revision) or ".." in revision:
        raise RepositoryRefused(
            f"a server has no revision {revision!r}: it knows branches, tags and full hashes of commits"
        )
    version = tuple(int(part) for part in re.findall(r"\d+", git.read("version"))[:2])
    if version < _MIN_VERSION:
        raise RepositoryRefused("Git on the worker's machine is older than 2.37 and fetches no repository: update it")
    # To the checked addresses only, without redirects to others, and without a proxy or a stored password.
    pinned = f"http.curloptResolve={url.host}:{url.port}:{','.join(map(_bracket, addresses))}"
    certificates = os.environ.get("SSL_CERT_FILE", "")
    settings = (
        *("protocol.https.allow=always", "http.followRedirects=false", "http.emptyAuth=false", pinned, *_LOW_SPEED),
        *((f"http.sslCAInfo={certificates}",) if certificates else ()),
    )
    command = [part for setting in settings for part in ("-c", setting)]
    target = "refs/tenure/fetched"
    try:
        git.run(
            *(*command, "fetch", "--quiet", "--depth=1", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance"),
            *("--no-recurse-submodules", "--force", str(url), f"{revision}:{target}"),
            seconds=_FETCH_SECONDS,
            max_file_bytes=MAX_FETCHED_BYTES,
            environment={"GIT_ALLOW_PROTOCOL": "https", "GIT_ASKPASS": "false"},
        )
        return git.read("rev-parse", "--verify", f"{target}^{{commit}}")
    except GitFailed as error:
        raise _translate(error, url, revision) from None


def _translate(error: GitFailed, url: CanonicalUrl, revision: str) -> RepositoryRefused | RepositoryUnavailable:
    """Return the error for a person; the server's own words are not repeated."""
    text = error.output.casefold()
    name = f"{url.origin}{url.target}"
    if "couldn't find remote ref" in text or "not our ref" in text or "unadvertised object" in text:
        return RepositoryRefused(f"{name} has no revision {revision!r}")
    if "file size limit" in text or "file too large" in text or "signal 25" in text:
        return RepositoryRefused(f"{name} is larger than {MAX_FETCHED_BYTES / 1e9:.1f} GB")
    if "not found" in text or "could not read username" in text or "authentication failed" in text or "403" in text:
        return RepositoryRefused(f"{name} is no public repository: clone it and name the folder")
    if "redirect" in text or "301" in text or "302" in text:
        return RepositoryRefused(f"{name} redirects to another address: name that one")
    return RepositoryUnavailable(f"{name} cannot be fetched: {error.complaint}")


def _bracket(address: str) -> str:
    return f"[{address}]" if ":" in address else address
