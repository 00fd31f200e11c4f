from itertools import pairwise
from pathlib import PurePosixPath

import pytest
from markdown_it import MarkdownIt

from tenure.contracts.evidence.corpora import SkippedFile
from tenure.contracts.evidence.passages import Block, Claim, Draft, SynthesisDraft
from tenure.contracts.research.report import ReportDraft
from tenure.contracts.result.result import Result, ResultStatus
from tenure.contracts.run.run import Usage
from tenure.report.assemble import assemble_result
from tenure.report.render.markdown import render_markdown
from tests.report.render.test_escaping import ATTACKS
from tests.report.samples import NEAP, RISES, SOURCES, TIDES, StoredSource, full, hostile, paragraph, report, varied

EXPECTED = """\
# Why the sea moves

> **Question:** Why are there tides?

6 sentences: 6 supported. 2 sources.

## Abstract

The Moon pulls the water towards it. [1]

* A mark also stands for the sentences before it in its paragraph, back to the mark before it.

## The rhythm

The sea rises twice a day. The sea also falls twice a day. [2] The Moon pulls the water towards it. [1]

## Weak tides

- Neap tides are weak. [2]
- The Moon pulls the water towards it. [1]

## Limits of the evidence

- The whole report rests on 2 sources.
- One file could not be read, so this report lacks its content; the part “How this report was made” gives \
the reason.

## Further Considerations

*Thoughts of the model, not statements of a source; they are not cited.*

- A world with two moons would have a stranger rhythm.

## Feedback and answers

- “Say more on neap tides” (on Weak tides), 2026-11-20 09:31: received

## References

- [1] *The Moon's pull*, <https://moon.example/pull?a=1>, read 2026-11-20.
- [2] *On tides*, Ann Author, 2024-05-01, `notes/tides.md`, read 2026-11-20.

## How this report was made

- Run `research/why-tides-1a2b`, ended as *done*.
- Models: fallbacks without a model (router, report writer); `gpt-5` (report writer)
- The fallback answered instead of the model in one call of report writer: the answer was no JSON
- Used: 9 role calls, 3 searches, 4.2 s
- Limits: 10 searches
- Not read: `/library/notes/locked.pdf` (encrypted)
- Corpus notes: 2 documents.

## Quotes

Every citation mark above leads to words of its source, quoted here verbatim (except for white space) with their \
place: in the file, if it is text and unchanged, else in the text that was read from it; and the nearest heading.

### [1] The Moon's pull

- “The Moon pulls the water towards it.” (from character 0; in: Abstract; The rhythm; Weak tides; \
<https://moon.example/pull?a=1#:~:text=The%20Moon%20pulls%20the%20water%20towards%20it.>)

### [2] On tides

- “The sea rises twice a day.” (from character 9, under “Tides”; in: The rhythm)
- “The sea also falls twice a day.” (from character 36, under “Tides”; in: The rhythm)
- “Neap tides are weak.” (from character 68, under “Tides”; in: Weak tides)
"""


def headings(markdown: str) -> list[str]:
    tokens = MarkdownIt("commonmark").parse(markdown)
    return [after.content for token, after in pairwise(tokens) if token.type == "heading_open"]


def rendered(draft: ReportDraft) -> str:
    return render_markdown(assemble_result(draft, SOURCES))


def test_a_report_reads_from_title_to_provenance() -> None:
    """The whole report is set as agreed, text first and what it rests on after it."""
    assert render_markdown(assemble_result(report(), SOURCES), PurePosixPath("/library")) == EXPECTED


def test_parts_without_content_are_absent() -> None:
    """Without considerations and feedback, the report has neither part."""
    text = rendered(report(further_considerations=(), feedback=()))

    assert "Further Considerations" not in headings(text)
    assert "Feedback and answers" not in headings(text)


def test_a_report_without_evidence_says_so() -> None:
    """A report without evidence names the searches and gives advice, and makes no claims."""
    text = rendered(report(abstract=Draft(), sections=(), further_considerations=(), usage=Usage(searches=1)))

    assert "**No evidence was found.**" in text
    assert "1 search in the knowledge base, 1 file that could not be read" in text
    assert "`--docs PATH`" in text and "unread files below" in text
    assert headings(text) == ["Why the sea moves", "Feedback and answers", "How this report was made"]


def test_a_report_without_evidence_leads_to_the_nearest_facts() -> None:
    """Gaps that cite a source are announced; without them the report makes no claims."""
    near = SynthesisDraft(gaps=paragraph(NEAP.model_copy(update={"kind": "gap"})))
    text = rendered(report(status="no_evidence", abstract=Draft(), sections=(), synthesis=near))

    assert "was found; the nearest facts are under “What is not known”." in text
    assert "## What is not known" in text and "makes no claims" not in text


def test_a_report_without_evidence_mentions_no_unread_files_if_all_were_read() -> None:
    """Advice that cannot help is not given."""
    text = rendered(report(abstract=Draft(), sections=(), usage=Usage(searches=2), skipped=()))

    assert "**Searched:** 2 searches in the knowledge base." in text
    assert "unread" not in text and "could not be read" not in text


@pytest.mark.parametrize("status", ["finished_early", "cancelled", "unsupported", "failed"])
def test_an_early_end_is_said_at_the_top(status: ResultStatus) -> None:
    """A reader learns before the text that the run did not end on its own."""
    top = rendered(report(status=status)).split("## Abstract")[0]

    assert top.rstrip().endswith(".*")


def test_a_hostile_source_cannot_shape_the_report() -> None:
    """Headings, HTML and links in titles, quotes, paths and feedback are shown and do nothing."""
    evil = "# Owned\n\n<script>x</script> [y](javascript:z) ![i](https://evil.example/i.png)"
    source = StoredSource(uri="/a`b\n# c<d>.md", title=evil, text=evil, author="<b>bold</b>")
    cited = RISES.citations[0].model_copy(update={"start": 0, "end": len(evil), "quote": evil})
    draft = report(
        question=evil, title=evil, abstract=paragraph(Claim(text=evil, citations=(cited,))), sections=(), notes=(evil,)
    )
    text = render_markdown(assemble_result(draft, {TIDES: source}))
    tokens = [token for block in MarkdownIt("commonmark").parse(text) for token in [block, *(block.children or [])]]

    assert headings(text).count("# Owned") == 0
    assert len(headings(text)) == 9
    assert not {token.type for token in tokens} & {"html_block", "html_inline", "link_open", "image"}


@pytest.mark.parametrize("attack", ATTACKS)
def test_nothing_but_sources_is_linked(attack: str) -> None:
    """With hostile text in every field, links lead to sources only, and nothing is loaded or run."""
    text = render_markdown(hostile(attack))
    tokens = [token for block in MarkdownIt("commonmark").parse(text) for token in [block, *(block.children or [])]]
    links = {str(token.attrs["href"]).split("#")[0] for token in tokens if token.type == "link_open"}

    assert links <= {"https://moon.example/pull?a=1"}
    assert not {token.type for token in tokens} & {"html_block", "html_inline", "image", "fence", "code_block"}


def test_marks_can_name_author_and_year() -> None:
    """In the author-year style references are sorted alphabetically and have no numbers."""
    text = render_markdown(full(), style="author-year")

    assert "The sea rises twice a day. The sea also falls twice a day. (Author 2024)" in text
    assert "(The Moon's pull n.d.)" in text
    assert text.index("- (Author 2024) *On tides*") < text.index("- (The Moon's pull n.d.) *The Moon's pull*")
    assert "[1]" not in text


def test_a_doubtful_sentence_is_marked() -> None:
    """A sentence that its source does not support has a mark, which is explained; an unchecked one has none."""
    text = render_markdown(full())

    assert "The sea is old. [2] The sea is wide. [not confirmed] [2] The sea never rises. [contradicted] [2]" in text
    assert "The sea is blue. [unsourced]" in text
    assert text.count("read the quote before you rely on it") == 1


def test_a_short_answer_stands_first() -> None:
    """The answer in a few words comes before the abstract, with its source."""
    before, after = render_markdown(full()).split("## Abstract")

    assert before.strip().endswith("**Short answer:** The Moon [1]")
    assert "Short answer" not in after + rendered(report())


def test_disagreement_is_shown_with_both_quotes() -> None:
    """Contradictions between sources, both say so in their own words; elsewhere there is no such part."""
    text = render_markdown(full())
    part = text.split("## Contradictions between sources\n\n")[1].split("\n## ")[0]

    assert part.startswith("Severity: medium\n\n- On tides: “The sea rises twice a day.” [2]\n- On tides: “Neap")
    assert "Contradictions between sources" not in rendered(report())


def test_the_verdict_of_the_model_is_among_the_remarks_at_the_end() -> None:
    """The verdict is in the part on how the report was made."""
    line = "- By the verdict of the model: Too short."

    assert line in render_markdown(full()).split("## How this report was made")[1]


def test_quotes_of_the_synthesis_are_listed() -> None:
    """A source that only the synthesis cites has its quotes listed too."""
    draft = report(sections=(), synthesis=SynthesisDraft(resolution=paragraph(RISES, NEAP)))

    assert "“Neap tides are weak.” (from character 68, under “Tides”; in: What follows)" in rendered(draft)


def test_many_skipped_files_are_counted() -> None:
    """Past the first twenty, skipped files are summed up in one line."""
    skipped = tuple(SkippedFile(path=f"/f{n}", reason="binary") for n in range(23))

    assert "- Not read: 3 more files" in rendered(report(skipped=skipped))


def test_a_result_read_back_from_json_renders_the_same() -> None:
    """The JSON document holds all that the Markdown report shows."""
    result = assemble_result(report(), SOURCES)

    assert render_markdown(Result.model_validate_json(result.model_dump_json())) == render_markdown(result)


def test_a_contradiction_names_its_subject() -> None:
    """The subject of a contradiction follows its severity, escaped."""
    (found,) = full().contradictions
    told = full(contradictions=(found.model_copy(update={"about": "how *strong*"}),))

    assert "Severity: medium (how \\*strong\\*)" in render_markdown(told)


def test_both_sides_of_a_position_are_shown() -> None:
    """Quotes for and against come with date and origin, then what the last search found, then the outcome."""
    part = render_markdown(full()).split("## For and against\n\n")[1].split("\n## ")[0]

    assert part.startswith(
        "Does the sea rise? Passages: 2 for, 1 against, 0 neutral.\n\n- *For:* On tides (2020; primary"
    )
    assert "- *Against:* On tides: “Neap tides are weak.” [2]" in part
    assert "- *Against, found by the last search:* On tides" in part
    assert part.rstrip().endswith("*Still disputed: Nothing decides.*")
    assert "For and against" not in rendered(report())


def test_every_form_of_text_is_set() -> None:
    """Lists, terms, code and tables are Markdown, and an inference that no heading explains has a remark."""
    text = render_markdown(varied())
    section = text.partition("## The rhythm\n\n")[2].partition("\n\n## ")[0]

    assert section.startswith("The tides are these: The sea also falls twice a day. [i] [2]\n\n### Two\n\n")
    assert "1. The sea rises twice a day. [2]\n2. The sea also falls twice a day. [2]" in section
    assert r"- **Neap \*tide\*:** Neap tides are weak. [2]" in section
    assert "### Code\n\n```\n@tide.rise\ndef rise(sea):\n    return '[1] `up`'\n```\n\n[2]\n\n|  | Cause |" in section
    assert r"| **Neap** | **Neap** \| Cause [2] |" in section
    assert section.count("### Code") == 1


def test_a_conclusion_has_a_short_mark() -> None:
    """The mark of a conclusion is explained before the first section, and only if it occurs."""
    cell = NEAP.model_copy(update={"kind": "inference", "label": "Neap", "column": "Cause"})
    table = Draft(blocks=(Block(kind="table", claims=(cell,)),))
    text = rendered(report(synthesis=SynthesisDraft(resolution=paragraph(RISES), comparison=table)))

    assert "| **Neap** | Neap tides are weak. [i] [2] |" in text
    assert text.index("* \\[i]: concluded from the cited words") < text.index("## Comparison")
    assert "concluded from the cited words" not in rendered(report())


def test_conclusions_and_gaps_close_the_report() -> None:
    """Conclusions and gaps come after the sections, with one remark for each part and none on a sentence."""
    text = render_markdown(varied())
    end = text.partition("## What follows\n\n")[2].partition("\n\n## Limits")[0]

    assert end == (
        "*Conclusions of this report, not statements of a source; the marks name the passages they rest on.*\n\n"
        "The sea rises twice a day. [2] Sail at *spring* tide. [1]\n\n## What is not known\n\n"
        "*Questions that the sources that were read leave open.*\n\nNo source says how old `rise()` is."
    )
    assert headings(text).index("Comparison") < headings(text).index("The rhythm") < headings(text).index("References")
    assert "| **Spring** | – | – |" not in text and "| **Neap** |" in text
