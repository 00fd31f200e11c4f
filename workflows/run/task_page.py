"""Read the task of a run in a repository from the page whose address a person has given in its place."""

from collections.abc import Callable

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError

from workflows.runtime.clients import ActivityClients
from workflows.runtime.failures import describe_failure
from workflows.runtime.web_client import CACHED_STATUSES

with workflow.unsafe.imports_passed_through():
    from activities.errors import PAGE_REFUSED
    from activities.knowledge import KnowledgeActivities
    from activities.web import WebActivities
    from tenure.algorithms.text.urls import find_lone_url
    from tenure.contracts.base import RunId
    from tenure.contracts.evidence.web import FetchRequest, PageTextRequest
    from tenure.contracts.run.run import MAX_QUESTION_CHARACTERS, RunRequest


def find_task_url(request: RunRequest) -> str:
    """Return the address in place of a task in a repository; empty if there is none."""
    is_read = request.repository is None or request.repository.address
    return "" if is_read else find_lone_url(request.question)


async def read_task(
    clients: ActivityClients, request: RunRequest, run: RunId, url: str, note: Callable[[str], None]
) -> RunRequest:
    """Return the request with the text of the page as its task; `note` receives a line if a stored copy was read.

    Raises:
        ApplicationError: the run may not read the web, or the page cannot be read; with advice.
    """
    task = request.repository
    if task is None or not task.web:
        raise _refuse(f"{url} is read only if the run may read the web: --web")
    fetch = FetchRequest(run=run, urls=(url,), revalidate=True)
    (page,) = (await clients.execute_activity(WebActivities.fetch_pages, fetch, summary=url)).pages
    if page.status not in CACHED_STATUSES:
        raise _refuse(f"{url}: {page.note}")
    try:
        text = await clients.execute_activity(
            KnowledgeActivities.read_page_text,
            PageTextRequest(url=page.canonical_url, max_characters=MAX_QUESTION_CHARACTERS),
            summary=url,
        )
    except ActivityError as error:
        if not isinstance(error.__cause__, ApplicationError) or error.__cause__.type != PAGE_REFUSED:
            raise
        raise _refuse(describe_failure(error)) from None
    if page.note:
        note(f"The task is that of {url}: {page.note}.")
    read = {"question": text, "repository": task.model_copy(update={"address": page.canonical_url})}
    return request.model_copy(update=read)


def _refuse(reason: str) -> ApplicationError:
    message = f"the task could not be read from its page: {reason}. Give its text instead"
    return ApplicationError(message, non_retryable=True)
