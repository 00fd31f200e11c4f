"""Determine which part of the web a run may read, by its request and the settings."""

import re

from tenure.algorithms.text.urls import InvalidUrlError, parse_url
from tenure.contracts.evidence.web import WebScope
from tenure.runs.errors import InvalidRequest, add_field
from tenure.runs.messages import StartRequest
from tenure.settings.web import WebSettings

# "example.org", "-ads.example.org" (excluded), "bücher.example".
_DOMAIN = re.compile(r"-?(?:[^\W_](?:[\w-]{0,61}[^\W_])?\.)*[^\W_](?:[\w-]{0,61}[^\W_])?")


def build_web_scope(request: StartRequest, settings: WebSettings) -> WebScope | None:
    """Return the web scope of a run, or None if it may not read the web.

    A request that names documents, a corpus or a database reads the web only if it says so.

    Raises:
        InvalidRequest: a web option is given without the web, or a domain is invalid.
    """
    named = (request.docs, request.corpora, request.databases, request.tests, request.repo)
    local = request.mode == "code" or any(named)
    is_enabled = request.web if request.web is not None else settings.web and not local
    if not is_enabled:
        for field in ("providers", "domains", "urls", "since", "pages"):
            if getattr(request, field):
                raise InvalidRequest("it applies only to runs that read the web, and this one does not", field)
        return None
    for name in request.domains:
        if not _DOMAIN.fullmatch(name):
            raise InvalidRequest(f"{name!r} is not a domain: write it like example.org, without scheme and path")
    with add_field("urls"):
        urls = tuple(dict.fromkeys(map(_check_url, request.urls)))
    return WebScope(
        urls=urls,
        max_pages=request.pages or settings.web_pages,
        providers=tuple(dict.fromkeys(request.providers)),
        domains=tuple(name for name in request.domains if not name.startswith("-")),
        excluded_domains=tuple(name[1:] for name in request.domains if name.startswith("-")),
        time_range=request.since,
    )


def _check_url(url: str) -> str:
    try:
        parse_url(url)
    except InvalidUrlError as error:
        raise InvalidRequest(f"{url[:200]!r} is not the URL of a web page: begin it with https://") from error
    return url
