"""Tests of the steps that are proposed by the form of a question, and of alternative queries."""

import pytest

from tenure.algorithms.research.plan_steps import ProposedStep, is_resolved, propose_alternative, propose_steps


def test_a_calculation_depends_on_its_figures() -> None:
    """Both figures are searched for before the step that calculates."""
    question = "How many times larger is the population of Tokyo than that of Osaka?"

    assert propose_steps(question) == (
        ProposedStep("search", "What is the population of Tokyo?"),
        ProposedStep("search", "What is the population of Osaka?"),
        ProposedStep("calculate", question, (1, 2)),
    )


def test_a_comparison_depends_on_both_sides() -> None:
    """The part that compares becomes a step that compares documents."""
    steps = propose_steps("How do Rust and Go differ?")

    assert [step.kind for step in steps] == ["search", "search", "compare"]
    assert steps[-1].needs == (1, 2)


def test_a_part_that_needs_an_answer_depends_on_it() -> None:
    """A part that asks for reasons is also asked of the document that its search finds."""
    born = propose_steps("Who wrote Dune, and where was he born?")
    reasons = propose_steps("Which project was delayed, and why was that project delayed?")

    assert [(step.kind, step.needs) for step in born] == [("search", ()), ("search", (1,))]
    assert [(step.kind, step.needs) for step in reasons] == [("search", ()), ("search", (1,)), ("analyze", (2,))]


@pytest.mark.parametrize("question", ["Why is the sky blue?", "What is bread, and what is cheese?", ""])
def test_independent_parts_need_no_dependent_steps(question: str) -> None:
    """A question without dependencies is planned by its topics alone."""
    assert propose_steps(question) == ()


def test_a_question_with_the_missing_name_resolves_a_part() -> None:
    """A question with the same words and a name more asks for the same thing."""
    assert is_resolved("Where was he born?", ("Who wrote Dune?", "Where was Frank Herbert born?"))
    assert not is_resolved("Where was he born?", ("Who wrote Dune?", "Where was he born?"))


@pytest.mark.parametrize(
    ("query", "alternative"),
    [
        ("What is the population of Tokyo in prewar times?", "What is the population of Tokyo?"),
        ("How do economical bakeries reduce waste in small towns?", "How do economical bakeries reduce waste?"),
        ("Which historical reasons led to gradual typing?", "Which reasons led to gradual typing?"),
        ("Who wrote Dune?", ""),
        ("What is flour?", ""),
        ("When was the institute that owned The Collegian founded?", ""),
        ("", ""),
    ],
)
def test_an_alternative_leaves_out_a_modifier(query: str, alternative: str) -> None:
    """A qualifying phrase, adjective or adverb is left out; names stay."""
    assert propose_alternative(query) == alternative
