"""Parse the connection strings of PostgreSQL into options, so that the engine can keep them in a secret.

Both forms of libpq are read: a URL `postgresql://user:password@host:port/database?option=value`, and a list of
`option = 'value'`.
"""

import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote

_URL: Final = re.compile(r"postgres(?:ql)?://")  # "postgresql://" of "postgresql://ada@db.example:5432/bees".
# "ada:secret@db.example:5432/bees?sslmode=require".
_AUTHORITY: Final = re.compile(
    r"""
    (?: (?P<user> [^:@/?]* ) (?: : (?P<password> [^@/?]* ) )? @ )?
    (?P<hosts> [^/?]* )
    (?: / (?P<dbname> [^?]* ) )?
    (?: \? (?P<query> .* ) )?
    """,
    re.VERBOSE | re.DOTALL,
)
# "db.example:5432", "[::1]:5432".
_HOST: Final = re.compile(r"(?P<host> \[ [^\]]* \] | [^:\[\]]* ) (?: : (?P<port> \d* ) )?", re.VERBOSE)
# "host=db.example", "password='two words'".
_OPTION: Final = re.compile(
    r"""
    \s* (?P<name> [^\s=]+ ) \s* = \s*
    (?: ' (?P<quoted> (?: [^'\\] | \\. )* ) ' | (?P<plain> (?: [^\s'\\] | \\. )* ) )
    """,
    re.VERBOSE | re.DOTALL,
)
_NAME: Final = re.compile(r"[a-z_]+")  # "sslmode".


class ConnectionStringError(ValueError):
    """A connection string that cannot be read; the message contains no part of it except the name of an option."""


def parse_connection_string(text: str) -> dict[str, str]:
    """Return the options of a connection string by their names in libpq.

    Raises:
        ConnectionStringError: the text has neither form.
    """
    options = _parse_url(text[match.end() :]) if (match := _URL.match(text)) else dict(_parse_list(text))
    for name in options:
        if not _NAME.fullmatch(name):
            raise ConnectionStringError("its connection string has an option whose name is not a word")
    return {name: value for name, value in options.items() if value}


def _parse_url(rest: str) -> dict[str, str]:
    match = _AUTHORITY.fullmatch(rest)
    assert match, "every text matches"
    hosts = [_HOST.fullmatch(host) for host in match["hosts"].split(",")]
    if not all(hosts):
        raise ConnectionStringError("its URL has no valid host and port")
    options = {
        "user": unquote(match["user"] or ""),
        "password": unquote(match["password"] or ""),
        "host": ",".join(unquote(host["host"]).strip("[]") for host in hosts if host),
        "port": ",".join(host["port"] or "" for host in hosts if host).strip(","),
        "dbname": unquote(match["dbname"] or ""),
    }
    for part in filter(None, (match["query"] or "").split("&")):
        name, sign, value = part.partition("=")
        if not sign:
            raise ConnectionStringError("its URL has an option without a value")
        # The driver for Java writes `ssl=true`, and libpq accepts it.
        option = ("sslmode", "require") if (name, value) == ("ssl", "true") else (unquote(name), unquote(value))
        options[option[0]] = option[1]
    return options


def _parse_list(text: str) -> Iterator[tuple[str, str]]:
    position, end = 0, len(text.rstrip())
    while position < end:
        match = _OPTION.match(text, position)
        if not match or (match.end() < end and not text[match.end()].isspace()):
            raise ConnectionStringError("its connection string is neither a URL nor a list of option = 'value'")
        value = match["plain"] if match["quoted"] is None else match["quoted"]
        yield match["name"], re.sub(r"\\(.)", r"\1", value, flags=re.DOTALL)
        position = match.end()
