"""Tests of a reviewer's verdicts and edits, and of the text that they give."""

from typing import Any

from tenure.contracts.evidence.passages import Block, Claim, Draft
from tenure.contracts.research.report import SectionReview
from tenure.roles.section_edits import SectionReviewerOutput, build_review
from tests.roles.cases import EVIDENCE, MADE, RIPENS, RISES, quoted

RISEN = Claim(text="Dough is left alone for two hours.", citations=(quoted(0, RISES),))
KEPT = Claim(text="Ripening cheese likes a cool cellar.", citations=(quoted(1, RIPENS),))
DRAFT = Draft(blocks=(Block(claims=(Claim(text=MADE, status="supported", citations=(quoted(0, MADE),)), RISEN, KEPT)),))


def review(draft: Draft = DRAFT, **answer: Any) -> SectionReview:
    return build_review(draft, SectionReviewerOutput.model_validate(answer), EVIDENCE)


def statuses(reply: SectionReview) -> list[str]:
    return [claim.status for claim in reply.draft.claims]


def new(text: str, *passages: int, **place: int) -> dict[str, Any]:
    return {"text": text, "passages": passages, **place}


def test_sentences_without_a_verdict_are_supported() -> None:
    """An answer without verdicts and edits confirms every sentence and changes nothing."""
    reply = review()

    assert (reply.action, reply.refused_edits, statuses(reply)) == ("NONE", 0, ["supported"] * 3)
    assert reply.draft.text == DRAFT.text


def test_the_first_verdict_on_an_unchecked_sentence_counts() -> None:
    """A confirmed sentence is not judged again, and of two verdicts on one sentence the first one counts."""
    verdicts = [
        {"sentence": 1, "verdict": "refuted", "confidence": 1.0},
        {"sentence": 2, "verdict": "neutral", "confidence": 0.6},
        {"sentence": 2, "verdict": "refuted", "confidence": 0.9},
    ]
    found = review(verdicts=verdicts).draft.claims

    assert [(claim.status, claim.confidence) for claim in found[:2]] == [("supported", None), ("neutral", 0.6)]


def test_silence_does_not_confirm_invented_details() -> None:
    """A sentence whose measures its passages lack is not supported, although no verdict names it."""
    wrong = Draft(blocks=(Block(claims=(RISEN.model_copy(update={"text": "The dough rises for seven hours."}),)),))

    assert statuses(review(wrong)) == ["neutral"]


def test_edits_are_cited_and_judged() -> None:
    """New sentences get verbatim quotes and a verdict without a model; new blocks keep their form."""
    block = {"kind": "bullets", "sentences": [new(RISES, 1)]}
    reply = review(
        critique=" Vague. ",
        replace=[new("The bread's dough has to rise for two hours.", 1, sentence=2)],
        add=[new("Volcanoes cool the whole climate of the earth.", 1, after=2)],
        blocks=[{"after": 3, "block": block}],
    )

    assert (reply.action, reply.critique, reply.condemned) == ("EDIT", "Vague.", ())
    assert statuses(reply) == ["supported", "supported", "neutral", "supported", "supported"]
    assert [part.kind for part in reply.draft.blocks] == ["paragraph", "bullets"]
    assert reply.draft.claims[1].citations[0].quote == RISES


def test_condemned_sentences_are_reported() -> None:
    """Unsupported sentences that are replaced or deleted are named; only deleted ones are removed."""
    verdicts = [{"sentence": n, "verdict": "refuted", "confidence": 0.9} for n in (2, 3)]
    reply = review(verdicts=verdicts, replace=[new(RISES, 1, sentence=2)], delete=[1, 3])

    assert reply.condemned == (RISEN.text, KEPT.text)
    assert [(claim.text, claim.status) for claim in reply.removed] == [(KEPT.text, "refuted")]
    assert reply.draft.text == RISES


def test_edits_without_a_place_or_a_passage_are_refused() -> None:
    """A number that does not exist, or a fact without a passage, changes nothing and is counted."""
    table = {"kind": "paragraph", "sentences": [new("Unsourced.")]}
    reply = review(
        replace=[new("Unsourced.", sentence=2), new(RISES, 1, sentence=9)],
        delete=[0],
        add=[new("Unsourced.", 99, after=1)],
        blocks=[{"after": 1, "block": table}],
    )

    assert (reply.refused_edits, reply.draft.text) == (5, DRAFT.text)


def test_gaps_need_no_passage() -> None:
    """A sentence on a gap is added without a passage and without a verdict."""
    reply = review(add=[{"after": 3, "text": "The passages do not name an oven.", "passages": [], "kind": "gap"}])

    assert (reply.refused_edits, statuses(reply)[-1]) == (0, "unverified")


def test_a_search_is_an_action_of_its_own() -> None:
    """A query is passed on without blanks around it, also together with edits."""
    reply = review(query=" rye flour ", delete=[3], unfinished=True)

    assert (reply.action, reply.query, reply.is_unfinished) == ("SEARCH", "rye flour", True)
