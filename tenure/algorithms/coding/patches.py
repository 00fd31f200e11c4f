"""Write the changes of text files as a patch in the form of Git.

Format: https://git-scm.com/docs/diff-format#generate_patch_text_with_p
"""

import difflib
import re
from collections.abc import Iterator, Mapping

# "a\n" and, at the end of a text without a line feed, "b".
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
# "diff --git a/src/a.py b/src/a.py" names the file twice; a quoted name stays as Git writes it
_HEAD = re.compile(r'diff --git "?a/.* "?b/(.*?)"?$', re.MULTILINE)
_FILE = re.compile(r"^(?=diff --git )", re.MULTILINE)
# Git's note on a text without a line feed at its end
_NO_NEWLINE = "\n\\ No newline at end of file\n"
_EMPTY_BLOB = "e69de29"
"""Beginning of the hash of an empty file, without which `git apply` refuses a file that has no lines."""


def build_patch(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    """Return the changes from some files, given by path, to others; `git apply` carries them out."""
    paths = sorted(before.keys() | after.keys())
    return "".join(line for path in paths for line in _diff_file(path, before.get(path), after.get(path)))


def mark_lines(patch: str) -> Iterator[tuple[str, str]]:
    """Yield the lines of a patch, each with its kind: `file`, `place`, `added`, `removed`, or empty for a kept one."""
    kinds = {"+": "added", "-": "removed"}
    is_content = False  # in the head of a file, "--- a/x" is a name and no removed line
    for line in patch.splitlines():
        if line.startswith("diff --git "):
            is_content = False
        elif line.startswith("@@ "):
            is_content = True
            yield "place", line
            continue
        yield kinds.get(line[:1], "") if is_content else "file", line


def split_patch(patch: str) -> Iterator[tuple[str, str]]:
    """Yield the changes of each file of a patch in the form of Git, with the path of the file."""
    for part in _FILE.split(patch):
        if head := _HEAD.match(part):
            yield head[1], part


def _diff_file(path: str, before: str | None, after: str | None) -> Iterator[str]:
    if before == after:
        return
    old, new = _quote_name(f"a/{path}"), _quote_name(f"b/{path}")
    yield f"diff --git {old} {new}\n"
    if before is None:
        yield "new file mode 100644\n"
    elif after is None:
        yield "deleted file mode 100644\n"
    if not before and not after:
        yield f"index 0000000..{_EMPTY_BLOB}\n" if before is None else f"index {_EMPTY_BLOB}..0000000\n"
        return
    hunks = difflib.unified_diff(_split_lines(before or ""), _split_lines(after or ""))
    # The first two lines are the names, which difflib does not quote.
    for _ in range(2):
        next(hunks)
    yield f"--- {_end_name(old) if before is not None else '/dev/null'}\n"
    yield f"+++ {_end_name(new) if after is not None else '/dev/null'}\n"
    for line in hunks:
        yield line if line.endswith("\n") else line + _NO_NEWLINE


def _split_lines(text: str) -> list[str]:
    """Return the lines of a text with their ends; only a line feed ends one, as in Git."""
    return _LINE.findall(text)


def _quote_name(name: str) -> str:
    r"""Return a name as Git writes it: `a/é.py` as `"a/\303\251.py"`."""
    if name.isascii() and name.isprintable() and not {'"', "\\"} & set(name):
        return name
    octets = (
        f"\\{chr(octet)}" if octet in b'"\\' else chr(octet) if 32 <= octet < 127 else f"\\{octet:03o}"
        for octet in name.encode()
    )
    return f'"{"".join(octets)}"'


def _end_name(name: str) -> str:
    """Return a name with a tab if it has a space, at which programs other than Git end a name."""
    return f"{name}\t" if " " in name else name
