"""Reports in the language of their reader."""

import ast
import re
import string
from pathlib import Path

import pytest

from tenure.algorithms.claims.disputes import OUTCOMES
from tenure.algorithms.coding.attempts import CHOICE_RULE
from tenure.algorithms.coding.engineer_news import VERDICTS
from tenure.algorithms.control import note_messages
from tenure.algorithms.control.budget import describe_limit
from tenure.algorithms.control.note_messages import EARLIER_DRAFT, FORKED, QUERY
from tenure.algorithms.writing.brief import NOT_CERTAIN, NOT_FOUND
from tenure.contracts.base import RunId
from tenure.contracts.evidence.corpora import SkippedFile
from tenure.contracts.result.result import Evaluation, Result
from tenure.contracts.run.role_calls import SavedUsage
from tenure.contracts.run.run import FallbackRecord, RunLimits, Usage
from tenure.report.layout.provenance import list_provenance
from tenure.report.layout.tree import Line, TextSpan
from tenure.report.render.html import render_html
from tenure.report.render.markdown import render_markdown
from tenure.report.translation import (
    LANGUAGES,
    format_number,
    load_catalogue,
    parse_language,
    translate,
    translate_note,
    use_language,
)

ROOT = Path(__file__).parents[2] / "tenure" / "report"
TRANSLATED = sorted(set(LANGUAGES) - {"en"})


def _list_messages() -> set[str]:
    """Return the messages of all calls of the functions that translate, and of templates."""
    messages = {
        NOT_FOUND,
        NOT_CERTAIN,
        *OUTCOMES.values(),
        *VERDICTS.values(),
        CHOICE_RULE,
        *note_messages.MESSAGES,
    }
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                position = {"translate": 0, "mark_message": 0, "translate_count": 1}.get(node.func.id)
                if position is not None and isinstance(node.args[position], ast.Constant):
                    messages.add(ast.literal_eval(node.args[position]))
    for path in ROOT.rglob("*.jinja"):
        messages |= set(re.findall(r'translate\("([^"]+)"\)', path.read_text(encoding="utf-8")))
    return messages


def _list_fields(text: str) -> set[str | None]:
    return {field for _, field, _, _ in string.Formatter().parse(text) if field is not None}


@pytest.mark.parametrize("language", TRANSLATED)
def test_a_catalogue_has_every_message_and_no_other(language: str) -> None:
    """A new sentence of the program is translated, and the translation has the same values."""
    catalogue = load_catalogue(language)

    assert catalogue.keys() == _list_messages()
    assert {message for message, text in catalogue.items() if _list_fields(message) != _list_fields(text)} == set()


def test_ten_languages_have_a_catalogue() -> None:
    """German, French, Spanish, Portuguese, Italian, Dutch, Polish, Russian, Chinese and Japanese are among them."""
    assert {"de", "fr", "es", "pt", "it", "nl", "pl", "ru", "zh", "ja"} <= set(LANGUAGES)


@pytest.mark.parametrize(
    ("name", "code"),
    [("German", "de"), ("deutsch", "de"), ("pt-BR", "pt"), ("日本語", "ja"), ("en", "en"), ("Klingon", "")],
)
def test_a_language_has_names_and_codes(name: str, code: str) -> None:
    """The option takes the English name, the own name or the code."""
    assert parse_language(name) == code


def _make_result(language: str) -> Result:
    return Result(
        id=RunId("research/x"), mode="RESEARCH", question="Wer?", language=language, title="Wer?", abstract="",
        status="no_evidence", usage=Usage(searches=3),
    )  # fmt: skip


def test_headings_are_in_the_language_of_the_result() -> None:
    """Counts need no plural, and the words of the program are translated everywhere."""
    report = render_markdown(_make_result("de"))

    assert "**Es wurden keine Belege gefunden.**" in report
    assert "Suchen in der Wissensbasis: 3" in report
    assert "## Wie dieser Bericht entstand" in report


def test_an_unknown_language_is_english() -> None:
    """A language without a catalogue has English headings, and a page that says so."""
    page = render_html(_make_result("sw"))

    assert '<html lang="en" dir="ltr">' in page
    assert "No evidence was found." in page


def test_arabic_is_read_from_the_right() -> None:
    """The page names its language and direction."""
    assert '<html lang="ar" dir="rtl">' in render_html(_make_result("ar"))


def test_a_language_ends_with_its_context() -> None:
    """Two reports in one process do not mix their languages."""
    with use_language("fr"):
        inside = translate("Comparison")

    assert (inside, translate("Comparison")) == ("Comparaison", "Comparison")


@pytest.mark.parametrize(
    ("note", "told"),
    [
        ("Files of corpus “shelf”: 2.", "Korpus „shelf“: Dateien: 2."),
        (
            "Ended because the budget of 5 model calls was used up. Missing: further searches, an answer.",
            "Beendet, weil das Budget aufgebraucht war (Modellaufrufe: 5). Es fehlt: weitere Suchen, eine Antwort.",
        ),
        ("Something else. Missing: an answer.", "Something else. Missing: an answer."),
        ("A sentence of a model about files.", "A sentence of a model about files."),
    ],
)
def test_notes_are_translated_by_their_fixed_words(note: str, told: str) -> None:
    """The values of a note stay, several notes follow each other, and an unknown sentence stays as it is."""
    with use_language("de"):
        assert translate_note(note) == told
    assert translate_note(note) == note


def test_the_reason_of_an_end_has_its_message() -> None:
    """The budget names a limit as the message of the end does."""
    limits = RunLimits(max_calls=5, max_seconds=90, max_cost_usd=0.5)
    told = [f"Ended because {describe_limit(limits, resource)} was used up." for resource in ("calls", "time", "money")]

    with use_language("fr"):
        assert all(translate_note(reason).startswith("Terminé parce que") for reason in told)


def test_numbers_have_the_marks_of_the_language() -> None:
    """A decimal comma and the marks of thousands are those of the reader; English is unchanged."""
    assert (format_number(1234.5, 1), format_number(160_000)) == ("1234.5", "160,000")
    with use_language("de"):
        assert (format_number(1234.5, 1), format_number(160_000)) == ("1234,5", "160.000")


def _join(line: Line) -> str:
    return "".join(node.text for node in line if isinstance(node, TextSpan))


@pytest.mark.parametrize("language", TRANSLATED)
def test_no_line_on_the_course_of_a_run_is_english(language: str) -> None:
    """Each line of a long result has another wording in each language, with the same figures."""
    long = Result(
        id=RunId("research/x"),
        mode="RESEARCH",
        question="Wer?",
        title="Wer?",
        abstract="",
        status="finished_early",
        usage=Usage(
            calls=9, searches=3, pages=2, tokens_in=12, tokens_out=7, model_calls=4, critical_path=2, cost_usd=0.5,
            saved=SavedUsage(answers=2, tokens_in=5, cost_usd=0.1), seconds=3.5,
        ),
        limits={"calls": 5, "tokens": 1000, "searches": 7},
        fallbacks=(FallbackRecord(role="planner", reason="-"),),
        evaluation=Evaluation(parts=(), issues=("-",)),
        skipped=tuple(SkippedFile(path=f"/{n}.{end}", reason="-") for n in range(25) for end in ("bin", "png")),
        notes=(FORKED.format(cycle=1, run="-"), EARLIER_DRAFT, QUERY.format(shows="-", sql="-")),
    )  # fmt: skip
    english = [_join(line) for line in list_provenance(long)]
    with use_language(language):
        translated = [_join(line) for line in list_provenance(long)]

    assert set(english) & set(translated) == set() and len(english) == len(translated)
