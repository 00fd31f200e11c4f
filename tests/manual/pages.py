"""Read the shell commands of the manual."""

import re
from collections.abc import Iterator
from typing import Final

from tests.cli.conftest import ROOT

TUTORIAL: Final = "tutorial.md"
"""Page whose commands `tests/test_tutorial.py` runs."""

_BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"\s{2,}#.*$|^#.*$", re.MULTILINE)


def list_commands(text: str) -> list[str]:
    """Return the commands of a page; continued lines and loops are one command, and comments are left out."""
    return [command for block in _BLOCK.findall(text) for command in _split(_COMMENT.sub("", block))]


def read_manual() -> dict[str, list[str]]:
    """Return the commands of the README and of all pages of the manual but the tutorial."""
    paths = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    return {
        path.name: commands
        for path in paths
        if path.name != TUTORIAL and (commands := list_commands(path.read_text(encoding="utf-8")))
    }


def _split(block: str) -> Iterator[str]:
    """Yield the commands of a block."""
    joined = re.sub(r"\\\n\s*", "", block).replace("uv run client.py", "python client.py")
    loop: list[str] = []
    for line in filter(None, map(str.rstrip, joined.splitlines())):
        if loop or line.startswith("for "):
            loop.append(line)
            if line == "done":
                yield "\n".join(loop)
                loop = []
        else:
            yield line.strip()
