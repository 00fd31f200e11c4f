"""Tests of the comparison of words in any language."""

import time

import pytest

from tenure.algorithms.retrieval.word_overlap import measure_foreign_overlap, measure_overlap

ANSWERS = {
    "Wer hat die Brücken von Altenfels gebaut?": "Die Brücke von Altenfels wurde 1974 von Ina Fels gebaut.",
    "Was verhindert Salz?": "Salz verhindert das Wachstum von Bakterien.",
    "Qui a construit le pont de Valmont ?": "Le pont de Valmont a été construit en 1974 par Inès Faure.",
    "Кто построил мост в Альтенфельсе?": "Мост в Альтенфельсе построила в 1974 году Инна Фельс.",
    "谁建造了阿尔滕大桥？": "阿尔滕大桥由工程师林娜于1974年建造。",
}


@pytest.mark.parametrize("question", ANSWERS)
def test_an_answer_shares_the_words_of_its_question(question: str) -> None:
    """The answer in each language has far more words of its question than the answers to the other questions."""
    overlaps = {text: measure_foreign_overlap(question, text) for text in ANSWERS.values()}

    assert overlaps[ANSWERS[question]] >= 0.5
    assert all(overlap <= 0.2 for text, overlap in overlaps.items() if text != ANSWERS[question])


@pytest.mark.parametrize("question", ["How is salt made?", "Salt of the sea", "Salt", "PEP 484 protocols"])
def test_english_is_left_to_vectors(question: str) -> None:
    """Questions in English, and terms that are searched for in English texts, are not compared by letters."""
    assert measure_foreign_overlap(question, "Salt is made by hand, and protocols are for the rest of it.") == -1.0


def test_a_question_of_light_words_matches_nothing() -> None:
    """Articles and question words are no evidence."""
    assert measure_overlap("Wo ist das?", "Das ist das Haus, wo es ist.") == 0.0


@pytest.mark.parametrize("unit", ["大桥", "ab cd ", "Brückenbauer ", "x"])
def test_long_texts_are_compared_in_linear_time(unit: str) -> None:
    """Twenty thousand characters of any shape take a small part of a second."""
    start = time.process_time()
    measure_overlap(unit * (20_000 // len(unit)), unit * (20_000 // len(unit)) + " ")

    assert time.process_time() - start < 1
