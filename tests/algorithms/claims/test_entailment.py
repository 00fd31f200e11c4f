"""Tests of the check of claims by their words."""

import time
from unittest import mock

import pytest

from benchmarks.claims import measure, read_minimal_pairs
from tenure.algorithms.claims import entailment
from tenure.algorithms.claims.entailment import SupportVerdict, judge_claim

RISE = "The dough of the bread has to rise for two hours in a warm kitchen."


@pytest.mark.parametrize("half", ["even", "odd"])
def test_no_minimal_change_is_supported(half: str) -> None:
    """At most 2 % of false claims are supported, and most true ones that have nearly the words of their source."""
    found = measure(read_minimal_pairs(half))
    false, true = found["all false"], found["true"]

    assert false.claims >= 100 and false.supported <= 0.02 * false.claims
    assert true.supported >= 0.85 * true.claims and true.refuted == 0
    assert found["paraphrase"].refuted == 0


@pytest.mark.parametrize(
    "claim",
    [
        RISE.upper(),
        "Dough of bread has to rise for 2 hours, in the warm kitchen",
        "The dough of “the bread” has to rise for two hours [1] in a warm kitchen.",
    ],
)
def test_same_words_support_a_claim(claim: str) -> None:
    """Articles, numerals, case, punctuation and citation marks change no meaning."""
    assert judge_claim(claim, ["Bread is old.", RISE]) == "supported"


@pytest.mark.parametrize(
    ("sentence", "claim", "expected"),
    [
        ("In 1990, the mill closed.", "The mill closed in 1990.", "supported"),
        ("In mice, it works, and it is cheap.", "It is cheap.", "neutral"),
        ("It is a myth that salt melts, and sugar burns.", "Sugar burns.", "neutral"),
        ("The gate, which some call old, is shut.", "The gate is shut.", "supported"),
        ("The gate, which is said to be old, is shut.", "The gate is shut.", "neutral"),
        ("The gate is shut, although rarely.", "The gate is shut.", "neutral"),
        ("Is the gate shut?", "Is the gate shut.", "neutral"),
        ("A few survive.", "Few survive.", "neutral"),
        ("The gate must not be opened.", "The gate may be opened.", "refuted"),
        ("The drug may help.", "The drug may not help.", "neutral"),
        ("Some gates are open.", "Some gates are not open.", "neutral"),
        ("Tin is denser than ice at 0 °C.", "Ice is denser than tin at 0 °C.", "refuted"),
        ("Tin is no denser than ice.", "Ice is no denser than tin.", "neutral"),
        ("All other than tin is old.", "Tin other than all is old.", "neutral"),
        ("Tin is denser than tin.", "Tin is denser than tin.", "supported"),
        ("It's shut and won't open.", "It is shut and will not open.", "supported"),
        ("Das Tor ist geschlossen, an Sonntagen nicht, aber oft.", "Das Tor ist geschlossen aber oft.", "neutral"),
        ("Das Tor ist geschlossen.", "Das Tor ist geschlossen.", "supported"),
        ("…", "…", "neutral"),
    ],
)
def test_a_clause_is_left_out_only_if_it_restricts_nothing(sentence: str, claim: str, expected: SupportVerdict) -> None:
    """Conditions, denials and attributions belong to the statement; a negation alone refutes it."""
    assert judge_claim(claim, [sentence]) == expected


def test_both_sides_leave_a_claim_open() -> None:
    """A claim that one source states and another denies is open; a claim needs support for each of its sentences."""
    assert judge_claim(RISE, [RISE, RISE.replace("has to", "does not have to").replace("have", "has")]) == "neutral"
    assert judge_claim(f"{RISE} Salt melts.", [RISE]) == "neutral"
    assert judge_claim(f"{RISE} Salt melts.", [f"Salt melts. {RISE}"]) == "supported"
    assert judge_claim(f"{RISE} Salt melts.", [f"Salt does not melt. {RISE}"]) == "refuted"
    assert judge_claim("", [RISE]) == judge_claim(RISE, []) == "neutral"


@pytest.mark.parametrize("unit", ["a, and b ", ", which is (x) a, ", "((", "12,345,", "no not ", "; and so ", "If a "])
def test_long_texts_are_compared_in_linear_time(unit: str) -> None:
    """Twenty thousand characters of any shape take a small part of a second."""
    text = unit * (20_000 // len(unit))
    start = time.process_time()
    judge_claim("Salt does not melt.", [text])
    judge_claim(text, ["Salt melts."])

    assert time.process_time() - start < 2


def test_a_claim_is_read_once_for_all_sentences() -> None:
    """The time for a long claim is that of the claim and of the sentences, instead of their product."""
    sentences = [f"{RISE[:-1]} for {n} hours." for n in range(50)]
    with mock.patch.object(entailment, "_move_opening", side_effect=entailment._move_opening) as move:
        assert judge_claim(RISE, sentences) == "neutral"

    assert [call.args for call in move.call_args_list].count((RISE,)) == 1
