"""Write the tables of search providers and document formats into the manual, from the registries of `tenure.sources`.

`python -m tenure.reference.sources` replaces the tables in `docs/web.md` and `docs/corpora.md`, between comments that
name them.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tenure.sources.parsers.registry import list_formats
from tenure.sources.search.registry import get_key_variable, get_url_variable, load_provider_classes

_DOCS: Final = Path(__file__).resolve().parents[2] / "docs"


def render_providers() -> str:
    """Return the table of search providers as Markdown."""
    rows = []
    for name, provider in load_provider_classes().items():
        key = f"`{get_key_variable(name, provider)}`" if provider.key != "none" else ""
        variable = key + (", or nothing" if provider.key == "optional" else "") or "nothing"
        variable = variable if provider.base_url else f"`{get_url_variable(name)}`"
        rows.append(f"| `{name}` | {provider.description} | {variable} |")
    rows.append("| a name of yours | a server with an OpenSearch description | `TENURE_OPENSEARCH` |")
    rows.append("| a name of yours | an MCP server with a search tool | `TENURE_MCP_SERVERS` |")
    return "\n".join(["| name | content | configured by |", "|---|---|---|", *rows])


def render_formats() -> str:
    """Return the table of document formats as Markdown."""
    rows = [
        f"| {', '.join(f'`{suffix}`' for suffix in declared.suffixes)} | {declared.description} |"
        for declared in list_formats()
    ]
    return "\n".join(["| suffixes | content |", "|---|---|", *rows])


TABLES: Final[dict[str, tuple[Path, Callable[[], str]]]] = {
    "search providers": (_DOCS / "web.md", render_providers),
    "document formats": (_DOCS / "corpora.md", render_formats),
}
"""Page and contents of each table."""


def replace_table(page: str, name: str, table: str) -> str:
    """Return a page with a new table between the comments `<!-- NAME -->` and `<!-- end of NAME -->`.

    Raises:
        ValueError: the page does not have the comments exactly once.
    """
    start, end = f"<!-- {name} -->\n", f"\n<!-- end of {name} -->"
    pattern = re.compile(f"{re.escape(start)}.*?{re.escape(end)}", re.DOTALL)
    text, count = pattern.subn(lambda _: start + table + end, page)
    if count != 1:
        raise ValueError(f"{count} tables of {name}")
    return text


def main() -> None:
    """Update the tables of the manual."""
    for name, (path, render) in TABLES.items():
        path.write_text(replace_table(path.read_text(encoding="utf-8"), name, render()), encoding="utf-8")


if __name__ == "__main__":
    main()
