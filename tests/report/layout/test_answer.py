"""Answers to follow-up questions as Markdown."""

from tenure.contracts.base import RunId, SourceId
from tenure.contracts.result.ask import AskReply
from tenure.contracts.result.result import ResultCitation, ResultClaim, SourceEntry
from tenure.report.render.markdown import render_answer


def test_an_answer_shows_its_sources_and_their_words() -> None:
    """Text with marks, the cited sources by their numbers, each quote once; foreign text is no markup."""
    cited = ResultCitation(source=3, start=0, end=9, quote="The *oven*")
    source = SourceEntry(
        n=3, id=SourceId("s"), uri="https://b.example/", title="<b>Bread", accessed="2026-01-02T00:00:00+00:00"
    )
    claims = (
        ResultClaim(text="It is hot.", status="supported", citations=(cited,), begins="paragraph"),
        ResultClaim(text="Very hot.", status="supported", citations=(cited,)),
    )
    answer = AskReply(
        run=RunId("r"),
        question="How hot?",
        standalone_question="How hot?",
        status="answered",
        claims=claims,
        sources=(source,),
    )

    text, sources, quotes = render_answer(answer).replace("**Quotes**", "**Sources**").split("\n\n**Sources**\n\n")
    assert "It is hot." in text and text.endswith("[3]")
    assert sources.startswith("- [3] *") and "\\<b>" in sources and "2026-01-02" in sources
    assert quotes.count("[3]") == 1 and "*oven*" not in quotes


def test_excerpts_of_an_answer_are_not_quoted_again() -> None:
    """An answer without a model shows its sources after its excerpts, which are quotes themselves."""
    cited = ResultCitation(source=3, start=0, end=9, quote="It is hot.")
    source = SourceEntry(n=3, id=SourceId("s"), uri="b.md", title="Bread", accessed="2026-01-02T00:00:00+00:00")
    claim = ResultClaim(
        text="It is hot.", status="supported", citations=(cited,), begins="excerpt", part="paragraph", answers=True
    )
    answer = AskReply(
        run=RunId("r"), question="?", standalone_question="?", status="answered", claims=(claim,), sources=(source,)
    )
    text = render_answer(answer)

    assert "> **It is hot.**" in text and "- [3] *Bread*" in text
    assert "**Quotes**" not in text
