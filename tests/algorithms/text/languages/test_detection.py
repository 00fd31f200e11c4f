"""Detection of languages."""

import pytest

from tenure.algorithms.text.languages import detection
from tenure.algorithms.text.languages.detection import (
    UNKNOWN,
    detect_language,
    detect_languages,
    is_foreign,
    list_foreign_languages,
)

TEXTS = {
    "ar": "تُخزَّن النسخ الاحتياطية لمدة ثلاثين يومًا في مركز البيانات.",
    "de": "Die Sicherungen werden dreißig Tage lang im Rechenzentrum aufbewahrt.",
    "en": "The backups are kept in the data centre for thirty days.",
    "es": "Las copias de seguridad se guardan treinta días en el centro de datos.",
    "fr": "Les sauvegardes sont conservées trente jours dans le centre de données.",
    "hi": "बैकअप डेटा सेंटर में तीस दिनों तक रखे जाते हैं।",
    "it": "Le copie di sicurezza sono conservate per trenta giorni nel centro dati.",
    "ja": "バックアップはデータセンターに三十日間保存されます。",
    "ko": "백업은 데이터 센터에 삼십 일 동안 보관됩니다.",
    "pl": "Kopie zapasowe są przechowywane w centrum danych przez trzydzieści dni.",
    "pt": "As cópias de segurança são guardadas trinta dias no centro de dados.",
    "ru": "Резервные копии хранятся в центре обработки данных тридцать дней.",
    "th": "ข้อมูลสำรองจะถูกเก็บไว้ในศูนย์ข้อมูลเป็นเวลาสามสิบวัน",
    "zh": "备份在数据中心保存三十天。",
}


@pytest.mark.parametrize(("language", "text"), TEXTS.items())
def test_a_sentence_has_its_language(language: str, text: str) -> None:
    """A sentence of ten words is enough."""
    assert language == detect_language(text)


@pytest.mark.parametrize("text", ["", "12345", "Kubernetes", "API v2"])
def test_a_text_without_a_language_is_unknown(text: str) -> None:
    """Numbers and names alone belong to no language."""
    assert detect_language(text) == UNKNOWN


def test_a_short_question_is_told_apart_among_the_languages_of_a_corpus() -> None:
    """With few candidates, two or three words are enough."""
    assert [detect_language("Sicherungen im Rechenzentrum", {"de", "en"})] == ["de"]


def test_plain_english_needs_no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """The function words of English decide before the model is loaded."""

    def refuse() -> None:
        raise AssertionError("the model was loaded")

    monkeypatch.setattr(detection, "_load_identifier", refuse)

    assert detect_language(TEXTS["en"]) == "en"


def test_an_uncertain_passage_has_the_language_of_its_document() -> None:
    """Code and names between German paragraphs are part of a German document; a quoted language is not."""
    passages = [TEXTS["de"], "    backup --days 30\n", TEXTS["ru"], "Kubernetes"]

    assert detect_languages(passages) == ("de", "de", "ru", "de")


@pytest.mark.parametrize(
    ("query", "passages", "expected"),
    [
        ("How long are the backups kept?", {"en": 10, "de": 900}, ("de",)),
        ("Wie lange werden Sicherungen aufbewahrt?", {"en": 900, "de": 10, "fr": 10}, ("en", "fr")),
        ("How long are the backups kept?", {"en": 9_990, "de": 10}, ()),
        ("How long are the backups kept?", {"de": 9, "fr": 8, "it": 7, "pl": 6}, ("de", "fr", "it")),
        ("Kubernetes", {"de": 9, "en": 8}, ("en",)),
        ("How long are the backups kept?", {}, ()),
    ],
)
def test_a_query_is_foreign_to_the_main_languages_of_passages(
    query: str, passages: dict[str, int], expected: tuple[str, ...]
) -> None:
    """At most three languages count, none of which has only stray passages; a name is in the most frequent one."""
    assert list_foreign_languages(query, passages) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Server neu starten und die Konfiguration prüfen", True),
        ("Uruchom ponownie serwer po zmianie konfiguracji", True),
        ("Sunucuyu yeniden başlatın", True),
        ("The server restarts.", False),
        ("maxRetries: 3", False),
    ],
)
def test_foreign_texts_are_told_from_english(text: str, expected: bool) -> None:
    """A text without function words is foreign too; one without words of a language is taken for English."""
    assert is_foreign(text) is expected
