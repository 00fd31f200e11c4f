"""Share the code of both chat back-ends of an OpenAI-compatible endpoint.

The client library retries nothing: Temporal retries, so that retries are visible and survive a crash. Servers differ in
the parameters they support. A call starts in the strictest form that its model is known to support, omits what the
server rejects, and caches the result.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Self, cast

import httpx
import openai

from tenure.contracts.messages import Tier
from tenure.contracts.run.budget import Price
from tenure.models.chat import ChatRequest, Completion, ModelCall
from tenure.models.concurrency import ConcurrencyLimiter
from tenure.models.errors import CUT_OFF, CUT_OFF_REASONING, NO_IMAGES, UnusableAnswer
from tenure.models.openai.api_errors import UnsupportedParameter, classify_error
from tenure.models.openai.capabilities import Capabilities, CapabilityCache
from tenure.models.openai.endpoint import NO_KEY, ModelEndpoint, format_host, validate_base_url, validate_key
from tenure.models.openai.reply import ChatReply
from tenure.models.openai.request import OpenAIRequest
from tenure.models.openai.traced_client import TracedClient
from tenure.models.routes import ModelRoutes
from tenure.prices import load_prices
from tenure.settings.models import ChatModelSettings

CAPABILITIES_FILE: Final = "capabilities.json"
"""File in the home that caches the capabilities of servers."""


class OpenAIBackend(ABC):
    """A `ChatModel` over one OpenAI-compatible endpoint.

    `timeout` bounds a whole call, in seconds, and `capabilities_file` caches what the server supports.

    Raises:
        ValueError: the URL has no scheme, or the key contains characters that no header can carry.
    """

    name = "openai"
    """Name of the back-end in reports."""

    def __init__(
        self,
        routes: ModelRoutes,
        *,
        prices: Mapping[str, Price] | None = None,
        api_key: str | None = None,
        base_url: str | None = None,
        timeout: float = 180.0,
        concurrency: int = 16,
        capabilities_file: Path | None = None,
        shows_images: bool = True,
        http_client: httpx.AsyncClient | None = None,
    ) -> None:
        key, address = validate_key(api_key), validate_base_url(base_url)
        self._routes = routes
        self._prices = prices or {}
        self._timeout = timeout
        self._shows_images = shows_images
        self._concurrency = ConcurrencyLimiter(concurrency)
        self._client = openai.AsyncOpenAI(
            api_key=key or NO_KEY,
            base_url=address,
            timeout=timeout,
            max_retries=0,
            # The library accepts clients of httpx and of its successor, but declares only the latter. With an httpx
            # client all connection errors are httpx's, also those in the middle of a body. A redirect is not followed:
            # it would send the prompt to a server that the settings do not name.
            http_client=cast(Any, http_client or TracedClient(timeout=timeout, follow_redirects=False)),
        )
        self._server = ModelEndpoint(format_host(self._client), key)
        self._capability_cache = CapabilityCache(f"{self._server.host}{self._client.base_url.path}", capabilities_file)
        self._schema_capabilities: dict[tuple[str, str], Capabilities] = {}

    @classmethod
    def from_settings(cls, settings: ChatModelSettings, http_client: httpx.AsyncClient | None = None) -> Self:
        """Build the back-end from the settings.

        Raises:
            ValueError: a URL, a key or a price file is invalid.
        """
        key = settings.openai_api_key
        return cls(
            ModelRoutes(settings),
            prices=load_prices(settings),
            api_key=key.get_secret_value() if key else None,
            base_url=settings.openai_base_url,
            timeout=settings.model_timeout,
            concurrency=settings.model_concurrency,
            shows_images=settings.model_images,
            capabilities_file=settings.home.absolute() / CAPABILITIES_FILE,
            http_client=http_client,
        )

    @property
    def concurrency(self) -> int:
        """Number of concurrent requests that are allowed now."""
        return self._concurrency.limit

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()

    def get_capabilities(self, role: str, tier: Tier) -> Capabilities:
        """Return the known capabilities of a role's model."""
        return self._get_capabilities(self._routes.route(role, tier).model, role)

    def identify(self, role: str, tier: Tier) -> str:
        """Return server, model and parameters that answer a role, so that equal requests can be recognised."""
        route, address = self._routes.route(role, tier), self._client.base_url
        parts = (address.host, address.path, route.model, route.temperature, route.reasoning_effort, route.max_output)
        return " ".join(map(str, parts))

    def get_price(self, role: str, tier: Tier) -> Price | None:
        """Return the price of the model that answers a role, or None if it is unknown."""
        return self._prices.get(self._routes.route(role, tier).model)

    async def complete(self, request: ChatRequest, call: ModelCall) -> Completion:
        """Request one answer that follows the schema as closely as the server can enforce it."""
        route = self._routes.route(request.role, request.tier)
        while True:
            attempt = OpenAIRequest(request, route, self._get_capabilities(route.model, request.role))
            if request.has_images and not (self._shows_images and attempt.capabilities.images):
                raise UnusableAnswer(NO_IMAGES, model=route.model)
            try:
                async with self._concurrency.acquire_slot():
                    return await self._complete_in_time(attempt, call)
            except UnsupportedParameter as error:
                if error.supported is None:
                    request = replace(request, max_output=None, answer_tokens=None)
                else:
                    await self._record_limits(attempt, error.supported, schema_only=error.schema_only)

    def _get_capabilities(self, model: str, role: str) -> Capabilities:
        cached = self._capability_cache.get(model)
        return cached.restrict(self._schema_capabilities.get((model, role), cached))

    async def _record_limits(self, request: OpenAIRequest, limits: Capabilities, *, schema_only: bool = False) -> None:
        """Cache the limits of a model; limits of a single schema are kept only while the process runs."""
        model = request.route.model
        if schema_only:
            key = (model, request.chat_request.role)
            self._schema_capabilities[key] = limits.restrict(self._schema_capabilities.get(key, limits))
        else:
            await asyncio.to_thread(self._capability_cache.record, model, limits)

    async def _complete_in_time(self, request: OpenAIRequest, call: ModelCall) -> Completion:
        """Send the request within the time limit of a call and classify errors."""
        try:
            # The library's timeout restarts with every byte; this one limits the whole call.
            async with asyncio.timeout(self._timeout):
                return await self._request_completion(request, call)
        except openai.APIStatusError as error:
            raise classify_error(self._server, error.status_code, error.body, error.response.headers, request) from None
        except (openai.APIConnectionError, TimeoutError) as error:
            raise self._server.build_connection_error(error, self._timeout) from None

    async def _build_completion(self, request: OpenAIRequest, reply: ChatReply) -> Completion:
        """Return the completion of a reply, and record the properties of the model that it shows.

        The next answers of a model that reasons have room for that.
        """
        if reply.has_reasoning and not request.capabilities.reasoning:
            await self._record_limits(request, Capabilities(reasoning=True))
        try:
            return reply.to_completion(request.route.model, request.chat_request.prompt_tokens)
        except UnusableAnswer as error:
            if error.reason == CUT_OFF and reply.has_reasoning and request.lacks_room_for_reasoning:
                raise UnusableAnswer(CUT_OFF_REASONING, usage=error.usage, model=error.model) from None
            raise

    @abstractmethod
    async def _request_completion(self, request: OpenAIRequest, call: ModelCall) -> Completion:
        """Send the request once.

        Raises:
            ModelError: there is no answer.
            openai.APIError: the same, to be classified by the caller.
        """
