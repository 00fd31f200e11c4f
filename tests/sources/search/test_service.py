"""Talking to a provider's server: bounds, refusals, secrets. All over real HTTP."""

import gzip
import socket

import pytest
from pydantic import BaseModel, SecretStr

from tenure.sources.search.base import Refused, Unavailable
from tenure.sources.search.service import MOST_BYTES, MOST_WAITING, Http, Service, parsed
from tests.sources.search.engine import Engine, Said

KEY = "sk-verysecret123"


def service(http: Http, base: str, key: str | None = KEY) -> Service:
    return Service(http, "engine", base, SecretStr(key) if key else None, "TENURE_KEY", "TENURE_ADDRESS")


async def test_a_request_says_who_asks_and_what_for(http: Http) -> None:
    """Parameters without a value are left out, and the base may have a path of its own."""
    with Engine(Said({"a": 1})) as engine:
        asking = service(http, f"{engine.url}/api/")
        body = await asking.get("/search", {"q": "rye & spelt", "page": 2, "lang": ""}, asking.bearer)

    (asked,) = engine.asked
    assert body == b'{"a": 1}'
    assert (asked.method, asked.path, asked.query) == ("GET", "/api/search", {"q": "rye & spelt", "page": "2"})
    assert asked.headers["user-agent"] == "Tenure/test"
    assert asked.headers["authorization"] == f"Bearer {KEY}"


async def test_json_is_posted(http: Http) -> None:
    """A body goes as JSON; without a key there is no header for one."""
    with Engine(Said({})) as engine:
        asking = service(http, engine.url, key=None)
        await asking.post("/search", {"query": "rye"}, asking.bearer)

    (asked,) = engine.asked
    assert (asked.method, asked.json) == ("POST", {"query": "rye"})
    assert "authorization" not in asked.headers


async def test_packed_answers_are_unpacked(http: Http) -> None:
    """Gzip is offered and understood."""
    with Engine(Said(gzip.compress(b"[]"), headers={"Content-Encoding": "gzip"})) as engine:
        assert await service(http, engine.url).get("/", {}) == b"[]"


@pytest.mark.parametrize(
    "said",
    [
        Said(b"x" * (MOST_BYTES + 1)),
        Said(endless=b"x" * 65536),
        Said(gzip.compress(b"0" * (64 * MOST_BYTES)), headers={"Content-Encoding": "gzip"}),
    ],
    ids=["long", "endless", "bomb"],
)
async def test_an_answer_too_long_is_refused(http: Http, said: Said) -> None:
    """Neither a large body nor a small one that unpacks to a large one is kept."""
    with Engine(said) as engine, pytest.raises(Refused, match="it is larger than"):
        await service(http, engine.url).get("/", {})


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (Said(b"[", breaks=True), "could not be reached"),
        (Said(status=429), "too many requests"),
        (Said(status=432), "too many requests"),
        (Said(status=503), "cannot answer now"),
        (Said(status=403, headers={"X-RateLimit-Remaining": "0"}), "too many requests"),
    ],
)
async def test_what_may_pass_is_unavailable(http: Http, said: Said, message: str) -> None:
    """Broken connections and busy servers are told apart from what a person has to change."""
    with Engine(said) as engine, pytest.raises(Unavailable, match=message):
        await service(http, engine.url).get("/", {})


async def test_a_server_that_is_not_there_is_unavailable(http: Http) -> None:
    """A refused connection may be a restart."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        with pytest.raises(Unavailable, match="engine could not be reached"):
            await service(http, f"http://127.0.0.1:{unused.getsockname()[1]}").get("/", {})


@pytest.mark.parametrize(
    ("said", "key", "message"),
    [
        (Said(status=401), KEY, "does not accept its key; check TENURE_KEY"),
        (Said(status=401), None, "wants a key: set TENURE_KEY"),
        (Said(status=404), KEY, r"refused the search \(status 404\)"),
        (Said(status=302, headers={"Location": "https://elsewhere.example/"}), KEY, "check TENURE_ADDRESS"),
        (Said(b"no gzip", headers={"Content-Encoding": "gzip"}), KEY, "not packed as it says"),
        (Said(gzip.compress(b"[1, 2]")[:-9], headers={"Content-Encoding": "gzip"}), KEY, "its end is missing"),
    ],
)
async def test_what_stays_is_refused(http: Http, said: Said, key: str | None, message: str) -> None:
    """One line says what to change; a redirect is not followed, since the key would go along."""
    with Engine(said) as engine, pytest.raises(Refused, match=message):
        await service(http, engine.url, key).get("/", {})

    assert len(engine.asked) == 1


async def test_an_open_server_that_refuses_names_no_key(http: Http) -> None:
    """Where no setting holds a key, none is named."""
    with Engine(Said(status=403)) as engine, pytest.raises(Refused, match="engine does not let the search in"):
        await Service(http, "engine", engine.url).get("/", {})


@pytest.mark.parametrize("base", ["engine.example", "ftp://engine.example", "http://[::1", ""])
async def test_an_address_that_cannot_be_used_is_named(http: Http, base: str) -> None:
    """It is found out with the first search."""
    with pytest.raises(Refused, match="check TENURE_ADDRESS"):
        await service(http, base).get("/search", {})


async def test_the_server_says_when_to_come_back(http: Http) -> None:
    """Its delay goes along with the refusal."""
    with Engine(Said(status=429, headers={"Retry-After": "7"})) as engine, pytest.raises(Unavailable) as caught:
        await service(http, engine.url).get("/", {})

    assert caught.value.retry_after == 7


async def test_requests_keep_their_distance(http: Http) -> None:
    """Those who wait for a turn get one each, a gap apart."""
    with Engine(Said({})) as engine:
        asking = Service(http, "engine", engine.url, gap=0.01)
        await asking.get("/", {})
        first = asking._next
        await asking.get("/", {})

    assert asking._next >= first + 0.01
    assert len(engine.asked) == 2


async def test_a_rush_is_turned_away_and_ends(http: Http) -> None:
    """Who would wait too long is told so at once, and does not lengthen the queue."""
    with Engine(Said({})) as engine:
        asking = Service(http, "engine", engine.url, gap=1_000 * MOST_WAITING)
        await asking.get("/", {})
        after = asking._next
        with pytest.raises(Unavailable, match="engine is asked as often as its rules allow"):
            await asking.get("/", {})

    assert (asking._next, len(engine.asked)) == (after, 1)


class _Reply(BaseModel):
    results: list[str]


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"results": 1}', b'{"results": ["\xff"]}', b"[" * 10**6])
async def test_another_kind_of_answer_is_refused(http: Http, body: bytes) -> None:
    """Whatever the body is, what is not the provider's answer is named as such."""
    with pytest.raises(Refused, match="something else than its results; check TENURE_ADDRESS"):
        service(http, "http://127.0.0.1:9").read(_Reply, body)


def test_json_nested_without_end_is_no_json() -> None:
    """The interpreter's own limit is a limit like any other."""
    assert parsed(b"[1]") == [1]
    with pytest.raises(ValueError, match="nested"):
        parsed(b"[" * 10**6)
