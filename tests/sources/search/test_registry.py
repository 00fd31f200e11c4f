"""Providers that the registry finds and the settings configure."""

import sys
from pathlib import Path

import pytest
from pydantic import SecretStr, ValidationError

from tenure.contracts.evidence.web import WebSearchRequest
from tenure.extensions import SEARCH_PROVIDERS, list_extensions
from tenure.settings import Settings, describe_settings_error
from tenure.sources.search import providers as provider_package
from tenure.sources.search.api_client import HttpConnections
from tenure.sources.search.provider import ProviderSkipped, SearchResult
from tenure.sources.search.registry import ProviderRegistry, load_provider_class, load_provider_classes
from tests.sources.search.fake_search_server import FakeResponse, FakeSearchServer

KEYS = {"brave": SecretStr("b"), "tavily": SecretStr("t")}
SEARXNG = {"searxng": "http://127.0.0.1:9"}

PLUGIN = """
from pydantic import BaseModel

from tenure.sources.search.api_provider import ApiProvider
from tenure.sources.search.provider import build_result


class Reply(BaseModel):
    urls: list[str]


class Acme(ApiProvider):
    description = "the index of Acme"
    base_url = "https://api.acme.example"
    key = "required"

    async def search(self, request):
        body = await self._client.get("/v1", {"q": request.query}, self._client.bearer_header)
        reply = self._client.parse(Reply, body)
        return [build_result(url) for url in reply.urls]
"""


def create_registry(**values: object) -> ProviderRegistry:
    return ProviderRegistry(Settings(_env_file=None, **values), HttpConnections("Tenure/test"))  # type: ignore[arg-type]


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Add the provider `acme` from a folder of plugins, and return its name."""
    folder = tmp_path / "search_providers"
    folder.mkdir()
    (folder / "acme.py").write_text(PLUGIN)
    monkeypatch.setattr(provider_package, "__path__", [*provider_package.__path__, str(folder)])
    monkeypatch.delitem(sys.modules, f"{SEARCH_PROVIDERS}.acme", raising=False)
    return "acme"


async def test_a_new_module_is_a_provider(plugin: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One file adds a provider: its name, its variables, its settings and its search."""
    with FakeSearchServer(FakeResponse({"urls": ["https://a.org/"]})) as server:
        monkeypatch.setenv("TENURE_ACME_KEY", "secret")
        monkeypatch.setenv("TENURE_ACME_URL", server.url)
        registry = create_registry(search_providers="acme")
        results = await registry.get_provider(plugin).search(WebSearchRequest(query="rye"))
        await registry.aclose()

    assert results == [SearchResult("https://a.org/")]
    assert server.requests[0].headers["authorization"] == "Bearer secret"
    assert plugin in list_extensions(SEARCH_PROVIDERS)


def test_a_new_provider_without_its_key_is_skipped(plugin: str) -> None:
    """The message names the variable of the key."""
    registry = create_registry()

    assert plugin in registry.default_names
    with pytest.raises(ProviderSkipped, match="set TENURE_ACME_KEY"):
        registry.get_provider(plugin)


def test_a_module_without_a_provider_is_an_error(plugin: str, tmp_path: Path) -> None:
    """A module has to define one provider."""
    (tmp_path / "search_providers" / "empty.py").write_text("")

    with pytest.raises(TypeError, match="'empty' defines 0 subclasses"):
        load_provider_class("empty")


def test_wikipedia_is_the_default() -> None:
    """Without configured providers, Wikipedia is queried, and providers with a missing setting are listed."""
    assert create_registry().configured_names == ("wikipedia",)
    assert create_registry().default_names == ("wikipedia", "brave", "searxng", "tavily")


def test_configured_providers_replace_the_default() -> None:
    """A key, a URL or an OpenSearch server configures a provider."""
    registry = create_registry(
        search_urls=SEARXNG, search_keys={"openalex": SecretStr("o")}, opensearch={"own": "https://a.org/"}
    )

    assert registry.configured_names == ("openalex", "searxng", "own")
    assert create_registry(search_keys=KEYS).configured_names == ("brave", "tavily")


def test_a_url_of_a_proxy_configures_no_provider() -> None:
    """A provider with a public server needs its key."""
    assert create_registry(search_urls={"brave": "http://127.0.0.1:9"}).configured_names == ("wikipedia",)


def test_listed_providers_keep_their_order() -> None:
    """The list of the settings is used unchanged, including providers without their key."""
    registry = create_registry(search_providers="crossref, brave,arxiv")

    assert registry.configured_names == registry.default_names == ("crossref", "brave", "arxiv")


@pytest.mark.parametrize("name", list_extensions(SEARCH_PROVIDERS))
def test_every_provider_can_be_created(name: str) -> None:
    """Each provider has the name of its module and is created once."""
    registry = create_registry(search_urls=SEARXNG, search_keys=KEYS)

    assert registry.get_provider(name).name == name
    assert registry.get_provider(name) is registry.get_provider(name)


def test_every_provider_has_a_description() -> None:
    """The documentation lists each provider."""
    assert all(provider.description for provider in load_provider_classes().values())


@pytest.mark.parametrize(
    ("variable", "field", "name"),
    [
        ("TENURE_BRAVE_KEY", "search_keys", "brave"),
        ("TENURE_GITHUB_TOKEN", "search_keys", "github"),
        ("TENURE_SEARXNG_URL", "search_urls", "searxng"),
        ("TENURE_SEARCH_KEYS__TAVILY", "search_keys", "tavily"),
    ],
)
def test_providers_have_variables_of_their_own(
    variable: str, field: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key or URL of one provider is set by one variable."""
    monkeypatch.setenv(variable, "x")

    value = getattr(Settings(_env_file=None), field)[name]

    assert (value.get_secret_value() if isinstance(value, SecretStr) else value) == "x"


def test_a_file_of_settings_sets_keys(tmp_path: Path) -> None:
    """The variables of single providers are read from `.env`, too."""
    file = tmp_path / "settings.env"
    file.write_text("TENURE_BRAVE_KEY=from-file\n")

    assert Settings(_env_file=file).search_keys["brave"].get_secret_value() == "from-file"


def test_an_opensearch_server_can_be_created() -> None:
    """Its name is the one in the settings."""
    assert create_registry(opensearch={"own": "https://a.org/"}).get_provider("own").name == "own"


@pytest.mark.parametrize(
    ("name", "variable"),
    [("searxng", "TENURE_SEARXNG_URL"), ("brave", "TENURE_BRAVE_KEY"), ("tavily", "TENURE_TAVILY_KEY")],
)
def test_a_provider_without_its_setting_is_skipped(name: str, variable: str) -> None:
    """The message names the missing variable."""
    with pytest.raises(ProviderSkipped, match=f"not configured: set {variable}"):
        create_registry().get_provider(name)


def test_an_unknown_provider_is_skipped() -> None:
    """A run may name a provider that this worker does not have."""
    with pytest.raises(ProviderSkipped, match="there is no search provider 'gopher'"):
        create_registry().get_provider("gopher")


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        (
            {"search_providers": "brave,gopher"},
            "TENURE_SEARCH_PROVIDERS is not valid: value error, there is no 'gopher'",
        ),
        ({"opensearch": {"brave": "https://a.org/"}}, "TENURE_OPENSEARCH is not valid: value error, 'brave' is"),
        ({"search_keys": {"gopher": "x"}}, "TENURE_SEARCH_KEYS is not valid: value error, there is no 'gopher'"),
        ({"search_urls": {"gopher": "x"}}, "TENURE_SEARCH_URLS is not valid: value error, there is no 'gopher'"),
    ],
)
def test_names_in_the_settings_are_checked(chosen: dict[str, object], message: str) -> None:
    """An unknown name is rejected when the settings are loaded, not during a run."""
    with pytest.raises(ValidationError) as caught:
        Settings(_env_file=None, **chosen)  # type: ignore[arg-type]

    assert describe_settings_error(caught.value).startswith(message)
