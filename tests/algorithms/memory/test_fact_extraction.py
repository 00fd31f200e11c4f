"""Tests of the extraction of facts from sentences."""

import pytest

from tenure.algorithms.memory.fact_extraction import extract_fact
from tenure.contracts.knowledge.memory import FactDetails


@pytest.mark.parametrize(
    ("sentence", "parts"),
    [
        (
            "The Bank of England was founded by William Paterson in 1694.",
            ("Bank of England", "was founded by", "William Paterson"),
        ),
        (
            "In 1694 the Bank of England was founded by William Paterson.",
            ("Bank of England", "was founded by", "William Paterson"),
        ),
        ("Paris is the capital of France.", ("Paris", "is the capital of", "France")),
        ("PEP 484 introduced type hints for annotations.", ("PEP 484", "introduced", "type hints")),
        ("CPython uses reference counting.", ("CPython", "uses", "reference counting")),
        ("Old United Bank is the owner of Halle Mill.", ("Old United Bank", "is the owner of", "Halle Mill")),
        ("Rye bread is made from rye flour and sourdough.", ("Rye bread", "is made from", "rye flour")),
        ("The Zenne was never crossed by the Romans of Gaul.", ("Zenne", "was never crossed by the", "Romans of Gaul")),
    ],
)
def test_plain_statements_have_subject_relation_and_object(sentence: str, parts: tuple[str, str, str]) -> None:
    """The three parts are words of the sentence; a negation stays in the relation."""
    subject, predicate, target = parts

    assert extract_fact(sentence) == FactDetails(subject=subject, predicate=predicate, object=target)
    assert all(part in sentence for part in parts)


@pytest.mark.parametrize(
    "sentence",
    [
        "",
        "Bread.",
        "It was founded by William Paterson.",
        "This is the capital of France.",
        "Is Paris the capital of France?",
        "If Paris is the capital of France, the trial is there.",
        "Critics think that Paris is the capital of Texas.",
        "Paris is said to be the capital of France.",
        "Paris may have been the capital of Champagne.",
        "According to Smith, Paris is the capital of France.",
        "Paris was large, and the capital of France.",
        "Paris is Paris.",
        "One hundred Romans crossed the Zenne.",
        "At full speed CPython beats Jython.",
        "Paris is large. Paris is the capital of France.",
        "Neither Paris nor Lyon was founded by William Paterson.",
    ],
)
def test_other_sentences_give_no_fact(sentence: str) -> None:
    """Pronouns, questions, conditions, reported speech, possibilities and several sentences give nothing."""
    assert extract_fact(sentence) is None
