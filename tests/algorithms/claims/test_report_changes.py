"""Tests of comparing two reports of a scheduled question."""

from tenure.algorithms.claims.report_changes import (
    collect_previous_quotes,
    collect_repeated_quotes,
    compare_reports,
    list_statements,
)
from tenure.contracts.base import RunId, SourceId
from tenure.contracts.result.changes import QuotedSource, ReportChanges
from tenure.contracts.result.result import Result, ResultCitation, ResultClaim, ResultSection, SourceEntry
from tenure.contracts.run.run import Usage

THEN, LATER, NOW = "2026-01-01T08:00:00+00:00", "2026-01-05T08:00:00+00:00", "2026-01-08T08:00:00+00:00"
RYE = "Bread is made of rye."
WHEAT = "Bread is made of wheat."
SALT = "Salt is needed."


def source(n: int, uri: str = "bread.md", accessed: str = THEN, id: str = "") -> SourceEntry:
    """Return a source of a report."""
    return SourceEntry(n=n, id=SourceId(id or uri), uri=uri, title=uri, accessed=accessed)


def claim(text: str, *quotes: tuple[int, str]) -> ResultClaim:
    """Return a claim with its quotes, by the numbers of their sources."""
    citations = tuple(ResultCitation(source=n, start=0, end=len(quote), quote=quote) for n, quote in quotes)
    return ResultClaim(text=text, status="supported", citations=citations)


def report(*claims: ResultClaim, sources: tuple[SourceEntry, ...], id: str = "last", at: str = THEN) -> Result:
    """Return a report of one section."""
    return Result(
        id=RunId(id),
        mode="RESEARCH",
        question="How?",
        title="",
        abstract="",
        sections=(ResultSection(topic="Bread", markdown="", claims=claims),),
        sources=sources,
        usage=Usage(),
        changes=ReportChanges(at=at) if at else None,
        status="done",
    )


def compared(last: Result, now: Result, gone: tuple[str, ...] = (), before: tuple[str, ...] = ()) -> ReportChanges:
    """Compare two reports, with some quotes of the last one gone and some of the new one in earlier copies."""
    stands = {words: words.quote not in gone for words in collect_previous_quotes(last, now)}
    repeats = {words: words.quote in before for words in collect_repeated_quotes(last, now)}
    return compare_reports(last, now, stands, repeats, NOW)


def texts(found: ReportChanges) -> tuple[list[str], list[tuple[str, str]], list[str]]:
    """Return the texts of the new, changed and withdrawn statements."""
    return (
        [one.text for one in found.new],
        [(one.before.text, one.after.text) for one in found.changed],
        [one.text for one in found.withdrawn],
    )


def test_same_report_has_no_changes() -> None:
    """Without newly read sources nothing is new, and every statement remains."""
    last = report(claim(RYE, (1, RYE)), claim(SALT, (1, SALT)), sources=(source(1),))
    found = compared(last, last)

    assert texts(found) == ([], [], [])
    assert (found.since, found.since_at, found.at, found.unchanged) == ("last", THEN, NOW, 2)


def test_other_selection_from_old_sources_is_no_change() -> None:
    """A sentence of an old source is not new, and an omitted one is not withdrawn."""
    last = report(claim(RYE, (1, RYE)), sources=(source(1),))
    found = compared(last, report(claim(SALT, (1, SALT)), sources=(source(1),)))

    assert texts(found) == ([], [], [])


def test_quotes_of_newly_read_sources_are_new() -> None:
    """A statement is new if it cites text that the last report could not have read."""
    last = report(claim(RYE, (1, RYE)), sources=(source(1),))
    sources = (source(1), source(2, "salt.md", LATER))
    found = compared(last, report(claim(RYE, (1, RYE)), claim(SALT, (1, RYE), (2, SALT)), sources=sources))

    assert texts(found) == ([SALT], [], [])
    assert found.new[0].quotes[1] == QuotedSource(uri="salt.md", title="salt.md", quote=SALT)


def test_statement_without_remaining_quotes_is_withdrawn() -> None:
    """A statement is withdrawn if all of its quotes are gone, not if some are or if it has none."""
    both = claim("Bread needs both.", (1, RYE), (1, SALT))
    last = report(claim(RYE, (1, RYE)), both, claim("Uncited."), sources=(source(1),))
    found = compared(last, report(sources=()), gone=(RYE,))

    assert texts(found) == ([], [], [RYE])
    assert found.unchanged == 2


def test_successor_replaces_a_withdrawn_statement() -> None:
    """The new statement on the same subject and source is paired with the withdrawn one."""
    last = report(claim(RYE, (1, RYE)), claim("Ovens are hot.", (1, "Ovens are hot.")), sources=(source(1),))
    now = report(claim(WHEAT, (1, WHEAT)), claim(SALT, (1, SALT)), sources=(source(1, accessed=LATER),))
    found = compared(last, now, gone=(RYE, "Ovens are hot."))

    assert texts(found) == ([SALT], [(RYE, WHEAT)], ["Ovens are hot."])


def test_repeated_statement_with_other_quotes_is_unchanged() -> None:
    """A repeated statement is not withdrawn although its quotes are gone."""
    last = report(claim(RYE, (1, RYE)), sources=(source(1),))
    now = report(claim(RYE, (1, "Rye makes bread.")), sources=(source(1, accessed=LATER),))

    assert texts(compared(last, now, gone=(RYE,))) == ([], [], [])


def test_page_stored_again_is_no_change() -> None:
    """Text of the last copy of a page is not new although the page was fetched again."""
    last = report(claim(RYE, (1, RYE)), sources=(source(1, "https://a", id="old"),))
    now = report(claim(SALT, (1, SALT)), claim(WHEAT, (1, WHEAT)), sources=(source(1, "https://a", LATER, id="new"),))

    assert texts(compared(last, now, before=(SALT,))) == ([WHEAT], [], [])
    assert list(collect_repeated_quotes(last, now).values()) == ["old", "old"]
    assert list(collect_previous_quotes(last, now).values()) == ["new"]


def test_report_date_defaults_to_its_newest_source() -> None:
    """A last report without a comparison is dated by its newest source."""
    last = report(claim(RYE, (1, RYE)), sources=(source(1, accessed=LATER),), at="")
    found = compared(last, report(claim(SALT, (1, SALT)), sources=(source(1, accessed=LATER),)))

    assert texts(found) == ([], [], [])
    assert found.since_at == ""


def test_repeated_sentence_is_one_statement() -> None:
    """Sections of a report may repeat each other."""
    twice = report(claim(RYE, (1, RYE)), claim(RYE.upper(), (1, RYE)), sources=(source(1),))

    assert [one.text for one in list_statements(twice)] == [RYE]


def test_statements_without_words_are_not_similar() -> None:
    """Statements of punctuation do not replace each other."""
    last = report(claim("…", (1, "…")), sources=(source(1),))
    found = compared(last, report(claim("!", (1, "!")), sources=(source(1, accessed=LATER),)), gone=("…",))

    assert found.changed == ()
