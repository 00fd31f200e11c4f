"""Test the limits of the evidence in a report."""

from typing import Any

import pytest

from tenure.contracts.evidence.corpora import NO_TEXT, SkippedFile
from tenure.contracts.evidence.web import ProviderUsage, WebPage, WebReport
from tenure.contracts.result.result import EvaluatedPart, Evaluation, Result
from tenure.contracts.run.run import Usage
from tenure.report.assemble import assemble_result
from tenure.report.layout.limits import FOREIGN_LIMIT, MADE, describe_no_answer, list_evidence_limits
from tenure.report.layout.marks import ALL_TAINTED_MEANING, TAINTED, TAINTED_MEANING
from tenure.report.layout.report import explain_no_evidence
from tenure.report.render.html import render_html
from tenure.report.render.markdown import render_markdown, write_markdown
from tests.report.layout.test_provenance import render_provenance
from tests.report.samples import SOURCES, report

SOUND = assemble_result(report(), SOURCES)


def changed(**fields: Any) -> Result:
    """The sample's result with other fields and nothing else to complain of."""
    topics = {section.topic: 0.9 for section in SOUND.sections}
    sources = tuple(
        source.model_copy(update={"n": n, "published": ""}) for n in (1, 2, 3) for source in SOUND.sources[:1]
    )
    sections = tuple(
        section.model_copy(
            update={"claims": tuple(claim.model_copy(update={"status": "supported"}) for claim in section.claims)}
        )
        for section in SOUND.sections
    )
    plain: dict[str, Any] = {"coverage": topics, "sources": sources, "sections": sections, "skipped": ()}
    return SOUND.model_copy(update=plain | fields)


def test_sound_evidence_has_no_limits() -> None:
    """Sound evidence has no limits, and a run without a report has no such part."""
    assert list_evidence_limits(changed()) == ()
    assert "Limits of the evidence" not in render_markdown(changed())
    assert (
        list_evidence_limits(changed(sections=(), abstract_claims=(), skipped=(SkippedFile(path="a", reason="b"),)))
        == ()
    )


WINE, COST = EvaluatedPart(part="wine", answered="partly"), EvaluatedPart(part="cost", answered="no")
DATED = SOUND.sources[0].model_copy(update={"published": "2019-02-03"})
DOUBTFUL = changed().sections[0].claims[0].model_copy(update={"status": "neutral"})
UNCHECKED = DOUBTFUL.model_copy(update={"status": "unverified"})


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"coverage": {"Whales": 0.0}}, "Nothing was found on “Whales”."),
        ({"coverage": {SOUND.sections[0].topic: 0.2}}, f"The evidence on “{SOUND.sections[0].topic}” is thin."),
        (
            {"evaluation": Evaluation(parts=(WINE, COST))},
            "By the verdict of the model, nothing here answers “cost”.",
        ),
        (
            {"sources": (SOUND.sources[0].model_copy(update={"uri": "memory:ab"}), *changed().sources[1:])},
            "3 statements rest on the memory of a person's statement, not on a document.",
        ),
        ({"sources": changed().sources[:1]}, "The whole report rests on a single source."),
        ({"sources": changed().sources[:2]}, "The whole report rests on 2 sources."),
        (
            {"coverage": {}, "sections": (SOUND.sections[0].model_copy(update={"claims": (DOUBTFUL,)}),)},
            "One sentence is not supported by the cited quotes; the marks show which.",
        ),
        (
            {"coverage": {}, "sections": (SOUND.sections[0].model_copy(update={"claims": (UNCHECKED,)}),)},
            "One sentence was written by a model and not checked against the cited quotes.",
        ),
        (
            {"coverage": {}, "sections": (SOUND.sections[0].model_copy(update={"claims": (DOUBTFUL,) * 2}),)},
            "2 sentences are not supported by the cited quotes; the marks show which.",
        ),
        ({"question": "Warum gibt es die Gezeiten?", "usage": Usage()}, FOREIGN_LIMIT),
        (
            {"usage": Usage(untranslated=("de", "ja"))},
            "Passages in another language were searched with the words of the question, which no model translated: "
            "German, Japanese.",
        ),
        (
            {"usage": Usage(embedded_share=0.5)},
            "Some searches matched words only, because not all passages were embedded yet.",
        ),
        (
            {"skipped": (SkippedFile(path="a", reason="b"),)},
            f"One file could not be read, so this report lacks its content; the part “{MADE}” gives the reason.",
        ),
        (
            {
                "skipped": (
                    *(SkippedFile(path="a", reason="b"),) * 2,
                    *(SkippedFile(path=name, reason="is empty") for name in ("notes.md", "mark.woff2")),
                    SkippedFile(path="_index.md", reason=NO_TEXT),
                    SkippedFile(path="mark.woff2", reason="is a binary file"),
                )
            },
            f"2 files could not be read, so this report lacks their content; the part “{MADE}” gives the reason.",
        ),
    ],
)
def test_each_limit_is_one_sentence(fields: dict[str, Any], told: str) -> None:
    """Each limit is computed from the result document."""
    assert list_evidence_limits(changed(**fields)) == (told,)


def test_a_computed_answer_needs_one_source_only() -> None:
    """A report whose only source is a calculation has no limit of the number of sources."""
    computed = SOUND.sources[0].model_copy(update={"derived": True, "published": ""})

    assert list_evidence_limits(changed(sources=(computed,))) == ()


def test_limits_stand_in_every_format() -> None:
    """They follow what was found, in Markdown and on the page, and lead into it from the table of contents."""
    result = changed(sources=tuple(source.model_copy(update={"published": ""}) for source in SOUND.sources))

    assert "## Limits of the evidence\n\n- The whole report rests on 2 sources." in render_markdown(result)
    assert '<a href="#limits" dir="auto">' in render_html(
        result
    ) and "The whole report rests on 2 sources." in render_html(result)


DOWN = ProviderUsage(provider="searxng", searches=3, answered=1, note="it is down")


@pytest.mark.parametrize(
    ("web", "told"),
    [
        (WebReport(), "No search provider answered (none is configured)."),
        (
            WebReport(providers=(DOWN.model_copy(update={"answered": 0}),)),
            "No search provider answered (searxng: it is down).",
        ),
        (WebReport(providers=(DOWN,)), "searxng did not answer 2 of 3 searches (it is down)."),
        (
            WebReport(providers=(DOWN,), pages=(WebPage(url="https://a.example", status="failed"),)),
            "One page from search results could not be read.",
        ),
        (
            WebReport(pages=(WebPage(url="https://a.example", status="read", flaws=("instructions",)),)),
            "https://a.example contains instructions to its reader; they were treated as text only.",
        ),
        (
            WebReport(pages=(WebPage(url="https://a.example", status="read", flaws=("paywall",)),)),
            "https://a.example shows only its beginning (paywall).",
        ),
    ],
)
def test_what_is_wrong_with_the_web_is_told(web: WebReport, told: str) -> None:
    """Engines that failed, pages that could not be read and pages with flaws are limits of the evidence."""
    assert told in list_evidence_limits(changed(web=web))


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        (
            {"suspicious_sources": ("a.md",)},
            ("a.md contains words like instructions to language models; they were read as data.",),
        ),
        (
            {"suspicious_sources": ("a.md", "b.md"), "usage": Usage(calls=9, exposed_calls=3)},
            (
                "a.md and b.md contain words like instructions to language models; they were read as data.",
                "Models read such instructions in 3 of 9 calls: 0 sentences are marked, and title, headings, "
                "evaluation and further considerations may be influenced as well.",
            ),
        ),
        (
            {"usage": Usage(calls=9, exposed_calls=1), "mode": "CODE", "sections": ()},
            (
                "A file, a table or an answer of a tool had words like instructions to language models, read as data.",
                "A model read such instructions while it wrote this code: read the code before you use it.",
            ),
        ),
    ],
)
def test_texts_with_instructions_are_named(fields: dict[str, Any], told: tuple[str, ...]) -> None:
    """Texts with instructions come first, with what they may have influenced."""
    assert list_evidence_limits(changed(**fields))[: len(told)] == told


def test_a_tainted_sentence_is_marked_in_every_format() -> None:
    """A sentence that instructions may have influenced carries a mark; one remark replaces them if it is most."""
    claim = SOUND.sections[0].claims[0]
    tainted = claim.model_copy(update={"tainted": True})
    few, most = (
        changed(
            abstract_claims=(),
            reasoning=None,
            synthesis=None,
            sections=(SOUND.sections[0].model_copy(update={"claims": claims}),),
        )
        for claims in ((tainted, claim, claim), (tainted, tainted, claim))
    )

    for render in (render_markdown, render_html):
        assert f"[{TAINTED}" in render(few) and TAINTED_MEANING in render(few)
        assert f"[{TAINTED}" not in render(most) and ALL_TAINTED_MEANING in render(most)


def test_nothing_found_says_that_nobody_answered() -> None:
    """A report without evidence says that no engine answered, so that it is not taken for proof of absence."""
    nothing = changed(sections=(), web=WebReport(providers=(DOWN.model_copy(update={"answered": 0}),)))

    assert "No search provider answered (searxng: it is down)" in write_markdown(explain_no_evidence(nothing))


def test_the_last_part_lists_providers_and_pages() -> None:
    """Search providers with their answers, and pages that are not sources with the reasons, are in the last part."""
    pages = tuple(WebPage(url=f"https://a.example/{n}", status="failed", note="404") for n in range(25))
    text = render_provenance(
        changed(web=WebReport(providers=(DOWN, ProviderUsage(provider="brave", configured=False)), pages=pages))
    )

    assert "- Search provider `searxng` answered 1 of 3 searches: it is down" in text
    assert "- Search provider `brave` was not asked" in text
    assert "- Not a source: `https://a.example/0` (404)" in text
    assert "- Not listed: 5 more pages" in text


def test_a_report_without_an_answer_says_so_first() -> None:
    """If the model finds no part answered, the first line says it; the list of limits does not repeat it."""
    verdict, judge = Evaluation(parts=(COST,)), "By the verdict of the model"
    silent, partly = changed(evaluation=verdict), changed(evaluation=verdict.model_copy(update={"parts": (WINE, COST)}))
    remark = f"{judge}, this report does not answer its question. The closest statements follow."

    assert render_markdown(silent).index(remark) < render_markdown(silent).index("## Abstract")
    assert remark in render_html(silent)
    assert not any("cost" in limit for limit in list_evidence_limits(silent))
    assert remark not in render_markdown(partly)
    assert f"{judge}, nothing here answers “cost”." in render_markdown(partly)


def test_a_report_with_a_short_answer_lists_what_the_model_misses() -> None:
    """A report with a short answer has no such first line, and keeps the verdict among the limits."""
    answered = changed(evaluation=Evaluation(parts=(COST,)), short_answer=SOUND.abstract_claims[0])

    assert describe_no_answer(answered) == describe_no_answer(changed(evaluation=Evaluation(issues=("x",)))) == ""
    assert "By the verdict of the model, nothing here answers “cost”." in list_evidence_limits(answered)
