"""The claim rewriter's twin, and what is taken over from a rewriter."""

from dataclasses import replace

from tenure.contracts.evidence.passages import Claim
from tenure.roles.base import Evidence
from tenure.roles.claims.claim_rewriter import (
    ClaimRewriterInput,
    ClaimRewriterOutput,
    RewrittenClaim,
    offline,
    rewritten,
)
from tests.passages import passage
from tests.roles.cases import EVIDENCE, RISES

WRONG = Claim(text="The dough of bread has to rise for three hours.", status="neutral")


def rewrite(*claims: Claim, evidence: Evidence = EVIDENCE, said: tuple[str, ...] = ()) -> tuple[Claim | None, ...]:
    given = ClaimRewriterInput(question="How is bread made?", topic="Making bread", claims=claims, said=said)
    return rewritten(claims, offline(given, evidence), evidence.passages)


def test_the_twin_puts_a_sentence_of_the_source_in_its_place() -> None:
    """The nearest sentence takes over to the letter and is therefore supported."""
    (found,) = rewrite(WRONG)

    assert found is not None and (found.text, found.status) == (RISES, "supported")


def test_a_sentence_is_used_once() -> None:
    """What stands in the text already, or took another claim's place, is not said again."""
    assert [one and one.text for one in rewrite(WRONG, WRONG)] == [RISES, None]
    assert rewrite(WRONG, said=(RISES,)) == (None,)


def test_without_a_sentence_like_it_a_claim_is_left_out() -> None:
    """Sources that speak of other things, or in code, offer nothing."""
    assert rewrite(Claim(text="Volcanoes cool the climate.")) == (None,)
    code = replace(EVIDENCE, passages=(passage(RISES, kind="code"),))
    assert rewrite(WRONG, evidence=code) == (None,)


def test_a_models_sentence_cites_what_it_names() -> None:
    """A new sentence gets verbatim quotes; one that names no passage, or was not given, leaves the claim as it was."""
    claims = (WRONG, WRONG, WRONG, WRONG)
    said = ClaimRewriterOutput(
        rewrites=(
            RewrittenClaim(claim=1, text=" Dough rises for two hours. ", passages=(1,)),
            RewrittenClaim(claim=2, text="Dough rises.", passages=(99,)),
            RewrittenClaim(claim=3, text="", passages=(1,)),
        )
    )
    first, second, third, fourth = rewritten(claims, said, EVIDENCE.passages)

    assert first is not None and first.text == "Dough rises for two hours."
    assert (first.status, first.citations[0].quote) == ("unverified", RISES)
    assert (second, third, fourth) == (WRONG, None, WRONG)
