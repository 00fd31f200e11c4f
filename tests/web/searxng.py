"""Fake SearXNG instance over the pages of the test web: `/search?q=…&format=json`."""

import json
import math
import re
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING

from tests.web.messages import Handler, Reply, Request
from tests.web.pages import bodies
from tests.web.traps import FINDABLE

if TYPE_CHECKING:
    from tests.web.server import Web


@cache
def _read() -> dict[str, tuple[str, str]]:
    """Return title and text of all findable pages, by path."""
    found = {}
    for path, body in {**bodies(), **FINDABLE}.items():
        page = body.decode("utf-8", "replace")
        title = re.search(r"<title>(.*?)</title>", page)
        found[path] = (title[1] if title else path, " ".join(re.sub(r"<[^>]*>", " ", page).split()))
    return found


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


@cache
def _documents() -> Counter[str]:
    """Return the document frequency of each word."""
    return Counter(word for title, text in _read().values() for word in _words(f"{title} {text}"))


def ranked(query: str) -> list[tuple[str, float]]:
    """Return the paths with words of a query, best first: by inverse document frequency, twice for words in titles."""
    known, wanted = _documents(), _words(query)
    scores = {}
    for path, (title, text) in _read().items():
        in_title, there = wanted & _words(title), wanted & _words(text)
        scores[path] = sum(math.log(len(_read()) / known[word] + 1) for word in (*in_title, *there))
    return sorted(((path, score) for path, score in scores.items() if score), key=lambda one: (-one[1], one[0]))


def handler(web: "Web") -> Handler:
    """Return a handler for searches over a web."""

    def answer(request: Request) -> Reply:
        if request.query.get("format") != "json":
            return Reply(b"<p>Searches for people are on the other side.</p>", 403)
        query, page = request.query.get("q", ""), int(request.query.get("pageno", "1"))
        found = ranked(query)[10 * (page - 1) : 10 * page]
        results = [
            {
                "url": web.build_url(path),
                "title": _read()[path][0],
                "content": _read()[path][1][:200],
                "engine": "lamp",
                "engines": ["lamp"],
                "category": "general",
                "score": score,
                "publishedDate": None,
            }
            for path, score in found
        ]
        said = {"query": query, "number_of_results": len(found), "results": results, "unresponsive_engines": []}
        empty: dict[str, list[str]] = {"answers": [], "corrections": [], "infoboxes": [], "suggestions": []}
        return Reply(json.dumps({**said, **empty}).encode(), kind="application/json", validated=False)

    return answer
