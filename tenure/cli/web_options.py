"""Determine which part of the web a run may read, from the command line and the settings."""

import re
from argparse import Namespace

from tenure.cli.errors import UsageError
from tenure.contracts.evidence.web import WebScope
from tenure.settings import Settings

_DOMAIN = re.compile(r"-?(?:[^\W_](?:[\w-]{0,61}[^\W_])?\.)*[^\W_](?:[\w-]{0,61}[^\W_])?")


def parse_web_scope(arguments: Namespace, settings: Settings) -> WebScope | None:
    """Return the web scope of a run, or None if it may not read the web.

    A command that names documents, a corpus or a database reads the web only if it says so.

    Raises:
        UsageError: a web option is given without the web, or a domain is invalid.
    """
    chosen = {"provider": arguments.provider, "domain": arguments.domain, "since": arguments.since}
    local = arguments.docs or arguments.corpus or arguments.database or arguments.mode == "code" or arguments.tests
    wanted = arguments.web if arguments.web is not None else settings.web and not local
    if not wanted:
        if useless := next((name for name, value in {**chosen, "pages": arguments.pages}.items() if value), None):
            raise UsageError(f"--{useless} applies only to runs that read the web: add --web")
        return None
    for name in arguments.domain:
        if not _DOMAIN.fullmatch(name):
            raise UsageError(f"{name!r} is not a domain: write it like example.org, without scheme and path")
    return WebScope(
        max_pages=arguments.pages or settings.web_pages,
        providers=tuple(dict.fromkeys(arguments.provider)),
        domains=tuple(name for name in arguments.domain if not name.startswith("-")),
        excluded_domains=tuple(name[1:] for name in arguments.domain if name.startswith("-")),
        time_range=arguments.since,
        archive=settings.web_archive,
    )
