"""Generate names: ids of runs, corpora of folders; readable first, unique second."""

import hashlib
import re
import secrets
import unicodedata
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Annotated

from tenure.algorithms.text.printable import escape_control_characters
from tenure.contracts.evidence.web import WEB_PREFIX
from tenure.runs.errors import InvalidRequest

DEFAULT_CORPUS = "manual"
"""Corpus of this repository's `docs/`, used by default."""

# "notes", "papers-2024.v2"; a part of paths and of SQL names, so no slash and no space.
_CORPUS = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_MAX_RUN_LENGTH = 200


def make_run_id(question: str, mode: str, *, private: bool = False, suffix: str = "") -> str:
    """Return a workflow id made from the question, or one without its words if private: ids are never encrypted.

    It ends with the suffix, or with random digits.
    """
    kind = "code" if mode == "code" else "research"
    end = suffix or secrets.token_hex(6 if private else 3)
    return f"{kind}-{end}" if private else f"{kind}-{slugify(question)}-{end}"


def make_fork_id(origin: str, cycle: int) -> str:
    """Return the id of a fork after a cycle or an answer, made from the id of its origin."""
    return check_run(f"{origin}-after-{cycle}-{secrets.token_hex(3)}")


def make_corpus_name(paths: Iterable[Path], *, include_secrets: bool = False) -> str:
    """Return the corpus name of some paths: the same absolute paths give the same name.

    A corpus with secrets has a name of its own, so that no other run over the same paths reads it.
    """
    absolute = sorted(str(path) for path in paths)
    digest = hashlib.sha256("\n".join([*absolute, *(["secrets"] if include_secrets else [])]).encode()).hexdigest()[:8]
    return f"{slugify(Path(absolute[0]).stem or 'root', 24)}-{digest}"


def slugify(text: str, limit: int = 40) -> str:
    """Return a text as lower-case ASCII words joined by hyphens, cut between words."""
    plain = unicodedata.normalize("NFKD", text.casefold()).encode("ascii", "ignore").decode()
    words = re.findall(r"[a-z0-9]+", plain)
    slug = ""
    for word in words:
        longer = f"{slug}-{word}" if slug else word[:limit]
        if len(longer) > limit:
            break
        slug = longer
    return slug or "question"


def check_corpus(name: str, *, is_existing: bool = False) -> str:
    """Return a valid corpus name; `is_existing` accepts existing corpora, which may contain a run's web pages.

    Raises:
        InvalidRequest: the name is invalid.
    """
    if not _CORPUS.fullmatch(name) and not (is_existing and name.startswith(WEB_PREFIX) and _is_run(name)):
        raise InvalidRequest(
            f"{name!r} is not a corpus name: use letters, digits, dots, hyphens and underscores, at most 64"
        )
    return name


def check_run(name: str) -> str:
    """Return a valid run id.

    Raises:
        InvalidRequest: the id is invalid.
    """
    if not _is_run(name):
        raise InvalidRequest(
            f"{name[:80]!r} is not a run id: use up to {_MAX_RUN_LENGTH} visible characters without spaces and `../`"
        )
    return name


RunName = Annotated[str, check_run]
"""Id of a run."""

CorpusName = Annotated[str, partial(check_corpus, is_existing=True)]
"""Name of an existing corpus."""


def _is_run(name: str) -> bool:
    """Return whether an id shows all of its characters, as it does on pages and in paths, and leads to no folder above.

    Slashes separate the ids of the workflows of a run: `research-0f3a/ask`.
    """
    is_visible = name.isprintable() and " " not in name and escape_control_characters(name) == name
    return is_visible and len(name) <= _MAX_RUN_LENGTH and not {"", ".", ".."} & set(re.split(r"[/\\]", name))
