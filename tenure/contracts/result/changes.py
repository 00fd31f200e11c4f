"""Differences between two consecutive reports of a scheduled question."""

from tenure.contracts.base import Contract


class QuotedSource(Contract):
    """Quote of a source in a report."""

    uri: str
    """URI of the source."""
    title: str
    """Title of the source."""
    quote: str
    """Quoted text."""


class CitedStatement(Contract):
    """A statement of a report with its quotes."""

    topic: str
    """Heading of its section."""
    text: str
    """The statement."""
    quotes: tuple[QuotedSource, ...] = ()
    """Its quotes."""


class RevisedStatement(Contract):
    """A statement that replaces one whose quotes no longer exist."""

    before: CitedStatement
    """Statement of the last report."""
    after: CitedStatement
    """Statement of this report."""


class ReportChanges(Contract):
    """Changes of a report since the previous report on the same scheduled question."""

    at: str
    """Time when this report was finished, ISO 8601 in UTC; sources read later are new to the next report."""
    since: str = ""
    """Run of the previous report; empty for the first one."""
    since_at: str = ""
    """Time when the previous report was finished."""
    new: tuple[CitedStatement, ...] = ()
    """Statements with quotes of sources that are new or have changed."""
    changed: tuple[RevisedStatement, ...] = ()
    """Statements that replace others."""
    withdrawn: tuple[CitedStatement, ...] = ()
    """Statements of the previous report whose quotes no longer exist in their sources."""
    unchanged: int = 0
    """Number of statements of the previous report whose quotes still exist."""
