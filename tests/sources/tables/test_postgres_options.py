"""Tests of parsing the connection strings of PostgreSQL."""

import pytest

from tenure.sources.tables.postgres_options import ConnectionStringError, parse_connection_string


@pytest.mark.parametrize(
    ("text", "options"),
    [
        (
            "postgresql://reader:p%40ss%2Fw%20ord@db.example.com:5433/shop?sslmode=require&connect_timeout=2",
            {
                "user": "reader",
                "password": "p@ss/w ord",
                "host": "db.example.com",
                "port": "5433",
                "dbname": "shop",
                "sslmode": "require",
                "connect_timeout": "2",
            },
        ),
        ("postgres://db", {"host": "db"}),
        ("postgres:///shop?host=%2Ftmp", {"host": "/tmp", "dbname": "shop"}),
        ("postgresql://%2Frun%2Fpostgresql/shop", {"host": "/run/postgresql", "dbname": "shop"}),
        ("postgresql://a:1,b:2/shop", {"host": "a,b", "port": "1,2", "dbname": "shop"}),
        ("postgresql://u@[::1]:5432/d?ssl=true", {"user": "u", "host": "::1", "port": "5432", "dbname": "d"}
         | {"sslmode": "require"}),
        ("postgresql://u:a:b@h/", {"user": "u", "password": "a:b", "host": "h"}),
        ("host=h  password = 'a b\\'c\\\\' user=x\\ y", {"host": "h", "password": "a b'c\\", "user": "x y"}),
        ("dbname=''", {}),
        ("", {}),
    ],
)  # fmt: skip
def test_both_forms_are_read(text: str, options: dict[str, str]) -> None:
    """Options have the names and values that libpq gives them."""
    assert parse_connection_string(text) == options


@pytest.mark.parametrize(
    "text",
    [
        "swordfish",
        "host=h password='swordfish",
        "host='h'password=swordfish",
        "host=h swordfish",
        "postgresql://u:swordfish@h:port/d",
        "postgresql://u:swordfish@[::1/d",
        "postgresql://u:swordfish@h/d?option",
        "postgresql://u:swordfish@h/d?a%29%3B%20DROP=1",
        "host=h x'y=swordfish",
    ],
)
def test_an_invalid_string_is_refused_without_its_text(text: str) -> None:
    """The message contains no part of the string, which may hold a password."""
    with pytest.raises(ConnectionStringError) as error:
        parse_connection_string(text)

    assert "swordfish" not in str(error.value)
