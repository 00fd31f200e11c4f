"""Render the sources of a report as labels, BibTeX and CSL-JSON.

Every entry is made from a reference of the result document, so only sources that were read can be cited. Documents
write authors and dates in many forms; a form that cannot be parsed is kept unchanged.
"""

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from string import ascii_lowercase
from typing import Any, NamedTuple
from urllib.parse import quote

from tenure.algorithms.text.dates import normalize_date, parse_date_range
from tenure.algorithms.text.printable import flatten
from tenure.contracts.evidence.places import is_presentation
from tenure.contracts.research.pictures import get_document_path
from tenure.contracts.result.result import SourceEntry
from tenure.report.sources.links import format_path, is_web

MAX_LABEL_WORDS = 4
"""Maximum number of title words in a label without an author."""

_SLIDES = "Presentation slides"
"""Genre of a presentation, as styles such as APA show it in brackets."""
# Parts of an author that are no name: "<ada@example.org>", "(editor)", "ada@example.org".
_ASIDE = re.compile(r"<[^<>]*+>|\([^()]*+\)|(?<![^\s>)])[^\s@<>()]++@\S+")
# Several authors: "Ada Miller; Ben Rye", "A & B", "A and B".
_BETWEEN = re.compile(r";|\n|&|\band\b")
_PARTICLES = frozenset("da de del della den der di do dos du la le ten ter van von zu".split())
# 1400 to 2199: "May 1848", but not "20240501" or "1050 pages".
_YEAR = re.compile(r"(?<!\d)(1[4-9]\d\d|20\d\d|21\d\d)(?!\d)")
# Words of a title that a label may have: "Baking of rye" has "Baking".
_WORD = re.compile(r"[^\W\d_]{4,}")
_TEX = {
    **{sign: f"\\{sign}" for sign in "&%$#_"},
    # BibTeX counts braces without regard to backslashes: `\}` would end the field.
    "{": r"\textbraceleft{}",
    "}": r"\textbraceright{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\\": r"\textbackslash{}",
}


class AuthorName(NamedTuple):
    """Name of a person; an organisation has a family name only."""

    family: str
    given: str = ""


def make_author_year_labels(sources: Sequence[SourceEntry]) -> dict[int, str]:
    """Return a label with author and year for each source, with a letter if two labels would be equal."""
    plain = [f"{_who(source)} {parse_year(source.published) or 'n.d.'}" for source in sources]
    return {source.n: label for source, label in zip(sources, _disambiguate(plain), strict=True)}


def parse_names(author: str) -> tuple[AuthorName, ...]:
    """Parse a line of authors: `Ann Author, Bob van Writer` or `Author, Ann; Writer, Bob`."""
    parts = [part.strip(" ,") for part in _BETWEEN.split(flatten(_ASIDE.sub("", author)))]
    return tuple(name for part in parts if part for name in _comma_separated(part))


def parse_year(published: str) -> str:
    """Return the year of a written date, empty if it has none."""
    match = _YEAR.search(normalize_date(published)) or _YEAR.search(published)
    return match[1] if match else ""


def render_bibtex(sources: Sequence[SourceEntry], base: PurePath | None = None) -> str:
    """Render the sources as a BibTeX file."""
    return "\n".join(_bibtex_entry(key, source, base) for key, source in zip(_make_keys(sources), sources, strict=True))


def render_csl_json(sources: Sequence[SourceEntry], base: PurePath | None = None) -> str:
    """Render the sources as CSL-JSON, the format of citation managers and Pandoc."""
    items = [_csl_item(key, source, base) for key, source in zip(_make_keys(sources), sources, strict=True)]
    return json.dumps(items, indent=2, ensure_ascii=False) + "\n"


def _comma_separated(part: str) -> Iterator[AuthorName]:
    """Yield the names of a comma-separated list, in which commas also separate family and given names."""
    pieces = [piece.strip() for piece in part.split(",") if piece.strip()]
    if len(pieces) == 2 and " " not in pieces[0]:
        yield AuthorName(pieces[0], pieces[1])
        return
    yield from map(_name, pieces)


def _name(text: str) -> AuthorName:
    words = text.split()
    first = len(words) - 1
    while first > 1 and words[first - 1].lower() in _PARTICLES:
        first -= 1
    return AuthorName(" ".join(words[first:]), " ".join(words[:first]))


def _who(source: SourceEntry) -> str:
    families = [name.family for name in parse_names(source.author)]
    if not families:
        return " ".join(flatten(source.title).split()[:MAX_LABEL_WORDS])
    return f"{families[0]} et al." if len(families) > 2 else " & ".join(families)


def _make_suffix(number: int) -> str:
    """Return the letters for an index: a, b and so on to z, then aa, ab."""
    more, last = divmod(number, len(ascii_lowercase))
    return (_make_suffix(more - 1) if more else "") + ascii_lowercase[last]


def _make_keys(sources: Sequence[SourceEntry]) -> list[str]:
    """Return a citation key for each source: family name, year and a title word in ASCII letters."""
    return _disambiguate([_key(source) for source in sources])


def _disambiguate(plain: Sequence[str]) -> list[str]:
    """Append a letter to labels that are equal."""
    times, counts = Counter(plain), Counter[str]()
    unique: list[str] = []
    for name in plain:
        unique.append(name + (_make_suffix(counts[name]) if times[name] > 1 else ""))
        counts[name] += 1
    return unique


def _key(source: SourceEntry) -> str:
    families = [name.family for name in parse_names(source.author)]
    title = next(iter(_WORD.findall(source.title)), "")
    parts = (_plain_letters(families[0]) if families else "", parse_year(source.published), _plain_letters(title))
    return "".join(parts) or f"source{source.n}"


def _plain_letters(text: str) -> str:
    """Return the ASCII letters and digits of a text, without accents."""
    decomposed = unicodedata.normalize("NFKD", text.replace("ł", "l").replace("Ł", "L").replace("ø", "o"))
    return re.sub(r"[^a-z0-9]", "", decomposed.lower())


def _bibtex_entry(key: str, source: SourceEntry, base: PurePath | None) -> str:
    authors = " and ".join(_bibtex_name(name) for name in parse_names(source.author))
    web = is_web(source.uri)
    slides = is_presentation(get_document_path(source.uri))
    fields = {
        "title": f"{{{_tex(source.title)}}}",
        "author": authors,
        "year": parse_year(source.published),
        "date": normalize_date(source.published) if _is_day(source.published) else "",
        "pages": str(source.page) if source.page and not slides else "",
        "type": _SLIDES if slides else "",
        "url": quote(source.uri, safe="%/:?#[]@!$&'()*+,;=") if web else "",
        "howpublished": "" if web else _tex(format_path(source.uri, base)),
        "urldate": _tex(source.accessed[:10]) if web else "",
    }
    lines = ",\n".join(f"  {name} = {{{value}}}" for name, value in fields.items() if value)
    return f"@misc{{{key},\n{lines}\n}}\n"


def _bibtex_name(name: AuthorName) -> str:
    """Format a name; braces protect an organisation's words."""
    return f"{_tex(name.family)}, {_tex(name.given)}" if name.given else f"{{{_tex(name.family)}}}"


def _tex(text: str) -> str:
    return "".join(_TEX.get(sign, sign) for sign in flatten(text))


def _csl_item(key: str, source: SourceEntry, base: PurePath | None) -> dict[str, Any]:
    web = is_web(source.uri)
    slides = is_presentation(get_document_path(source.uri))
    authors = [
        {"family": name.family, "given": name.given} if name.given else {"literal": name.family}
        for name in parse_names(source.author)
    ]
    fields: dict[str, Any] = {
        "id": key,
        "type": "webpage" if web else "document",
        "genre": _SLIDES if slides else "",
        "title": flatten(source.title),
        "author": authors,
        "page": str(source.page) if source.page and not slides else "",
        "issued": _csl_date(source.published),
        "accessed": _csl_date(source.accessed),
        "URL": source.uri if web else "",
        "archive_location": "" if web else flatten(format_path(source.uri, base)),
    }
    return {name: value for name, value in fields.items() if value}


def _csl_date(date: str) -> dict[str, Any]:
    """Return a date as precisely as it is known: a day, a year, or the original text."""
    if _is_day(date):
        return {"date-parts": [[int(part) for part in normalize_date(date).split("-")]]}
    if year := parse_year(date):
        return {"date-parts": [[int(year)]]}
    return {"literal": flatten(date)} if date.strip() else {}


def _is_day(date: str) -> bool:
    """Return whether a written date means one day."""
    dates = parse_date_range(date)
    return dates is not None and dates.first == dates.last
