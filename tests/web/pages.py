"""Two hundred pages about fictional lighthouses: each has its own facts, and their layout is the same."""

import random
from dataclasses import dataclass
from html import escape

from tests.web.messages import Handler, Reply, Request

_FIRST = "Marrow Tallow Ember Kestrel Gannet Harrow Linnet Osprey Pewter Quill Rowan Sable Thistle Umber Vesper".split()
_SECOND = ["Point", "Head", "Rock", "Ness", "Skerry", "Reef", "Sound", "Bar", "Cape", "Bluff"]
_COASTS = ["Averland", "Brannoch", "Corvey", "Dunmarra", "Esker"]
_LENSES = ["first-order Fresnel", "third-order Fresnel", "dioptric", "catoptric", "rotating hyper-radial"]
_KEEPERS = ["Ada Wren", "Bram Holt", "Cleo Marsh", "Dov Penn", "Edda Vale", "Finn Orr", "Greta Sund", "Hale Brook"]
_STONES = ["granite", "sandstone", "cast iron", "brick", "limestone"]


@dataclass(frozen=True)
class Lighthouse:
    """Lighthouse with the facts of its page."""

    name: str
    coast: str
    lit: int
    """Year in which it was first lit."""
    height: int
    """Metres."""
    reach: int
    """Nautical miles."""
    keeper: str
    lens: str
    stone: str

    @property
    def path(self) -> str:
        """Path of its page."""
        return "/lighthouses/" + self.name.lower().replace(" ", "-")

    @property
    def text(self) -> list[str]:
        """Paragraphs of its page."""
        return [
            f"{self.name} lighthouse stands on the coast of {self.coast} and was first lit in {self.lit}. "
            f"Its tower is built of {self.stone} and is {self.height} metres high.",
            f"The light of {self.name} has a {self.lens} lens and is seen over {self.reach} nautical miles. "
            f"Its first keeper was {self.keeper}, who wrote down every ship that passed.",
            f"Sailors on the way to {self.coast} take their bearing from {self.name} before they turn into the bay. "
            "The lamp was fed with colza oil in the beginning and is driven by electricity today.",
        ]


def _lighthouses() -> tuple[Lighthouse, ...]:
    chance = random.Random(7)
    return tuple(
        Lighthouse(
            name=f"{first} {second}",
            coast=chance.choice(_COASTS),
            lit=chance.randint(1790, 1930),
            height=chance.randint(12, 68),
            reach=chance.randint(8, 31),
            keeper=chance.choice(_KEEPERS),
            lens=chance.choice(_LENSES),
            stone=chance.choice(_STONES),
        )
        for first in _FIRST
        for second in _SECOND
    )


LIGHTHOUSES = _lighthouses()
"""A hundred and fifty lighthouses, each with a page."""


def page(title: str, paragraphs: list[str], *, author: str = "", published: str = "", extra: str = "") -> bytes:
    """Return a page with the usual markup around its text."""
    meta = f'<meta name="author" content="{escape(author)}">' if author else ""
    meta += f'<meta property="article:published_time" content="{published}">' if published else ""
    text = "".join(f"<p>{escape(paragraph)}</p>" for paragraph in paragraphs)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>{meta}</head><body>'
        '<nav><a href="/">Home</a> <a href="/lighthouses">All lighthouses</a></nav>'
        f"<main><article><h1>{escape(title)}</h1>{text}{extra}</article></main>"
        "<footer>Printed on paper made of old sea charts.</footer></body></html>"
    ).encode()


def _about(lighthouse: Lighthouse) -> bytes:
    published = f"20{lighthouse.height % 20 + 2:02d}-0{lighthouse.reach % 9 + 1}-14"
    return page(f"{lighthouse.name} lighthouse", lighthouse.text, author="The Coast Register", published=published)


def _of_coast(coast: str) -> bytes:
    there = [one for one in LIGHTHOUSES if one.coast == coast]
    lines = [f"{one.name} was lit in {one.lit} and is {one.height} metres high." for one in there]
    return page(f"The lights of {coast}", [f"The coast of {coast} has {len(there)} lighthouses.", *lines])


def _of_year(year: int) -> bytes:
    lit = [one for one in LIGHTHOUSES if one.lit // 10 * 10 == year]
    lines = [f"{one.name} on the coast of {one.coast} was lit in {one.lit}." for one in lit]
    return page(f"Lighthouses of the {year}s", [f"{len(lit)} lighthouses were first lit in the {year}s.", *lines])


def _of_keeper(keeper: str) -> bytes:
    kept = [one for one in LIGHTHOUSES if one.keeper == keeper]
    lines = [f"{keeper} was the first keeper of {one.name}." for one in kept]
    return page(f"{keeper}, keeper", [f"{keeper} kept {len(kept)} lights in a long life.", *lines])


def bodies() -> dict[str, bytes]:
    """Return the pages by path."""
    made = {one.path: _about(one) for one in LIGHTHOUSES}
    made |= {f"/coasts/{coast.lower()}": _of_coast(coast) for coast in _COASTS}
    made |= {f"/years/{year}": _of_year(year) for year in range(1790, 1940, 10)}
    made |= {f"/keepers/{keeper.split()[0].lower()}": _of_keeper(keeper) for keeper in _KEEPERS}
    # Another subject, so that not every page fits every question.
    made |= {
        f"/bread/{number}": page(f"Bread of the {number}th week", [f"Loaf {number} rises for {number + 3} hours."])
        for number in range(1, 23)
    }
    return made


def site() -> dict[str, Handler]:
    """Return handlers by the paths of the pages."""
    return {path: _serving(body) for path, body in bodies().items()}


def _serving(body: bytes) -> Handler:
    def answer(request: Request) -> Reply:
        return Reply(body)

    return answer
