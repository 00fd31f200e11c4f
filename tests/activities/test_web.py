"""Searching the web as an activity: what is told, and what is tried again."""

from dataclasses import replace

import pytest
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities.web import SEARCH_ATTEMPTS, SEARCH_UNAVAILABLE, WebActivities
from tenure.contracts.web import ProviderAnswer, WebHit, WebSearchReply, WebSearchRequest

REQUEST = WebSearchRequest(query="rye")
BUSY = ProviderAnswer(provider="a", status="failed", note="a is busy", passing=True)
CLOSED = ProviderAnswer(provider="b", status="failed", note="b wants a key")
EMPTY = ProviderAnswer(provider="c", status="answered")


class Engines:
    """Search engines that answer what a test says."""

    def __init__(self, *answers: ProviderAnswer) -> None:
        self.reply = WebSearchReply(hits=(WebHit(address="https://a.org/"),), answers=answers)

    async def search(self, request: WebSearchRequest) -> WebSearchReply:
        return self.reply


async def searched(engines: Engines, attempt: int = 1) -> WebSearchReply:
    environment = ActivityEnvironment()
    environment.info = replace(environment.info, attempt=attempt)
    return await environment.run(WebActivities(engines).search_web, REQUEST)  # type: ignore[arg-type]


@pytest.mark.parametrize("answers", [(EMPTY,), (BUSY, EMPTY), (CLOSED,), ()])
async def test_what_asking_again_would_not_change_is_an_answer(answers: tuple[ProviderAnswer, ...]) -> None:
    """Somebody answered, or nobody ever will: either goes to the run as it is."""
    engines = Engines(*answers)

    assert await searched(engines) == engines.reply


async def test_when_nobody_answers_now_they_are_asked_again() -> None:
    """An outage of a moment is Temporal's to wait for, and the failure says who was busy."""
    with pytest.raises(ApplicationError, match="a is busy") as caught:
        await searched(Engines(BUSY, CLOSED))

    assert caught.value.type == SEARCH_UNAVAILABLE
    assert not caught.value.non_retryable


async def test_an_outage_that_lasts_is_an_answer() -> None:
    """After the last attempt the run is told that nobody answered, so that its report can say so."""
    reply = await searched(Engines(BUSY), SEARCH_ATTEMPTS)

    assert reply.failed
