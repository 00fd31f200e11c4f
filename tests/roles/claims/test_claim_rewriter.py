"""Tests of the claim rewriter's fallback and of the use of its rewrites."""

from dataclasses import replace

from tenure.contracts.evidence.passages import Claim
from tenure.roles.base import Evidence
from tenure.roles.claims.claim_rewriter import (
    ClaimRewriterInput,
    ClaimRewriterOutput,
    RewrittenClaim,
    apply_rewrites,
    fallback,
)
from tests.roles.cases import EVIDENCE, RISES
from tests.support.passages import passage

WRONG = Claim(text="The dough of bread has to rise for three hours.", status="neutral")


def rewrite(*claims: Claim, evidence: Evidence = EVIDENCE, said: tuple[str, ...] = ()) -> tuple[Claim | None, ...]:
    given = ClaimRewriterInput(question="How is bread made?", topic="Making bread", claims=claims, other_sentences=said)
    return apply_rewrites(given, fallback(given, evidence), evidence).claims


def test_the_fallback_uses_a_sentence_of_the_source() -> None:
    """The most similar sentence replaces the claim verbatim and is therefore supported."""
    (found,) = rewrite(WRONG)

    assert found is not None and (found.text, found.status) == (RISES, "supported")


def test_a_sentence_is_used_once() -> None:
    """A sentence that the text already contains, or that replaced another claim, is not used again."""
    assert [one and one.text for one in rewrite(WRONG, WRONG)] == [RISES, None]
    assert rewrite(WRONG, said=(RISES,)) == (None,)


def test_a_claim_without_a_similar_sentence_is_removed() -> None:
    """Sources on other subjects, or code, offer no replacement."""
    assert rewrite(Claim(text="Volcanoes cool the climate.")) == (None,)
    code = replace(EVIDENCE, passages=(passage(RISES, kind="code"),))
    assert rewrite(WRONG, evidence=code) == (None,)


def test_rewrites_cite_their_passages() -> None:
    """A new sentence gets verbatim quotes; without a valid passage, or without a rewrite, the claim is unchanged."""
    given = ClaimRewriterInput(question="How is bread made?", topic="Making bread", claims=(WRONG,) * 4)
    said = ClaimRewriterOutput(
        rewrites=(
            RewrittenClaim(claim=1, text=" Dough rises for two hours. ", passages=(1,)),
            RewrittenClaim(claim=2, text="Dough rises.", passages=(99,)),
            RewrittenClaim(claim=3, text="", passages=(1,)),
        )
    )
    first, second, third, fourth = apply_rewrites(given, said, EVIDENCE).claims

    assert first is not None and first.text == "Dough rises for two hours."
    assert (first.status, first.citations[0].quote) == ("unverified", RISES)
    assert (second, third, fourth) == (WRONG, None, WRONG)
