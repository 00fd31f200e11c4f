"""Reports in the language of their reader."""

import ast
import re
import string
from pathlib import Path

import pytest

from tenure.algorithms.writing.brief import NOT_CERTAIN, NOT_FOUND, SHORT_ANSWER
from tenure.contracts.base import RunId
from tenure.contracts.result.result import Result
from tenure.contracts.run.run import Usage
from tenure.report.render.html import render_html
from tenure.report.render.markdown import render_markdown
from tenure.report.translation import LANGUAGES, load_catalogue, parse_language, translate, use_language

ROOT = Path(__file__).parents[2] / "tenure" / "report"
TRANSLATED = sorted(set(LANGUAGES) - {"en"})


def _list_messages() -> set[str]:
    """Return the messages of all calls of the functions that translate, and of templates."""
    messages = {NOT_FOUND, NOT_CERTAIN, SHORT_ANSWER}
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
