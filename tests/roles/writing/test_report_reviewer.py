"""Tests of the prompt of a report's reviewer, and of the report that its verdicts and edits give."""

from typing import Any

import pytest

from tenure.algorithms.text.passage import Passage
from tenure.contracts.evidence.passages import Block, Claim, Draft
from tenure.contracts.research.report import ReportPart, ReportReview, ReportText, Topic
from tenure.roles.base import Evidence
from tenure.roles.report_edits import ReportReviewerOutput, parse_review
from tenure.roles.writing.report_reviewer import (
    LAST_TASK,
    TASK,
    ReportReviewerInput,
    apply_review,
    fallback,
    number_sentences,
    render,
)
from tenure.roles.writing.report_writer import PartEvidence
from tests.roles.cases import EVIDENCE, MADE, QUESTION, RIPENS, RISES, quoted
from tests.support.passages import passage

GAP = Claim(text="How rye ages.", kind="gap", query="ageing of rye")
LEFT = Claim(text="Dough is left alone for two hours.", citations=(quoted(0, RISES),))
COOL = Claim(text="Ripening cheese likes a cool cellar.", citations=(quoted(1, RIPENS),))
KNOWN = Claim(text=MADE, status="supported", citations=(quoted(0, MADE),))


def part(kind: Any, *claims: Claim, heading: str = "", form: Any = "paragraph") -> ReportPart:
    return ReportPart(kind=kind, heading=heading, draft=Draft(blocks=(Block(kind=form, claims=claims),)))


TEXT = ReportText(
    title="Bread and cheese",
    parts=(
        part("answer", KNOWN),
        part("section", LEFT, COOL, heading="Making bread"),
        part("gaps", GAP, form="bullets"),
    ),
)
ASKED = ReportReviewerInput(
    question=QUESTION,
    parts=(PartEvidence(topic=Topic(heading="Making bread", question="How is bread made?"), passages=(1, 3)),),
    text=TEXT,
)


def review(*lines: str, text: ReportText = TEXT, passages: tuple[Passage, ...] = EVIDENCE.passages) -> ReportReview:
    """Return the report after the entries of a review."""
    given = ASKED.model_copy(update={"text": text})
    return apply_review(given, parse_review("\n".join((*lines, "DONE"))), Evidence(passages, EVIDENCE.encode))


def said(reply: ReportReview) -> list[list[str]]:
    """Return the sentences of each part."""
    return [[claim.statement for claim in one.draft.claims] for one in reply.text.parts]


def statuses(reply: ReportReview) -> list[str]:
    return [claim.status for claim in reply.text.claims]


def test_a_review_judges_the_report_and_its_sources() -> None:
    """A part without an answer is searched for if no other search is named; quotes of a conflict are verbatim."""
    open_part = "ANSWERED no: how rye ages"
    reply = review(open_part, "ISSUE: It is short.", f"CONFLICT [1, 2] low: both – “{MADE[:30]}” / “{RIPENS[:30]}”")

    assert reply.evaluation is not None and reply.evaluation.missing == ("how rye ages",)
    assert (reply.evaluation.issues, reply.queries) == (("It is short.",), ("how rye ages",))
    assert [(one.a.quote, one.b.quote, one.severity) for one in reply.contradictions] == [(MADE, RIPENS, "low")]
    assert review(open_part, "SEARCH: ageing").queries == ("ageing",)
    assert review(open_part, "OPEN 4: nothing on ageing").queries == ()
    assert review("CONFLICT [1, 99]: a", "CONFLICT [2, 2]: b").contradictions == ()
    assert apply_review(ASKED, fallback(ASKED, EVIDENCE), EVIDENCE).evaluation is None


def test_sentences_are_numbered_through_all_parts() -> None:
    """Headings, sub-headings and marks are shown, and numbers continue from part to part."""
    cells = tuple(LEFT.model_copy(update={"text": text, "label": "Rye", "column": text}) for text in ("a", "b"))
    table = ReportPart(
        kind="comparison", draft=Draft(blocks=(Block(kind="table", heading="Kinds", claims=cells), *DRAFT_OF_CODE))
    )
    parts = (TEXT.parts[0], table, *TEXT.parts[1:])

    assert number_sentences(TEXT.model_copy(update={"parts": parts}), EVIDENCE, "").split("\n") == [
        "## Answer",
        f"1. {MADE} [1]",
        *("", "", "## Comparison"),
        *("### Kinds", "2. Rye – a: a [1]", "3. Rye – b: b [1]", ""),
        *("4. bake:", "  now", ""),
        *("", "## Making bread"),
        f"5. {LEFT.text} [1]",
        f"6. {COOL.text} [2]",
        *("", "", "## What is not known"),
        "7. How rye ages. (a gap)",
    ]


def test_a_review_reads_and_changes_title_and_short_answer() -> None:
    """Both are shown before the numbered sentences, and an edit without a text leaves them as they are."""
    text = TEXT.model_copy(update={"short_answer": "Two hours"})
    prompt = render(ASKED.model_copy(update={"text": text}), EVIDENCE)[-1].content

    assert f"Title: Bread and cheese\nShort answer: Two hours\n\n## Answer\n1. {MADE}" in prompt
    changed = review("TITLE: Rye rises.", "ANSWER: One hour.", text=text).text
    assert (changed.title, changed.short_answer) == ("Rye rises", "One hour")
    kept = review("TITLE: none", "ANSWERED yes: all", text=text).text
    assert (kept.title, kept.short_answer) == ("Bread and cheese", "Two hours")
    assert review("ANSWER: –", text=text).text.short_answer == ""
    assert review("ANSWER: One hour [1].", "TITLE: Rye rises [1]", text=text).text.short_answer == "One hour"
    assert review(f"ANSWER: {'long ' * 60}", text=text).text.short_answer == "Two hours"


DRAFT_OF_CODE = (Block(kind="code", claims=(Claim(text="bake:\n  now", status="supported"),)),)


def test_doubtful_sentences_are_remarked() -> None:
    """A sentence is shown with its kind, with details that its passages lack, and with an earlier verdict."""
    claims = (
        Claim(text="It rises for 45 minutes.", citations=(quoted(0, RISES),)),
        Claim(text="So wait.", kind="inference", status="neutral", citations=(quoted(0, RISES),)),
        Claim(text="It rises.", status="invalid_source"),
        Claim(text="Then bake.", kind="inference", status="supported", citations=(quoted(0, RISES),)),
    )
    shown = number_sentences(ReportText(parts=(part("answer", *claims),)), EVIDENCE, "")

    assert "1. It rises for 45 minutes. [1] (not found there: 45)" in shown
    assert "2. So wait. [1] (an inference; not confirmed)" in shown
    assert "3. It rises. (names no passage)" in shown
    assert "4. Then bake. [1] (an inference)" in shown


def test_details_of_the_question_are_not_remarked() -> None:
    """A number that the asker has named is no invention of the writer."""
    text = ReportText(parts=(part("answer", Claim(text="It rises for 45 minutes.", citations=(quoted(0, RISES),))),))

    assert number_sentences(text, EVIDENCE, "Is 45 minutes enough?").endswith("1. It rises for 45 minutes. [1]")


def test_the_task_names_what_was_searched_and_asked_for() -> None:
    """Each search with its sentence and passages, requests and earlier critiques are shown if there are any."""
    update = {
        "requests": ("More\n- on rye</task>",),
        "searches": {"ageing of rye": (2, 3), "price of rye": (9,)},
        "earlier_critiques": ("No hours.",),
    }
    asked = ASKED.model_copy(update=update)
    bare, full, new = (
        render(one, EVIDENCE)[1].content for one in (ASKED, asked, asked.model_copy(update={"first_new": 3}))
    )

    assert "- More - on rye[markup removed]\n" in full
    assert "- sentence 4: “ageing of rye” found 2, 3\n- not in the draft: “price of rye” found nothing\n" in full
    assert "not to be repeated:\n- No hours." in full
    assert "nothing\nThe draft was written without passages 3 to 3.\n" in new and "was written without" not in full
    for title in ("Requests, to be met", "Critiques already made", "Searches made"):
        assert title in full and title not in bare


def test_the_last_review_asks_for_no_search() -> None:
    """The prompt says if the results of a search could not be read, or if little budget is left."""
    last, low = (
        render(ASKED.model_copy(update=update), EVIDENCE)[1].content
        for update in ({"may_search": False}, {"running_low": True})
    )

    assert TASK in last and LAST_TASK in last and LAST_TASK not in low
    assert "Most of the budget is used" in low and "Most of the budget is used" not in last


def test_nothing_is_judged_without_a_model() -> None:
    """The fallback changes no sentence of a model, even if there are requests, and confirms none."""
    for asked in (ASKED, ASKED.model_copy(update={"requests": ("More",)})):
        reply = apply_review(asked, fallback(asked, EVIDENCE), EVIDENCE)

        assert (reply.text.parts, reply.queries) == (TEXT.parts, ())
        assert reply == ReportReview(text=reply.text)


def test_requests_are_met_by_other_excerpts_without_a_model() -> None:
    """A report of excerpts is selected again with feedback; its title and its short answer stay."""
    excerpts = [
        Draft(blocks=tuple(block.model_copy(update={"kind": "excerpt"}) for block in part.draft.blocks))
        for part in TEXT.parts
    ]
    text = TEXT.replace_drafts(excerpts).model_copy(update={"short_answer": "two hours"})
    update = {"requests": ("More",), "feedback": ("mould that needs air",), "text": text}
    asked = ASKED.model_copy(update={**update, "parts": (ASKED.parts[0].model_copy(update={"passages": (1, 2)}),)})
    reply = apply_review(asked, fallback(asked, EVIDENCE), EVIDENCE)

    assert (reply.text.title, reply.text.short_answer, list(reply.text.sections)) == (
        *(TEXT.title, "two hours"),
        ["Making bread"],
    )
    assert {RISES, RIPENS} <= {claim.text for claim in reply.text.claims}


def test_sentences_without_a_verdict_are_supported() -> None:
    """A review without entries confirms every sentence that needs passages and changes nothing."""
    reply = review()

    assert (said(reply), reply.refused_edits) == ([[MADE], [LEFT.text, COOL.text], [GAP.text]], 0)
    assert statuses(reply) == ["supported", "supported", "supported", "unverified"]


def test_the_first_verdict_on_an_unchecked_sentence_counts() -> None:
    """A confirmed sentence is not judged again, and of two verdicts on one sentence the first one counts."""
    reply = review("WRONG 1 refuted 1.0", "WRONG 2 neutral 0.6", "WRONG 2 refuted 0.9", "WRONG 99 refuted")

    assert [(claim.status, claim.confidence) for claim in reply.text.claims[:2]] == [
        ("supported", None),
        ("neutral", 0.6),
    ]


def test_silence_does_not_confirm_invented_details() -> None:
    """A sentence whose measures its passages lack is not supported, although no verdict names it."""
    wrong = LEFT.model_copy(update={"text": "The dough rises for seven hours."})

    assert statuses(review(text=ReportText(parts=(part("answer", wrong),)))) == ["neutral"]


def test_edits_change_the_part_that_has_their_sentence() -> None:
    """Replacements, additions and blocks are cited verbatim, judged by their words, and put in the right places."""
    reply = review(
        f"ADD 0: {RIPENS} [2]",
        "REPLACE 2: The bread's dough has to rise for two hours [1].",
        "ADD 2: Volcanoes cool the whole climate of the earth [1].",
        f"BLOCK 3:\n- {RISES} [1]",
        "ADD 4: Its price [?].",
    )

    assert said(reply) == [
        [RIPENS, MADE],
        [
            "The bread's dough has to rise for two hours.",
            "Volcanoes cool the whole climate of the earth.",
            COOL.text,
            RISES,
        ],
        [GAP.text, "Its price."],
    ]
    assert [block.kind for block in reply.text.parts[1].draft.blocks] == ["paragraph", "bullets"]
    assert [claim.citations[0].quote for claim in reply.text.parts[1].draft.claims][::3] == [RISES, RISES]
    assert statuses(reply)[2:4] == ["supported", "neutral"] and reply.refused_edits == 0


def test_a_gap_is_answered() -> None:
    """The answer joins the section where it belongs, the statement of absence goes, and so does its empty part."""
    found = passage("Rye bread keeps for two weeks.", "rye", 0)
    reply = review("ADD 3: Rye bread keeps for two weeks [4].", "DELETE 4", passages=(*EVIDENCE.passages, found))

    assert [one.kind for one in reply.text.parts] == ["answer", "section"]
    assert reply.text.claims[-1].citations[0].chunk == found.chunk and reply.text.claims[-1].status == "supported"


@pytest.mark.parametrize("new", ["rye flour [3].", "Rye bread – Made of: rye flour [3]."])
def test_a_cell_keeps_its_place(new: str) -> None:
    """A new text of a cell, also one that repeats row and column, stays in its row and closes the gap."""
    cells = tuple(Claim(text="–", kind="gap", label="Rye bread", column=name) for name in ("Made of", "Price"))
    text = ReportText(parts=(part("comparison", *cells, form="table"),))
    (filled, empty) = review(f"REPLACE 1: {new}", text=text).text.claims

    assert (filled.label, filled.column, filled.text, filled.kind) == ("Rye bread", "Made of", "rye flour.", "fact")
    assert [one.chunk for one in filled.citations] == [EVIDENCE.passages[2].chunk]
    assert empty == cells[1]


FOUND = {"searches": {GAP.query: (3,)}, "first_new": 3}
"""A search for the gap has found a passage that the writer has not read."""


@pytest.mark.parametrize(
    ("entry", "kept"),
    [
        ("", []),
        ("OPEN 4: only the age of wheat.", ["How rye ages."]),
        ("REPLACE 4: How old rye ages [?].", ["How old rye ages."]),
        ("DELETE 4", []),
    ],
)
def test_a_gap_stays_only_if_the_review_says_so(entry: str, kept: list[str]) -> None:
    """A gap whose new passages no entry speaks of is left out and reported."""
    asked = ASKED.model_copy(update=FOUND)
    reply = apply_review(asked, parse_review(f"{entry}\nDONE"), EVIDENCE)

    assert [claim.text for claim in reply.text.get_draft("gaps").claims] == kept
    assert reply.unanswered == (() if entry else (GAP.text,))
    assert len(apply_review(ASKED, parse_review("DONE"), EVIDENCE).text.get_draft("gaps").claims) == 1


def test_no_gap_stays_unread_without_a_model() -> None:
    """If no model reads what was found on a gap, it is left out."""
    asked = ASKED.model_copy(update=FOUND)

    assert apply_review(asked, fallback(asked, EVIDENCE), EVIDENCE).unanswered == (GAP.text,)


def test_what_is_left_of_a_gap_was_searched_for() -> None:
    """A narrowed gap has the search of the whole, unless it brings another one; an answer has none."""
    lines = ("How old rye ages [?].", "How old rye ages [?] (search: old rye).", f"{RISES} [1]")

    assert [review(f"REPLACE 4: {line}").text.claims[3].query for line in lines] == ["ageing of rye", "old rye", ""]


def test_condemned_sentences_are_reported() -> None:
    """Unsupported sentences that are replaced or deleted are named; only deleted ones are removed."""
    reply = review("WRONG 2, 3 refuted 0.9", f"REPLACE 2: {RISES} [1]", "DELETE 1, 3")

    assert reply.condemned == (LEFT.text, COOL.text)
    assert [(claim.text, claim.status) for claim in reply.removed] == [(COOL.text, "refuted")]
    assert said(reply) == [[RISES], [GAP.text]]


@pytest.mark.parametrize(
    ("line", "refused"),
    [
        ("REPLACE 2: Unsourced.", 1),
        (f"REPLACE 9: {RISES} [1]", 1),
        ("DELETE 0, 9", 2),
        ("ADD 1: Unsourced [99].", 1),
        (f"ADD 9: {RISES} [1]", 1),
        ("BLOCK 1:\nUnsourced.", 1),
        (f"BLOCK 9:\n{RISES} [1]", 1),
    ],
)
def test_edits_without_a_place_or_a_passage_are_refused(line: str, refused: int) -> None:
    """A number that does not exist, or a fact without a passage, changes nothing and is counted."""
    reply = review(line)

    assert (reply.refused_edits, said(reply)) == (refused, said(review()))


def test_other_edits_are_made() -> None:
    """Edits next to refused ones are made, and several edits of one place are not refused."""
    mixed = review(f"BLOCK 1:\n- Unsourced.\n\n{RISES} [1]")
    several = review(f"BLOCK 1:\n{RISES} [1]", f"BLOCK 1:\n{RIPENS} [2]", f"REPLACE 2: {RISES} [1]", "DELETE 2")

    assert (mixed.refused_edits, said(mixed)[0]) == (1, [MADE, RISES])
    assert (several.refused_edits, said(several)[:2]) == (0, [[MADE, RISES, RIPENS], [RISES, COOL.text]])


def test_verdicts_searches_and_considerations_are_passed_on() -> None:
    """The workflow decides from them what comes next; searches of the writer are over."""
    reply = review("SECTION Making bread: SEARCH – no price.", "SEARCH: price of rye", "CONSIDER: Compare ovens.")

    assert [(one.heading, one.action, one.critique) for one in reply.verdicts] == [
        ("Making bread", "SEARCH", "no price.")
    ]
    assert (reply.queries, reply.considerations) == (("price of rye",), ("Compare ovens.",))


def test_a_review_survives_json() -> None:
    """The reply of the activity is unchanged by a round trip through JSON."""
    reply = review(
        "SECTION X: REWRITE – bad.", "WRONG 2 refuted", "DELETE 2", f"BLOCK 3:\n| | A |\n|---|---|\n| B | {RISES} [1] |"
    )

    assert reply == ReportReview.model_validate_json(reply.model_dump_json())
    output = ReportReviewerOutput(is_judged=False)
    assert output == ReportReviewerOutput.model_validate_json(output.model_dump_json())
