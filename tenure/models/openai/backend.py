"""What both back-ends share: one OpenAI-compatible endpoint, asked in the form it is known to take.

The client library retries nothing: a retry is Temporal's, so that it is seen and survives a crash.
Servers differ in what they take. A call starts in the strictest form its model is known to take, leaves
out what the server complains about, and remembers.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Self, cast

import httpx
import openai

from tenure.contracts.run.budget import Price
from tenure.models.chat import Ask, Completion, InFlight, TransportError
from tenure.models.concurrency import Concurrency
from tenure.models.openai.capabilities import Capabilities, Memory
from tenure.models.openai.endpoint import NO_KEY, Endpoint, checked_address, checked_key, host_and_port
from tenure.models.openai.refusals import NotTaken, refusal
from tenure.models.openai.request import Question
from tenure.models.routes import Routes
from tenure.prices import load_prices
from tenure.roles.base import Tier
from tenure.settings import Settings

MEMORY_FILE: Final = "capabilities.json"
"""Where a home remembers what its servers take."""


class OpenAIBackend(ABC):
    """A `ChatModel` over one OpenAI-compatible endpoint.

    Args:
        routes: which model answers which role.
        prices: of the models, as far as they are known.
        api_key: None for a server without keys.
        base_url: None for OpenAI's own.
        timeout: seconds a call may take as a whole.
        concurrency: calls at the same time, at the most.
        memory: file that keeps what the server was found to take; None to find it out anew.
        http_client: for hooks of one's own.

    Raises:
        ValueError: for an address without a scheme, or a key that no header can carry.
    """

    def __init__(
        self,
        routes: Routes,
        *,
        prices: Mapping[str, Price] | None = None,
        api_key: str | None = None,
        base_url: str | None = None,
        timeout: float = 180.0,
        concurrency: int = 16,
        memory: Path | None = None,
        http_client: httpx.AsyncClient | None = None,
    ) -> None:
        key, address = checked_key(api_key), checked_address(base_url)
        self._routes = routes
        self._prices = prices or {}
        self._timeout = timeout
        self._concurrency = Concurrency(concurrency)
        self._client = openai.AsyncOpenAI(
            api_key=key or NO_KEY,
            base_url=address,
            timeout=timeout,
            max_retries=0,
            # The library takes clients of httpx as well as of its successor, but names only the latter. With one
            # of httpx all errors of a connection are httpx's, also those in the middle of a body.
            http_client=cast(Any, http_client or httpx.AsyncClient(timeout=timeout, follow_redirects=True)),
        )
        self._server = Endpoint(host_and_port(self._client), key)
        self._memory = Memory(f"{self._server.where}{self._client.base_url.path}", memory)
        self._schemas: dict[tuple[str, str], Capabilities] = {}

    @classmethod
    def from_settings(cls, settings: Settings, http_client: httpx.AsyncClient | None = None) -> Self:
        """Make the back-end that the settings describe.

        Raises:
            ValueError: for an address, a key or a file of prices that cannot be used.
        """
        key = settings.openai_api_key
        return cls(
            Routes.from_settings(settings),
            prices=load_prices(settings),
            api_key=key.get_secret_value() if key else None,
            base_url=settings.openai_base_url,
            timeout=settings.model_timeout,
            concurrency=settings.model_concurrency,
            memory=settings.home.absolute() / MEMORY_FILE,
            http_client=http_client,
        )

    @property
    def name(self) -> str:
        """Name of the back-end, as reports show it."""
        return "openai"

    @property
    def concurrency(self) -> int:
        """How many requests may be on their way now."""
        return self._concurrency.limit

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()

    def capabilities(self, role: str, tier: Tier) -> Capabilities:
        """Return what is known of how a role's model can be asked."""
        return self._able(self._routes.route(role, tier).model, role)

    def price(self, role: str, tier: Tier) -> Price | None:
        """Return the price of the model that answers a role; None where nobody has said it."""
        return self._prices.get(self._routes.route(role, tier).model)

    async def complete(self, ask: Ask, call: InFlight) -> Completion:
        """Ask for one answer that follows the schema as closely as the server can be made to."""
        route = self._routes.route(ask.role, ask.tier)
        while True:
            question = Question(ask, route, self._able(route.model, ask.role))
            try:
                return await self._answered(question, call)
            except NotTaken as refused:
                if refused.found is None:
                    ask = replace(ask, max_output=None)
                else:
                    await self._learn(question, refused.found, schema_only=refused.schema_only)

    def _able(self, model: str, role: str) -> Capabilities:
        known = self._memory.of(model)
        return known.and_less(self._schemas.get((model, role), known))

    async def _learn(self, question: Question, found: Capabilities, *, schema_only: bool = False) -> None:
        """Remember what a model does not take; what concerns one schema only while the process lives."""
        model = question.route.model
        if schema_only:
            key = (model, question.ask.role)
            self._schemas[key] = found.and_less(self._schemas.get(key, found))
        else:
            await asyncio.to_thread(self._memory.learn, model, found)

    async def _answered(self, question: Question, call: InFlight) -> Completion:
        async with self._concurrency.slot() as slot:
            try:
                completion = await self._bounded(question, call)
            except TransportError as error:
                if error.status == 429:
                    slot.refused()
                raise
            slot.answered()
        return completion

    async def _bounded(self, question: Question, call: InFlight) -> Completion:
        """Ask, within the time that a call may take; give errors their meaning."""
        try:
            # The library's timeout restarts with every byte; this one is for the call as a whole.
            async with asyncio.timeout(self._timeout):
                return await self._completion(question, call)
        except openai.APIStatusError as error:
            raise refusal(self._server, error.status_code, error.body, error.response.headers, question) from None
        except (openai.APIConnectionError, TimeoutError) as error:
            raise self._server.unreached(error, self._timeout) from None

    @abstractmethod
    async def _completion(self, question: Question, call: InFlight) -> Completion:
        """Ask once.

        Raises:
            ModelError: there is no answer.
            openai.APIError: the same, to be given its meaning.
        """
