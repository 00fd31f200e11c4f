"""Tests of query decomposition."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.algorithms.research.planning import find_cycle
from tenure.algorithms.retrieval.decomposition import (
    MAX_SUB_QUESTION_CHARACTERS,
    MAX_SUB_QUESTIONS,
    QuestionPart,
    decompose_into_standalone_parts,
    decompose_question,
)
from tenure.algorithms.text.sentences import stem_words

DATA = Path(__file__).parent
COMPARING = set(stem_words("compare difference differ versus vs thanks hello"))
CLAUSES = (
    *(
        "what is rye",
        "how does it rise",
        "why",
        "who baked it",
        "what do they cost",
        "which is older",
        "how are loaves cut",
    ),
    *(
        "where was he born",
        "why was project X-1 delayed",
        "is it safe",
        "does Rome trade rye",
        "how do rye and oats differ",
    ),
    *(
        "what are the size, the age and the cost of the oven",
        "what is the difference between rye and oats",
        "explain rye",
    ),
    *("tell me why ovens cool", "we bake daily.", "which towns sell oats", 'who wrote "Rye, and Why?"', "what is this"),
    *(
        "if it rains, what happens",
        "the city of Dr. Oat has how many ovens",
        "compare rye with oats",
        "how does that compare",
    ),
)
JOINTS = (" and ", ", and ", "? ", ". ", "; ", ", ", " or ", "\n", " when ", " (", " but also ")
MESSAGES = st.lists(st.tuples(st.sampled_from(CLAUSES), st.sampled_from(JOINTS)), min_size=1, max_size=8).map(
    lambda pairs: "".join(clause + joint for clause, joint in pairs)
)
"""Messages of clauses that are joined in sensible and in senseless ways."""


def read_cases(name: str) -> list[tuple[str, tuple[QuestionPart, ...]]]:
    """Return the questions of a file with their expected parts; a question without parts below it stays whole."""
    cases: list[tuple[str, tuple[QuestionPart, ...]]] = []
    for block in (DATA / name).read_text(encoding="utf-8").split("\n\n"):
        question, *lines = [line for line in block.splitlines() if line and not line.startswith("#")] or [""]
        parts = [re.fullmatch(r"- (.+?)(?: \[([\d, ]+)\])?", line) for line in lines]
        expected = [
            QuestionPart(part[1], tuple(int(n) for n in part[2].split(",")) if part[2] else ())
            for part in parts
            if part
        ]
        if question:
            cases.append((question, tuple(expected) or (QuestionPart(question),)))
    return cases


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How is bread made?", (QuestionPart("How is bread made?"),)),
        (
            "How is bread made, and how does cheese ripen?",
            (QuestionPart("How is bread made?"), QuestionPart("How does cheese ripen?")),
        ),
        (
            "Who wrote Dune, and what did that author do before?",
            (QuestionPart("Who wrote Dune?"), QuestionPart("What did that author do before?", (1,))),
        ),
        (
            "Who directed Alien? What else did he direct? How is cheese made?",
            (
                QuestionPart("Who directed Alien?"),
                QuestionPart("What else did he direct?", (1,)),
                QuestionPart("How is cheese made?"),
            ),
        ),
        (
            "Which town is it, how is bread made, and who rules that town?",
            (
                QuestionPart("Which town is it?"),
                QuestionPart("How is bread made?"),
                QuestionPart("Who rules that town?", (1,)),
            ),
        ),
        (
            "Who wrote Dune, and where was he born, and how does it end?",
            (
                QuestionPart("Who wrote Dune?"),
                QuestionPart("Where was he born?", (1,)),
                QuestionPart("How does it end?"),
            ),
        ),
        (
            "Who wrote Dune, where was he born, and which of them is older?",
            (
                QuestionPart("Who wrote Dune?"),
                QuestionPart("Where was he born, and which of them is older?", (1,)),
            ),
        ),
        (
            "Compare rye bread with wheat bread for toast",
            (
                QuestionPart("What is rye bread?"),
                QuestionPart("What is wheat bread?"),
                QuestionPart("Compare rye bread with wheat bread for toast", (1, 2)),
            ),
        ),
        (
            "Compare the price of rye with wheat",
            (QuestionPart("Compare the price of rye with wheat"),),
        ),
        (
            "Compare rye and oats with wheat",
            (QuestionPart("Compare rye and oats with wheat"),),
        ),
        (
            "Compare rye with wheat in terms of price, taste and colour",
            (QuestionPart("Compare rye with wheat in terms of price, taste and colour"),),
        ),
        (
            "Compare rye bread with wheat bread",
            (
                QuestionPart("What is rye bread?"),
                QuestionPart("What is wheat bread?"),
                QuestionPart("How do rye bread and wheat bread differ?", (1, 2)),
            ),
        ),
        (
            "How does rye compare to wheat in terms of price and taste?",
            (
                QuestionPart("What is the price of rye?"),
                QuestionPart("What is the taste of rye?"),
                QuestionPart("What is the price of wheat?"),
                QuestionPart("What is the taste of wheat?"),
                QuestionPart("How do rye and wheat compare in price?", (1, 3)),
                QuestionPart("How do rye and wheat compare in taste?", (2, 4)),
            ),
        ),
    ],
)
def test_question_is_decomposed(question: str, expected: tuple[QuestionPart, ...]) -> None:
    """Parts are independent or refer to earlier answers; a question with other references stays whole."""
    assert decompose_question(question) == expected


@given(st.one_of(st.text(min_size=1, max_size=300), MESSAGES))
@settings(deadline=None)
def test_dependencies_are_acyclic(question: str) -> None:
    """Any question has one to six parts of bounded length without cyclic dependencies."""
    found = decompose_question(question)

    assert 1 <= len(found) <= MAX_SUB_QUESTIONS
    assert all(0 < len(part.question) <= MAX_SUB_QUESTION_CHARACTERS for part in found) or not question.strip()
    assert not find_cycle({number: part.needs for number, part in enumerate(found, 1)})


@given(MESSAGES)
@settings(deadline=None)
def test_every_part_has_content(question: str) -> None:
    """Each of several parts has a content word, and together they have all those of the question."""
    found = [part.question for part in decompose_question(question)]

    assert len(found) == 1 or all(stem_words(part) for part in found)
    assert set(stem_words(question)) - COMPARING <= set(stem_words(" ".join(found)))


@given(MESSAGES)
@settings(deadline=None)
def test_parts_are_not_divided_again(question: str) -> None:
    """A part is decomposed into itself, and the difference of a comparison into the parts of that comparison."""
    parts = decompose_question(question.replace("\n", " "))
    again = [decompose_question(part.question) for part in parts]
    if sum(map(len, again)) > MAX_SUB_QUESTIONS and not any(part.needs for part in parts):
        return  # The parts of the parts are too many for one question.
    questions = {part.question for part in parts}

    assert all(
        {found.question for found in division} <= questions
        if part.needs
        else division == (QuestionPart(part.question),)
        for part, division in zip(parts, again, strict=True)
    )


def test_parts_beyond_the_maximum_are_joined() -> None:
    """No question of a long message is lost."""
    found = decompose_question(" ".join(f"What is bread number {n}?" for n in range(9)))

    assert len(found) == MAX_SUB_QUESTIONS
    assert "number 5? " in found[-1].question
    assert found[-1].question.endswith("number 8?")


def test_a_long_message_stays_whole() -> None:
    """A message with pasted text is one part of bounded length."""
    found = decompose_question("How is bread made? How does cheese ripen? " + "flour " * 1000)

    assert [len(part.question) <= MAX_SUB_QUESTION_CHARACTERS for part in found] == [True]


@pytest.mark.parametrize(("question", "expected"), read_cases("questions.txt"))
def test_realistic_questions_are_decomposed(question: str, expected: tuple[QuestionPart, ...]) -> None:
    """Questions as people write them have the parts that a reader would name."""
    assert decompose_question(question) == expected


@pytest.mark.parametrize(("question", "expected"), read_cases("documented_questions.txt"))
def test_documented_questions_are_decomposed(question: str, expected: tuple[QuestionPart, ...]) -> None:
    """The examples that describe the method have the parts that they are given there, as far as their words allow."""
    assert decompose_question(question) == expected


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("How does Zell bake rye? What has to be bought?", ["How does Zell bake rye?", "Zell: What has to be bought?"]),
        ("Who founded Zell, and where was he born?", ["Who founded Zell?", "Where was he born?"]),
        ("What is Zell, and how old is it?", ["What is Zell?", "Zell: How old is it?"]),
        ("What is rye, and how old is it?", ["What is rye? How old is it?"]),
        ("What has to be bought for Zell?", ["What has to be bought for Zell?"]),
    ],
)
def test_parts_name_the_subject_of_the_question(question: str, parts: list[str]) -> None:
    """A part without a name gets that of the question, unless it is completed with the answer of another part."""
    assert [part.question for part in decompose_into_standalone_parts(question)] == parts
