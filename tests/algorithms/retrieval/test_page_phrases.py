"""Tests of stock phrases of web pages."""

import pytest

from tenure.algorithms.retrieval.page_phrases import (
    ERROR_PAGE_OPENINGS,
    ERROR_PAGE_TITLES,
    PAYWALL_NOTICES,
)
from tenure.algorithms.text.stock_phrases import contains_phrase


@pytest.mark.parametrize(
    "title",
    [
        "404",
        "Error 404 (Not Found)!!1",
        "Page not found - Example",
        "Example | Not found",
        "403 Forbidden",
        "429 Too Many Requests",
        "Just a moment...",
        "Oops! That page can’t be found.",
        "Seite nicht gefunden – Beispiel",
        "Page introuvable",
        "Página no encontrada",
        "Pagina non trovata",
        "Страница не найдена",
        "页面不存在_某站",
    ],
)
def test_error_titles_are_recognised(title: str) -> None:
    """Titles of error pages are recognised in several languages."""
    assert contains_phrase(title, ERROR_PAGE_TITLES)


@pytest.mark.parametrize(
    "title",
    [
        "Found objects in art",
        "404 Media raises money",
        "Lost and found",
        "The missing page was found in Rome",
        "Area 404",
        "Not found: the missing plane",
        "How to design a 404 page",
        "500 Days of Summer",
        "401k plans explained",
        "Oops I did it again",
    ],
)
def test_article_titles_are_not_error_titles(title: str) -> None:
    """Numbers and words that also occur in error pages are not sufficient."""
    assert not contains_phrase(title, ERROR_PAGE_TITLES)


@pytest.mark.parametrize(
    "text",
    [
        "Sorry, the page you are looking for does not exist.",
        "Please enable JavaScript and cookies to continue",
        "This domain is for sale",
        "La page demandée est introuvable",
        "您访问的页面不存在",
    ],
)
def test_error_openings_are_recognised(text: str) -> None:
    """An error page with an ordinary title is recognised by its first words."""
    assert contains_phrase(text, ERROR_PAGE_OPENINGS)


@pytest.mark.parametrize(
    "text",
    [
        "Subscribe to continue reading",
        "This article is for subscribers only.",
        "You have reached your limit of free articles",
        "Mit dem Abo weiterlesen",
        "Cet article est réservé aux abonnés",
        "Contenido exclusivo para suscriptores",
        "Только для подписчиков",
        "订阅后继续阅读",
    ],
)
def test_paywalls_are_recognised(text: str) -> None:
    """Paywall notices are recognised in several languages."""
    assert contains_phrase(f"Some news begin here. {text}", PAYWALL_NOTICES)
