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


@pytest.mark.parametrize(
    ("question", "answer", "other"),
    [
        ("备份保存多长时间？", "备份在成都数据中心保存30天，然后删除。", "机油每500小时更换一次。"),
        (
            "バックアップは何日間保存されますか？",
            "バックアップは30日間保存されます。",
            "オイルは500時間ごとに交換します。",
        ),
        ("백업은 며칠 동안 보관됩니까?", "백업은 30일 동안 보관됩니다.", "펌프는 냉각 없이 가동할 수 없습니다."),
    ],
)
def test_words_of_a_question_are_not_expected_in_its_answer(question: str, answer: str, other: str) -> None:
    """In scripts without blanks, "how long" and particles count for nothing, so that an answer passes the threshold."""
    assert measure_overlap(question, answer) >= 0.45
    assert measure_overlap(question, other) <= 0.2
