"""The sources of a report in the forms in which bibliographies are kept: labels, BibTeX and CSL-JSON.

Every entry is made from an entry of the result document, which comes from the `sources` table: what no
run has read cannot be cited. Authors and dates stand in documents in all kinds of forms; what cannot be
taken apart is kept as it is.
"""

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from string import ascii_lowercase
from typing import Any, NamedTuple

from tenure.algorithms.text.dates import iso_date, period
from tenure.contracts.result.result import SourceEntry
from tenure.report.render.escaping import flatten
from tenure.report.render.links import is_web, shown_path

LABEL_WORDS = 4
"""Words of a title that stand for the author where none is known."""

_ASIDE = re.compile(r"<[^>]*>|\([^)]*\)|\S+@\S+")
_BETWEEN = re.compile(r"\s*(?:;|\n|&|\band\b)\s*")
_PARTICLES = frozenset("da de del della den der di do dos du la le ten ter van von zu".split())
_YEAR = re.compile(r"(?<!\d)(1[4-9]\d\d|20\d\d|21\d\d)(?!\d)")
_WORD = re.compile(r"[^\W\d_]{4,}")
_TEX = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\\": r"\textbackslash{}",
}


class Name(NamedTuple):
    """A person's name; an organisation has a family name only."""

    family: str
    given: str = ""


def author_year(sources: Sequence[SourceEntry]) -> dict[int, str]:
    """Name each source by its authors and year, with a letter where two would be named alike."""
    plain = [f"{_who(source)} {year(source.published) or 'n.d.'}" for source in sources]
    return {source.n: label for source, label in zip(sources, _told_apart(plain), strict=True)}


def names(author: str) -> tuple[Name, ...]:
    """Take a line of authors apart: `Ann Author, Bob van Writer` as well as `Author, Ann; Writer, Bob`."""
    parts = [part.strip(" ,") for part in _BETWEEN.split(flatten(_ASIDE.sub("", author)))]
    return tuple(name for part in parts if part for name in _comma_separated(part))


def year(published: str) -> str:
    """Return the year of a written date, empty where it has none."""
    found = _YEAR.search(iso_date(published)) or _YEAR.search(published)
    return found[1] if found else ""


def bibtex(sources: Sequence[SourceEntry], base: PurePath | None = None) -> str:
    """Write the sources as a BibTeX file.

    Args:
        sources: the references.
        base: folder to which paths are shown relative, where they are under it.
    """
    return "\n".join(_bibtex_entry(key, source, base) for key, source in zip(_keys(sources), sources, strict=True))


def csl_json(sources: Sequence[SourceEntry], base: PurePath | None = None) -> str:
    """Write the sources as CSL-JSON, the format that citation managers and Pandoc read.

    Args:
        sources: the references.
        base: folder to which paths are shown relative, where they are under it.
    """
    items = [_csl_item(key, source, base) for key, source in zip(_keys(sources), sources, strict=True)]
    return json.dumps(items, indent=2, ensure_ascii=False) + "\n"


def _comma_separated(part: str) -> Iterator[Name]:
    """Yield the names of a list with commas, which also stand between family and given name."""
    pieces = [piece.strip() for piece in part.split(",") if piece.strip()]
    if len(pieces) == 2 and " " not in pieces[0]:
        yield Name(pieces[0], pieces[1])
        return
    yield from map(_name, pieces)


def _name(text: str) -> Name:
    words = text.split()
    first = len(words) - 1
    while first > 1 and words[first - 1].lower() in _PARTICLES:
        first -= 1
    return Name(" ".join(words[first:]), " ".join(words[:first]))


def _who(source: SourceEntry) -> str:
    families = [name.family for name in names(source.author)]
    if not families:
        return " ".join(flatten(source.title).split()[:LABEL_WORDS])
    return f"{families[0]} et al." if len(families) > 2 else " & ".join(families)


def _letters(number: int) -> str:
    """Return the letters that count from a on: a, b and so on to z, then aa, ab."""
    more, last = divmod(number, len(ascii_lowercase))
    return (_letters(more - 1) if more else "") + ascii_lowercase[last]


def _keys(sources: Sequence[SourceEntry]) -> list[str]:
    """Return a citation key for each source: family name, year and a word of the title in plain letters."""
    return _told_apart([_key(source) for source in sources])


def _told_apart(plain: Sequence[str]) -> list[str]:
    """Add a letter to each of those that are alike."""
    times, seen = Counter(plain), Counter[str]()
    told: list[str] = []
    for name in plain:
        told.append(name + (_letters(seen[name]) if times[name] > 1 else ""))
        seen[name] += 1
    return told


def _key(source: SourceEntry) -> str:
    families = [name.family for name in names(source.author)]
    title = next(iter(_WORD.findall(source.title)), "")
    parts = (_plain_letters(families[0]) if families else "", year(source.published), _plain_letters(title))
    return "".join(parts) or f"source{source.n}"


def _plain_letters(text: str) -> str:
    """Return the letters and digits of a text that ASCII has, without accents."""
    decomposed = unicodedata.normalize("NFKD", text.replace("ł", "l").replace("Ł", "L").replace("ø", "o"))
    return re.sub(r"[^a-z0-9]", "", decomposed.lower())


def _bibtex_entry(key: str, source: SourceEntry, base: PurePath | None) -> str:
    authors = " and ".join(_bibtex_name(name) for name in names(source.author))
    web = is_web(source.uri)
    fields = {
        "title": f"{{{_tex(source.title)}}}",
        "author": authors,
        "year": year(source.published),
        "date": iso_date(source.published) if _is_day(source.published) else "",
        "url": re.sub(r"[{}\\]", lambda sign: f"%{ord(sign[0]):02X}", source.uri) if web else "",
        "howpublished": "" if web else _tex(shown_path(source.uri, base)),
        "urldate": source.accessed[:10] if web else "",
    }
    lines = ",\n".join(f"  {name} = {{{value}}}" for name, value in fields.items() if value)
    return f"@misc{{{key},\n{lines}\n}}\n"


def _bibtex_name(name: Name) -> str:
    """Write a name; braces keep an organisation's words together."""
    return f"{_tex(name.family)}, {_tex(name.given)}" if name.given else f"{{{_tex(name.family)}}}"


def _tex(text: str) -> str:
    return "".join(_TEX.get(sign, sign) for sign in flatten(text))


def _csl_item(key: str, source: SourceEntry, base: PurePath | None) -> dict[str, Any]:
    web = is_web(source.uri)
    authors = [
        {"family": name.family, "given": name.given} if name.given else {"literal": name.family}
        for name in names(source.author)
    ]
    fields: dict[str, Any] = {
        "id": key,
        "type": "webpage" if web else "document",
        "title": flatten(source.title),
        "author": authors,
        "issued": _csl_date(source.published),
        "accessed": _csl_date(source.accessed),
        "URL": source.uri if web else "",
        "archive_location": "" if web else flatten(shown_path(source.uri, base)),
    }
    return {name: value for name, value in fields.items() if value}


def _csl_date(written: str) -> dict[str, Any]:
    """Return a date as far as it is known: a day, a year, or what is written."""
    if _is_day(written):
        return {"date-parts": [[int(part) for part in iso_date(written).split("-")]]}
    if found := year(written):
        return {"date-parts": [[int(found)]]}
    return {"literal": flatten(written)} if written.strip() else {}


def _is_day(written: str) -> bool:
    """Whether a written date means one day."""
    found = period(written)
    return found is not None and found.first == found.last
