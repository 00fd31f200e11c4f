"""Tests of the claim checker's fallback and of the use of its verdicts."""

import pytest

from tenure.contracts.base import ChunkId, SourceId
from tenure.contracts.evidence.passages import Citation, Claim
from tenure.roles.base import Evidence
from tenure.roles.claims.claim_checker import (
    NO_CORRECTIONS_RULE,
    ClaimCheckerInput,
    ClaimCheckerOutput,
    ClaimVerdict,
    apply_verdicts,
    confirm_corrections,
    fallback,
    render,
)
from tests.roles.cases import EVIDENCE, MADE, RISES, quoted
from tests.support.passages import passage
from tests.support.worlds import encode


def claim(text: str, *citations: Citation) -> Claim:
    return Claim(text=text, citations=citations or (quoted(0, RISES),))


def check(*claims: Claim) -> tuple[Claim, ...]:
    return judge(fallback(given(*claims), EVIDENCE), *claims)


def judge(output: ClaimCheckerOutput, *claims: Claim) -> tuple[Claim, ...]:
    return tuple(claim for claim in apply_verdicts(given(*claims), output, EVIDENCE).claims if claim)


def given(*claims: Claim, said: tuple[str, ...] = (), may_correct: bool = False) -> ClaimCheckerInput:
    return ClaimCheckerInput(
        question="How is bread made?", claims=claims, other_sentences=said, may_correct=may_correct
    )


def correct(*claims: Claim, evidence: Evidence = EVIDENCE, said: tuple[str, ...] = ()) -> tuple[Claim | None, ...]:
    asked = given(*claims, said=said, may_correct=True)
    return apply_verdicts(asked, fallback(asked, evidence), evidence).claims


def test_the_fallback_distinguishes_supported_claims() -> None:
    """A claim with the source's words is supported, a denial is refuted, and a claim in other words is open."""
    good, bad, other = check(claim(RISES.rstrip(".")), claim(RISES.replace("has to", "has not to")), claim("It is."))

    assert [(one.status, one.confidence) for one in (good, bad, other)] == [
        ("supported", 1.0),
        ("refuted", 1.0),
        ("neutral", 0.0),
    ]


def test_other_languages_are_neutral() -> None:
    """The fallback judges a claim in another language as neutral."""
    (found,) = check(claim("Der Teig ruht zwei Stunden in der Küche."))

    assert (found.status, found.confidence) == ("neutral", 0.0)


def test_sentences_of_a_model_stay_unless_they_are_probably_wrong() -> None:
    """Without another model, a restatement stays unchecked in any language, and an invention is marked."""
    free, invented = "Bread needs flour and a rest of two hours.", "Volcanoes cool the whole climate."
    foreign = "Der Teig ruht zwei Stunden in der Küche."
    asked = given(*map(claim, (free, foreign, invented)), may_correct=True).model_copy(
        update={"written_by_model": True}
    )
    checked = apply_verdicts(asked, fallback(asked, EVIDENCE), EVIDENCE).claims

    assert [(one.text, one.status) for one in checked if one] == [
        (free, "unverified"),
        (foreign, "unverified"),
        (invented, "neutral"),
    ]


def test_verbatim_claims_are_supported() -> None:
    """Verbatim words of the source are supported, also in a sentence that is not clearly English."""
    text = "Warm dough rises quickly."
    quote = Citation(source=SourceId("s"), chunk=ChunkId("c"), start=0, end=len(text), quote=text)
    said = ClaimCheckerInput(question="Bread?", claims=(Claim(text=text, citations=(quote,)),))
    (found,) = fallback(said, Evidence(passages=(passage(text, "c"),), encode=encode)).verdicts

    assert found.verdict == "supported"


def test_sentences_near_the_quote_count() -> None:
    """A claim may be supported by sentences of its passage outside the quote."""
    text, cited = "Yeast eats sugar, and gas is set free.", passage(f"{RISES} Yeast eats sugar; gas is set free.", "c")
    quote = Citation(source=SourceId("s"), chunk=cited.chunk, start=0, end=len(RISES), quote=RISES)

    assert fallback(given(claim("Yeast eats sugar.", quote)), Evidence((cited,))).verdicts[0].verdict == "supported"
    assert fallback(given(claim(text, quote)), Evidence((cited,))).verdicts[0].verdict == "neutral"


@pytest.mark.parametrize("text", ["The dough rises for three hours.", "The dough rises for two hours in Rome."])
def test_unsourced_details_are_never_supported(text: str) -> None:
    """A number or name that the cited passage lacks is not supported, whatever the model's verdict."""
    said = ClaimCheckerOutput(verdicts=(ClaimVerdict(claim=1, verdict="supported", confidence=1.0),))

    (found,) = judge(said, claim(text))

    assert (found.status, found.confidence) == ("neutral", 1.0)


def test_claims_without_a_verdict_are_neutral() -> None:
    """A claim that the model omitted counts as not confirmed; a verdict on no claim is ignored."""
    said = ClaimCheckerOutput(
        verdicts=(
            ClaimVerdict(claim=1, verdict="refuted", confidence=0.7),
            ClaimVerdict(claim=9, verdict="supported", confidence=1.0),
        )
    )

    first, second = judge(said, claim(MADE), claim(RISES))

    assert (first.status, first.confidence) == ("refuted", 0.7)
    assert (second.status, second.confidence) == ("neutral", 0.0)


WRONG = Claim(text="The dough of bread has to rise for three hours.", citations=(quoted(0, RISES),))


def test_corrections_are_judged_without_a_model() -> None:
    """A correction with a valid passage replaces its claim; other claims keep their verdicts."""
    claims = (WRONG, WRONG, WRONG, WRONG, claim(MADE, quoted(0, MADE)))
    verdict = {"verdict": "refuted", "confidence": 0.7}
    output = ClaimCheckerOutput.model_validate(
        {
            "verdicts": [{"claim": n, **verdict} for n in range(1, 5)]
            + [{"claim": 5, "verdict": "supported", "confidence": 0.9}],
            "corrections": [
                {"claim": 1, "problem": "hours", "text": " The bread's dough rises for two hours. ", "passages": [1]},
                {"claim": 2, "problem": "hours", "text": "The dough rises.", "passages": [99]},
                {"claim": 3, "problem": "hours", "text": "", "passages": [1]},
                {"claim": 5, "problem": "none", "text": "Bread is bread.", "passages": [1]},
            ],
        }
    )
    found = apply_verdicts(given(*claims, may_correct=True), output, EVIDENCE).claims

    assert found[0] is not None and found[0].text == "The bread's dough rises for two hours."
    assert (found[0].status, found[0].citations[0].quote) == ("supported", RISES)
    assert found[1] == found[3] == WRONG.model_copy(update={"status": "refuted", "confidence": 0.7})
    assert found[2] is None
    assert found[4] == claims[4].model_copy(update={"status": "supported", "confidence": 0.9})


def test_a_correction_that_no_passage_supports_is_not_confirmed() -> None:
    """A correction about something else, or the contrary of its source, is not; no word of another language counts."""
    other = Claim(text="Volcanoes cool the whole climate of the earth.", citations=(quoted(0, RISES),))
    german = Claim(text="Der Teig ruht zwei Stunden in der Küche.", citations=(quoted(0, RISES),))

    contrary = claim(RISES.replace("has to", "has not to"))

    assert [one.status for one in confirm_corrections([other, german, contrary], EVIDENCE, "")] == [
        "neutral",
        "supported",
        "refuted",
    ]
    assert confirm_corrections([german], EVIDENCE, "", is_judged=False) == [german]


def test_a_corrected_conclusion_is_judged_by_its_details_alone() -> None:
    """A conclusion shares few words with its passages; a detail that none of them has still counts against it."""
    sound = claim("Whoever is in a hurry is better off with another recipe.").model_copy(update={"kind": "inference"})
    invented = sound.model_copy(update={"text": "Whoever has less than 45 minutes is better off with Apicius."})
    judged = confirm_corrections([sound, invented], EVIDENCE, "")

    assert [one.status for one in judged] == ["supported", "neutral"]
    assert confirm_corrections([sound.model_copy(update={"kind": "fact"})], EVIDENCE, "")[0].status == "neutral"


def test_words_do_not_refute_code_that_was_put_together() -> None:
    """A configuration of several passages, or a conclusion, has other words than they; only its details count."""
    denied = RISES.replace("has to", "has not to")
    code = claim(f"# {denied}\nrise: 2 hours").model_copy(update={"kind": "inference"})
    conclusion = claim(denied).model_copy(update={"kind": "inference"})

    assert [one.status for one in confirm_corrections([code, conclusion], EVIDENCE, "")] == ["supported", "supported"]


def test_a_claim_is_shown_with_its_kind_and_missing_details() -> None:
    """The judge reads which details the passages lack, and which sentences are conclusions."""
    inference = claim("So wait.").model_copy(update={"kind": "inference"})
    gap = claim("No oven is named.").model_copy(update={"kind": "gap"})
    claims = (claim("It rises for 45 minutes."), inference, Claim(text="Alone."), gap)
    prompt = render(given(*claims), EVIDENCE)[1].content

    assert "1. It rises for 45 minutes. (cites passage 1; not found there: 45)" in prompt
    assert "2. So wait. (cites passage 1; an inference)" in prompt
    assert "3. Alone. (cites nothing that is left)" in prompt
    assert "4. No oven is named. (cites passage 1; a gap)" in prompt
    assert prompt.endswith(NO_CORRECTIONS_RULE)


def test_a_column_may_be_dated_by_another_passage() -> None:
    """The date of a column need not be in the passage of each cell, but in one of those that were read."""
    dated = (passage("Two hours.", "new"), passage("Edition of March 2020.", "new", 40))
    cited = Citation(source=dated[0].source, chunk=dated[0].chunk, start=0, end=10, quote="Two hours.")
    cell = claim("two hours", cited).model_copy(update={"label": "Rye", "column": "Edition of March 2020"})

    assert "(cites passage 1)" in render(given(cell), Evidence(dated))[1].content
    assert "not found there: 2020" in render(given(cell), Evidence(dated[:1]))[1].content


def test_a_cell_is_checked_with_its_row_and_column() -> None:
    """The words of a cell alone say nothing; its row and column complete them in the prompt."""
    cell = claim("two hours").model_copy(update={"label": "Rye", "column": "Rest"})

    assert "1. Rye – Rest: two hours (cites passage 1)" in render(given(cell), EVIDENCE)[1].content
