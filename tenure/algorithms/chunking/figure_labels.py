"""Find the labels of figures: in captions, and in sentences that refer to a figure."""

import re
from typing import Final

FIGURE_LABEL: Final = "Figure "
"""Beginning of a label, before its number."""
MAX_CAPTION_CHARACTERS: Final = 600
"""Characters of a caption that are kept."""
_NAMES: Final = (
    "figure|fig|abbildung|abb|figura|figuur|afbeelding|afb|rysunek|rys|ryc|рисунок|рисунке|рисунка|рис|exhibit|chart|"
    "diagram|scheme|شكل|الشكل"
)
# "Figure 3", "Fig. 2.1", "Abb. A.4", "Рис. 5"; "图 3" and "図3" are written without a blank before them.
_NUMBER: Final = r"(?P<{0}>[A-Z]{{0,2}}\.?-?\d{{1,3}}(?:[.-]\d{{1,3}}){{0,3}})"
_LABEL: Final = (
    rf"(?:(?<!\w)(?:{_NAMES})\.?\s{{0,3}}{_NUMBER.format('number')}|[图圖図]\s{{0,3}}{_NUMBER.format('han')})"
)
_REFERENCE: Final = re.compile(_LABEL, re.IGNORECASE)
_SPACED: Final = r"\s{1,3}[|–—-]\s"
# "Figure 3: Costs", "Fig. 1 – Layers", "Figure 2" alone, and "Fig. 3 Overview of", but not "Figure 3 shows that".
_CAPTION: Final = re.compile(
    rf"\W{{0,3}}{_LABEL}(?P<end>[.:\uff1a|–—]|{_SPACED}|\s{{0,3}}$|\s{{1,3}}(?=\S))", re.IGNORECASE
)


def find_caption_label(text: str) -> str:
    """Return the label of the figure whose caption a paragraph is, as `Figure 3`; empty for another paragraph."""
    match = _CAPTION.match(text)
    if match is None:
        return ""
    following = text[match.end() : match.end() + 1]
    if not match["end"].strip() and following and not (following.isupper() or _is_unicased(following)):
        return ""
    return _make_label(match)


def list_figure_references(text: str) -> frozenset[str]:
    """Return the labels of the figures that a text names."""
    return frozenset(map(_make_label, _REFERENCE.finditer(text)))


def _make_label(match: "re.Match[str]") -> str:
    number = (match["number"] or match["han"]).upper().strip(".-")
    return f"{FIGURE_LABEL}{number}"


def _is_unicased(character: str) -> bool:
    """Return whether a letter is of a script without capitals, as in a caption in Chinese or Arabic."""
    return character.isalpha() and character.lower() == character.upper()
