"""Translate the fixed words of a report into the language of its reader.

A catalogue is a file of gettext in `tenure/report/locales`, read with Babel. Counts have a wording without a plural, as
"Sources: 3", since the forms of a noun differ between languages. Texts of sources and of models are never translated.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Final

from tenure.algorithms.control import note_messages

LOCALES: Final = Path(__file__).parent / "locales"
LANGUAGES: Final = tuple(sorted({"en", *(path.stem for path in LOCALES.glob("*.po"))}))
"""Languages of reports, as ISO 639-1 codes."""
RIGHT_TO_LEFT: Final = frozenset(("ar", "fa", "he", "ur"))

_COMMAS: Final = {"ar": "، ", "ja": "、", "zh": "、"}

_language = ContextVar("report_language", default="en")


@contextmanager
def use_language(language: str) -> Iterator[str]:
    """Translate into a language inside the context, and into English if it has no catalogue; yield the language."""
    token = _language.set(language if language in LANGUAGES else "en")
    try:
        yield _language.get()
    finally:
        _language.reset(token)


def get_language() -> str:
    """Return the language of the report."""
    return _language.get()


def mark_message(message: str) -> str:
    """Return a message unchanged; it is translated where it is shown."""
    return message


def translate(message: str, **values: object) -> str:
    """Return a message in the language of the report, with its values."""
    text = load_catalogue(_language.get()).get(message, message)
    return text.format(**values) if values else text


def join_list(items: Iterable[str]) -> str:
    """Join the items of a list with the comma of the language of the report."""
    return _COMMAS.get(_language.get(), ", ").join(items)


def translate_count(english: str, message: str, **values: object) -> str:
    """Return the English text with its plurals, or a message without any in another language."""
    return english if _language.get() == "en" else translate(message, **values)


def format_language(code: str) -> str:
    """Return the name of a language, given by its ISO 639-1 code, in the language of the report."""
    from babel import Locale

    return Locale.parse(code).get_language_name(_language.get()) or code


def translate_note(note: str) -> str:
    """Return a note of a run, which is written in English, in the language of the report; unchanged if it is unknown.

    The message of a note is found by its fixed words, and notes may follow each other: "Missing: an answer." for
    "Missing: {missing}."
    """
    return note if _language.get() == "en" else _find_translation(note) or note


def _find_translation(note: str) -> str:
    for pattern, message in _compile_notes():
        if match := pattern.fullmatch(note):
            values = {name: _translate_value(name, text) for name, text in match.groupdict().items()}
            return translate(message, **values)
    for end in re.finditer(r"(?<=\.) ", note):
        first, rest = _find_translation(note[: end.start()]), _find_translation(note[end.end() :])
        if first and rest:
            return f"{first} {rest}"
    return ""


def _translate_value(name: str, text: str) -> str:
    return join_list(map(translate, text.split(", "))) if name in ("missing", "unit") else text


@cache
def _compile_notes() -> tuple[tuple[re.Pattern[str], str], ...]:
    # "Missing: {missing}." becomes the pattern "Missing: (?P<missing>.+?)\\."
    field = re.compile(r"\\\{(\w+)\\\}")
    return tuple(
        (re.compile(field.sub(r"(?P<\1>.+?)", re.escape(message)), re.DOTALL), message)
        # The longest first: "{files}" of one message would match "{files} ({added} new)" of another.
        for message in sorted(note_messages.MESSAGES, key=len, reverse=True)
    )


def format_day(day: str) -> str:
    """Return a day in ISO 8601; from right to left "2026-11-20" would be shown in reverse, and "2026/11/20" is not."""
    return day.replace("-", "/") if _language.get() in RIGHT_TO_LEFT else day


def format_number(value: float, decimals: int | None = None) -> str:
    """Return a number with the marks of the language of the report: "1,234.5", "1.234,5"."""
    if _language.get() == "en":
        return f"{value:,g}" if decimals is None else f"{value:.{decimals}f}"
    from babel.numbers import format_decimal

    pattern = "#,##0.######" if decimals is None else f"0.{'0' * decimals}"
    return format_decimal(value, format=pattern, locale=_language.get())


def parse_language(name: str) -> str:
    """Return the code of a language given by its name in English or in itself, or by a code; empty if unknown.

    "German", "Deutsch", "de" and "de-AT" are the same.
    """
    sought = name.strip().casefold()
    return next((code for code in LANGUAGES if sought.split("-")[0] == code or sought in _list_names(code)), "")


@cache
def load_catalogue(language: str) -> Mapping[str, str]:
    """Return the translated messages of a language; empty for English."""
    if language == "en":
        return {}
    # Imported when needed: most reports are English.
    from babel.messages.pofile import read_po

    with (LOCALES / f"{language}.po").open("rb") as file:
        catalogue = read_po(file, locale=language)
    return {str(message.id): str(message.string) for message in catalogue if message.id and message.string}


@cache
def _list_names(code: str) -> frozenset[str]:
    from babel import Locale

    locale = Locale.parse(code)
    names = (locale.get_language_name("en"), locale.get_language_name(code))
    return frozenset(name.casefold() for name in names if name)
