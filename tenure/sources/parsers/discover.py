"""Find the files of a set of paths, in a deterministic order.

Folders are walked recursively. Excluded are version control, virtual environments, installed packages, caches, hidden
files, and files that a `.gitignore` in the tree excludes. A file of an unknown format is included, so that the parser
can report why it is unreadable.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from pathspec import GitIgnoreSpec

_SKIPPED_FOLDERS = frozenset(
    ("__pycache__", "node_modules", "bower_components", "venv", "virtualenv", "site-packages", "CVS", "_darcs")
)
_SKIPPED_SUFFIXES = (".egg-info", ".dist-info")
_VIRTUALENV_MARK = "pyvenv.cfg"
_CACHE_MARK = "CACHEDIR.TAG"

Rules = tuple[tuple[Path, GitIgnoreSpec], ...]


def discover_files(paths: Sequence[Path]) -> Iterator[Path]:
    """Yield the files of the paths, each once, folders in the order of names.

    An explicitly named path is included even if a rule would exclude it inside a folder.

    Raises:
        FileNotFoundError: one of the paths does not exist; raised before the first file.
    """
    for path in paths:
        if not path.exists():
            raise FileNotFoundError(path)
    return _discover_files(paths)


def _discover_files(paths: Sequence[Path]) -> Iterator[Path]:
    seen: set[Path] = set()
    for path in paths:
        for file in _walk(path.absolute(), (), seen) if path.is_dir() else (path.absolute(),):
            if (real := file.resolve()) not in seen:
                seen.add(real)
                yield file


def _walk(folder: Path, rules: Rules, seen: set[Path]) -> Iterator[Path]:
    """Yield the files in a folder; a folder that is reached twice, by a link or by name, is walked once."""
    real = folder.resolve()
    if real in seen:
        return
    seen.add(real)
    try:
        entries = sorted(folder.iterdir(), key=lambda entry: entry.name)
    except PermissionError:
        # Yield the folder itself, so that the parser reports the reason.
        yield folder
        return
    rules = _with_rules_of(folder, rules)
    for entry in entries:
        if entry.name.startswith(".") or _is_ignored(entry, rules):
            continue
        if not entry.is_dir():
            yield entry
        elif not _is_skipped(entry):
            yield from _walk(entry, rules, seen)


def _is_skipped(folder: Path) -> bool:
    if folder.name in _SKIPPED_FOLDERS or folder.name.endswith(_SKIPPED_SUFFIXES):
        return True
    return any((folder / mark).exists() for mark in (_VIRTUALENV_MARK, _CACHE_MARK))


def _with_rules_of(folder: Path, rules: Rules) -> Rules:
    file = folder / ".gitignore"
    if not file.is_file():
        return rules
    lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    return (*rules, (folder, GitIgnoreSpec.from_lines(lines)))


def _is_ignored(entry: Path, rules: Rules) -> bool:
    """Return the decision of the innermost `.gitignore` with a matching rule, as git does."""
    for folder, spec in reversed(rules):
        name = entry.relative_to(folder).as_posix() + ("/" if entry.is_dir() else "")
        verdict = spec.check_file(name).include
        if verdict is not None:
            return verdict
    return False
