"""Which search providers there are, and which of them the settings let us ask."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from pydantic import SecretStr

from tenure.settings import SearchEngine, Settings, variable
from tenure.sources.search.base import LeftOut, SearchProvider
from tenure.sources.search.searxng import Searxng
from tenure.sources.search.service import Http, Service


@dataclass(frozen=True)
class _Kind:
    """How a provider is set up."""

    make: Callable[[Service], SearchProvider]
    """Its class."""
    setting: str = ""
    """Setting that sets it up: its key or its address."""
    address: str = ""
    """Its server; empty where the setting is the address."""
    needed: bool = False
    """Whether it cannot be asked without the setting."""
    gap: float = 0.0
    """Seconds from one request to the next that its rules ask for."""


_KINDS: Final[dict[SearchEngine, _Kind]] = {
    "searxng": _Kind(Searxng, "searxng_url", needed=True),
}


class Providers:
    """The search providers of one worker; each is made when it is first asked."""

    def __init__(self, settings: Settings, http: Http) -> None:
        """Make providers as `settings` say, on the connections of `http`."""
        self._settings, self._http = settings, http
        self._made: dict[str, SearchProvider] = {}

    @property
    def chosen(self) -> tuple[str, ...]:
        """Names of the providers to ask where a search names none; some may be left out for want of a key."""
        return self._settings.search_providers or tuple(
            name for name, kind in _KINDS.items() if kind.needed or self._is_set(kind)
        )

    def provider(self, name: str) -> SearchProvider:
        """Return a provider.

        Raises:
            LeftOut: there is none of the name, or it is not set up.
        """
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    async def aclose(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    def _make(self, name: str) -> SearchProvider:
        for known, kind in _KINDS.items():
            if known == name:
                return kind.make(self._service(known, kind))
        raise LeftOut(f"there is no search provider {name!r}")

    def _service(self, name: SearchEngine, kind: _Kind) -> Service:
        """Return a provider's server.

        Raises:
            LeftOut: it cannot be asked without a setting.
        """
        if kind.needed and not self._is_set(kind):
            raise LeftOut(f"not set up: set {variable(kind.setting)}")
        value = getattr(self._settings, kind.setting) if kind.setting else None
        own = value if isinstance(value, str) else kind.address
        return Service(
            self._http,
            name,
            self._settings.search_urls.get(name, own),
            key=value if isinstance(value, SecretStr) else None,
            key_setting=variable(kind.setting) if kind.address and kind.setting else "",
            address_setting=variable("search_urls") if kind.address else variable(kind.setting),
            gap=kind.gap,
        )

    def _is_set(self, kind: _Kind) -> bool:
        return bool(kind.setting and getattr(self._settings, kind.setting))
