"""Print the reply of a command: as one JSON document if that is wanted, else in words."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tenure.cli.terminal import print_json, print_note, print_status, print_table

Verbosity = Literal["quiet", "normal", "verbose"]


@dataclass(frozen=True)
class Output:
    """Form of the reply of a command."""

    json: bool = False
    """Whether standard output is one JSON document."""
    verbosity: Verbosity = "normal"
    """Amount of progress on standard error."""

    def print_json(self, reply: Any) -> bool:
        """Print a reply if JSON is wanted, and return whether it is."""
        if self.json:
            print_json(_dump(reply))
        return self.json

    def print_note(self, reply: Any, line: str) -> None:
        """Print a reply as JSON, or a line about it on standard error."""
        if not self.print_json(reply):
            print_note(line)

    def print_status(self, line: str) -> None:
        """Print a line about the course of the command, unless it is quiet."""
        print_status(line, self.verbosity)


def _dump(reply: Any) -> Any:
    """Return the values of models for JSON."""
    if isinstance(reply, list | tuple):
        return [_dump(value) for value in reply]
    if isinstance(reply, dict):
        return {name: _dump(value) for name, value in reply.items()}
    return reply.model_dump(mode="json") if hasattr(reply, "model_dump") else reply


def print_rows(
    headings: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: Collection[str] = (), cut: str = ""
) -> None:
    """Print a table.

    Args:
        headings: names of the columns.
        rows: cells.
        numbers: columns that are right-aligned.
        cut: column that gets the rest of the line and is cut at its end; no column is wrapped then.
    """
    # Imported when needed: most commands print lines only.
    from rich.table import Table

    table = Table(box=None, padding=(0, 1), header_style="bold")
    for heading in headings:
        table.add_column(
            heading,
            justify="right" if heading in numbers else "left",
            no_wrap=bool(cut),
            ratio=1 if heading == cut else None,
            overflow="ellipsis" if cut else "fold",
        )
    for row in rows:
        table.add_row(*row)
    print_table(table)
