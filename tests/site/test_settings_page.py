"""Test the page of the settings over HTTP: stored variables, hidden keys and refused visitors."""

import json
import re
import sys
from html import unescape
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr

from tenure.prices import load_prices
from tenure.runs.errors import TenureError
from tenure.settings import STORED_FILE, Settings
from tenure.site import settings_pages
from tests.model_server import ModelServer
from tests.site.conftest import Site, serve_at
from tests.sources.mcp.test_servers import SCRIPT
from tests.support.tiers import slow
from tests.support.waiting import wait_until


@pytest.fixture(autouse=True)
def _empty_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Work without settings of this machine."""
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "TENURE_MODEL"):
        monkeypatch.delenv(name, raising=False)


async def post(site: Site, path: str, **form: str) -> httpx.Response:
    """Send a form as a browser does from a page of the site."""
    async with site.client(origin=site.origin) as client:
        return await client.post(path, data=form)


async def read(site: Site, path: str = "/settings") -> str:
    """Return a page as text."""
    async with site.client() as client:
        return unescape((await client.get(path)).text)


def stored(site: Site) -> dict[str, str]:
    """Return the stored variables."""
    path = site.place.settings.home / STORED_FILE
    values: dict[str, str] = json.loads(path.read_text()) if path.exists() else {}
    return values


async def test_a_key_is_stored_and_never_shown(idle_site: Site) -> None:
    """The key is kept by an empty field, removed by its box, and no page contains it."""
    first = await post(idle_site, "/settings/model", endpoint="", OPENAI_API_KEY="sk-hidden", TENURE_MODEL="m1")
    page = await read(idle_site)
    await post(idle_site, "/settings/model", endpoint="", OPENAI_API_KEY="", TENURE_MODEL="m2")
    kept = stored(idle_site)
    refused = await post(idle_site, "/settings/model", TENURE_TEMPERATURE="9", OPENAI_API_KEY="sk-again")
    await post(idle_site, "/settings/model", endpoint="none")

    assert (first.status_code, first.headers["location"]) == (303, "/settings#model")
    assert "m1 at OpenAI answers: the server was set on this page." in page and "stored, not shown" in page
    assert "sk-hidden" not in page + await read(idle_site)
    assert kept == {"OPENAI_API_KEY": "sk-hidden", "TENURE_MODEL": "m2"}
    assert refused.status_code == 422 and "TENURE_TEMPERATURE is not valid" in refused.text
    assert "sk-again" not in refused.text and 'value="9"' in refused.text
    assert stored(idle_site) == {"TENURE_MODEL": "m2"}


async def test_a_key_is_forgotten_with_its_server(idle_site: Site) -> None:
    """Another address gets no key of the former one, and OpenAI is not chosen without a key."""
    await post(idle_site, "/settings/model", endpoint="", OPENAI_API_KEY="sk-1", TENURE_MODEL="m")
    await post(idle_site, "/settings/model", endpoint="other", OPENAI_BASE_URL="http://127.0.0.1:1/v1")
    moved = stored(idle_site)
    refused = await post(idle_site, "/settings/model", endpoint="")

    assert moved == {"OPENAI_BASE_URL": "http://127.0.0.1:1/v1", "TENURE_MODEL": "m"}
    assert refused.status_code == 422 and "OpenAI needs a key" in refused.text


async def test_a_rerank_server_gets_no_key_of_another(idle_site: Site) -> None:
    """A new address without a key removes the stored one, and a key that comes with it is stored."""
    first, second = (f"http://127.0.0.1:{port}/v1" for port in (1, 2))
    form = {"TENURE_RERANK_MODEL": "r", "TENURE_RERANK_API_KEY": "k1", "TENURE_RERANK_BASE_URL": first}
    await post(idle_site, "/settings/documents", **form)
    await post(
        idle_site, "/settings/documents", **form | {"TENURE_RERANK_BASE_URL": second, "TENURE_RERANK_API_KEY": ""}
    )
    moved = stored(idle_site)
    await post(idle_site, "/settings/documents", **form)

    assert "TENURE_RERANK_API_KEY" not in moved and moved["TENURE_RERANK_BASE_URL"] == second
    assert stored(idle_site)["TENURE_RERANK_API_KEY"] == "k1"


async def test_settings_are_applied_if_no_model_can_be_listed(idle_site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next run has what is stored, although the process that asks the server has failed, and the form says so."""

    def fail(settings: Settings) -> list[str]:
        raise TenureError("no answer within 300 s")

    monkeypatch.setattr(settings_pages, "list_models", fail)
    refused = await post(idle_site, "/settings/model", endpoint="other", OPENAI_BASE_URL="http://127.0.0.1:1/v1")

    assert stored(idle_site) == {"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}
    assert refused.status_code >= 400 and "no answer within 300 s" in refused.text
    await wait_until("the note on the worker", lambda: _has_note(idle_site))


async def test_a_setting_of_the_environment_is_shown_as_such(idle_site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """It cannot be edited, the page says why, and a form that sets it nevertheless changes nothing."""
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("TENURE_MAX_TOKENS", "77")
    page = await read(idle_site)
    await post(idle_site, "/settings/limits", TENURE_MAX_TOKENS="5", TENURE_MAX_CALLS="6")

    assert re.search(r'id="TENURE_MAX_TOKENS"[^>]*value="77"[^>]* disabled', page)
    assert "The environment sets TENURE_MAX_TOKENS, which has precedence" in page
    assert "answers: the environment sets the server." in page and 'id="endpoint"' not in page
    assert stored(idle_site) == {"TENURE_MAX_CALLS": "6"}


async def test_the_next_run_has_the_settings(idle_site: Site) -> None:
    """The page that stored them plans with them, and says that there is no worker to restart."""
    await post(idle_site, "/settings/model", endpoint="", OPENAI_API_KEY="sk-1", TENURE_MODEL="chosen-here")
    async with idle_site.client() as client:
        form = await client.post("/runs", data={"question": ""}, headers={"origin": idle_site.origin})
    await wait_until("the note on the worker", lambda: _has_note(idle_site))

    assert "Model, chosen-here if empty" in form.text


async def _has_note(site: Site) -> bool:
    return "No worker of this home runs" in await read(site, "/settings/live")


async def test_prices_and_keys_of_providers_are_stored(idle_site: Site) -> None:
    """Rows without a price are left out, and keys of providers are stored by their variables."""
    columns = {"price_model": "a\nb\n", "input": "1.5\n\n", "output": "3\n\n", "cached_input": "\n\n"}
    saved = await post(idle_site, "/settings/prices", **columns)
    wrong = await post(idle_site, "/settings/prices", price_model="a", input="x", output="1", cached_input="")
    await post(idle_site, "/settings/web", TENURE_BRAVE_KEY="bk", TENURE_WEB="true")
    unknown = await post(idle_site, "/settings/web", TENURE_SEARCH_PROVIDERS="nothing")
    prices = load_prices(Settings(home=idle_site.place.settings.home, _env_file=None))

    assert (saved.status_code, wrong.status_code, unknown.status_code) == (303, 422, 422)
    assert {model: (price.input, price.output) for model, price in prices.items()} == {"a": (1.5, 3)}
    assert stored(idle_site) == {"TENURE_BRAVE_KEY": "bk", "TENURE_WEB": "true"}


async def test_mcp_servers_are_added_tried_and_removed(idle_site: Site) -> None:
    """A server is stored with its secrets, answers with its tools, and is removed; a bad one is explained."""
    command = f"{sys.executable} {SCRIPT} well mark"
    form = {"name": "kitchen", "server": command, "tools": "search told", "secrets": "TOKEN: hidden-token"}
    added = await post(idle_site, "/settings/mcp", **form)
    page, kept = await read(idle_site), json.loads(stored(idle_site)["TENURE_MCP_SERVERS"])
    again = await post(idle_site, "/settings/mcp", **form)
    bad = await post(idle_site, "/settings/mcp", name="other", server="'", secrets="x")
    await post(idle_site, "/settings/mcp/change", name="kitchen")

    assert added.status_code == 303 and "kitchen: answers, with the tools search, told" in page
    assert kept["kitchen"]["environment"] == {"TOKEN": "hidden-token"} and "hidden-token" not in page
    assert "there is a server" in unescape(again.text) and "write each line as NAME: VALUE" in bad.text
    assert stored(idle_site) == {}


async def test_others_do_not_change_settings(idle_site: Site, tmp_path: Path) -> None:
    """A page of another origin, a program without the key, and a client of an owner are refused."""
    async with idle_site.client(origin="https://evil.example") as client:
        foreign = await client.post("/settings/model", data={"TENURE_MODEL": "evil"})
    async with idle_site.client(owner=False) as client:
        unknown = await client.get("/settings")
    owned = idle_site.place.settings.model_copy(update={"owner": "ann", "owner_token": SecretStr("a" * 32)})
    async with serve_at(idle_site.place.__class__(owned, "127.0.0.1:1", "ann", False, "")) as site:
        refused, start = await read(site), await read(site, "/schedules")
        changed = await post(site, "/settings/limits", TENURE_MAX_CALLS="1")

    assert (foreign.status_code, unknown.status_code, changed.status_code) == (403, 401, 409)
    assert "its operator changes the settings" in refused and 'href="/settings"' not in start
    assert stored(idle_site) == {}


@slow
async def test_a_model_server_is_chosen_and_tested(idle_site: Site) -> None:
    """Without a name the first listed model is used, the lines of `doctor` are shown, and the list is offered."""
    with ModelServer(models={"qwen3:8b": 40_000, "bge-m3": None}) as model:
        await post(idle_site, "/settings/model", endpoint="other", OPENAI_BASE_URL=model.base_url, then="test")
        page, offered = await read(idle_site), await read(idle_site, "/models")

    assert stored(idle_site) == {"OPENAI_BASE_URL": model.base_url, "TENURE_MODEL": "qwen3:8b"}
    assert "chat model: qwen3:8b: answered in" in page
    assert re.findall('value="(.*?)"', offered) == ["qwen3:8b"]
