"""Names a command makes up: ids of runs, corpora of folders. Readable first, unique second."""

import hashlib
import re
import secrets
import unicodedata
from collections.abc import Iterable
from pathlib import Path

from tenure.cli.errors import UsageError
from tenure.contracts.evidence.web import WEB_PREFIX

DEFAULT_CORPUS = "manual"
"""The corpus of this repository's `docs/`, read where nothing else is named."""

_CORPUS = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_RUN = re.compile(r"[^\s\x00-\x1f]{1,200}")


def run_id(question: str, mode: str, *, private: bool = False) -> str:
    """Make up a workflow id that says what was asked, or one that does not: ids are never encrypted."""
    kind = "code" if mode == "code" else "research"
    return f"{kind}-{secrets.token_hex(6)}" if private else f"{kind}-{slug(question)}-{secrets.token_hex(3)}"


def fork_id(origin: str, cycle: int) -> str:
    """Make up the id of a fork, which says where it comes from."""
    return check_run(f"{origin}-after-{cycle}-{secrets.token_hex(3)}")


def corpus_of(paths: Iterable[Path]) -> str:
    """Name the corpus of some paths: the same absolute paths give the same name."""
    absolute = sorted(str(path) for path in paths)
    digest = hashlib.sha256("\n".join(absolute).encode()).hexdigest()[:8]
    return f"{slug(Path(absolute[0]).stem or 'root', 24)}-{digest}"


def slug(text: str, limit: int = 40) -> str:
    """Reduce a text to lower-case ASCII words joined by hyphens, cut between words."""
    plain = unicodedata.normalize("NFKD", text.casefold()).encode("ascii", "ignore").decode()
    words = re.findall(r"[a-z0-9]+", plain)
    kept = ""
    for word in words:
        longer = f"{kept}-{word}" if kept else word[:limit]
        if len(longer) > limit:
            break
        kept = longer
    return kept or "question"


def check_corpus(name: str, *, made: bool = False) -> str:
    """Return a corpus name that a person gave; `made` for one that is there, and may be of a run's web pages.

    Raises:
        UsageError: it is not one.
    """
    if not _CORPUS.fullmatch(name) and not (made and name.startswith(WEB_PREFIX) and _RUN.fullmatch(name)):
        raise UsageError(f"{name!r} is no corpus name: letters, digits, dots, hyphens and underscores, at most 64")
    return name


def check_run(name: str) -> str:
    """Return a run id that a person gave.

    Raises:
        UsageError: it is not one.
    """
    if not _RUN.fullmatch(name):
        raise UsageError(f"{name[:80]!r} is no run id: up to 200 characters without spaces")
    return name
