"""Pages of corpora, their documents, and memories."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final, get_args
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from tenure.contracts.choices import MemoryKind, WritableKind
from tenure.runs.errors import InvalidRequest, MissingCorpus, TenureError, Unreachable, add_field
from tenure.runs.messages import (
    DocumentFilter,
    ForgetBody,
    IngestBody,
    MemoryFilter,
    RememberBody,
    SearchBody,
    SourceRange,
    validate_request,
)
from tenure.runs.service import PAGE_ROWS, Service
from tenure.runs.uploads import find_upload
from tenure.site.forms import Form, drop_empty, read_form, receive_form, split_fields, split_lines, store_upload
from tenure.site.rendering import (
    describe_form,
    describe_pages,
    get_corpus_path,
    get_fault_status,
    read_page,
    redirect,
    render,
)

DOCUMENT_CHARACTERS: Final = 4_000
"""Characters of a document on one page, the maximum length of a part of a source."""


async def _show_corpora(
    service: Service,
    request: Request,
    form: Form | None = None,
    fault: TenureError | None = None,
    template: str = "corpora.html.jinja",
) -> Response:
    words, page = request.query_params.get("words", ""), read_page(request)
    listed = await service.list_corpora() if fault is None else None
    found = [one for one in listed.corpora if words.casefold() in one.corpus.casefold()] if listed else []
    return render(
        template,
        get_fault_status(fault),
        **describe_form(form or {}, fault),
        **describe_pages(page, len(found), words=words),
        listed=listed,
        shown=found[(page - 1) * PAGE_ROWS : page * PAGE_ROWS],
        words=words,
    )


async def _ingest(service: Service, request: Request) -> Response:
    received = await receive_form(request, service.settings)
    form = received.values
    secrets = form.get("include_secrets") == "on"
    try:
        paths = split_lines(form.get("paths", ""))
        if name := await store_upload(received):
            await service.read_again(name, include_secrets=secrets)
        if paths or not name:
            body = {
                "paths": paths,
                "corpus": name or form.get("corpus", "").strip() or None,
                "include_secrets": secrets,
            }
            with add_field("paths"):
                await service.ingest(validate_request(IngestBody, body))
    except TenureError as error:
        return await _show_corpora(service, request, form, error)
    return redirect(get_corpus_path(name) if name else "/corpora")


async def _show_corpus(service: Service, request: Request, fault: TenureError | None = None) -> Response:
    corpus, page, query = request.path_params["corpus"], read_page(request), request.query_params
    words, q = query.get("words", ""), query.get("q", "").strip()
    details = await service.describe_corpus(corpus, DocumentFilter(words=words, page=page))
    passages = (
        (await service.search(validate_request(SearchBody, {"words": q, "corpora": [corpus]}))).passages if q else ()
    )
    return render(
        "corpus.html.jinja",
        get_fault_status(fault),
        **describe_form({}, fault),
        **describe_pages(page, details.documents_total, words=words),
        corpus=details,
        passages=passages,
        words=words,
        q=q,
        sent=str(find_upload(service.settings, corpus) or ""),
    )


async def _show_document(service: Service, request: Request) -> Response:
    corpus, query, page = request.path_params["corpus"], request.query_params, read_page(request)
    size = validate_request(SourceRange, {"start": 0, "end": query.get("of", "")}).end
    part = {"start": (page - 1) * DOCUMENT_CHARACTERS, "end": min(page * DOCUMENT_CHARACTERS, size)}
    passage = await service.read_document(request.path_params["source"], validate_request(SourceRange, part))
    pages: dict[str, Any] = {"page": page, "pages": -(-size // DOCUMENT_CHARACTERS), "query": urlencode({"of": size})}
    return render("document.html.jinja", corpus=corpus, passage=passage, **pages)


async def _read_again(service: Service, request: Request) -> Response:
    secrets = (await read_form(request)).get("include_secrets") == "on"
    return await _change_corpus(service, request, partial(service.read_again, include_secrets=secrets))


async def _watch(service: Service, request: Request) -> Response:
    every = (await read_form(request)).get("every", "")
    if every and not every.isdecimal():
        raise InvalidRequest("the interval is a number of seconds", "every")
    return await _change_corpus(service, request, partial(service.watch_corpus, every=int(every) if every else None))


async def _drop_corpus(service: Service, request: Request) -> Response:
    return await _change_corpus(service, request, service.drop_corpus, "/corpora")


async def _change_corpus(
    service: Service, request: Request, change: Callable[[str], Awaitable[Any]], path: str = ""
) -> Response:
    """Change a corpus and lead to a path, by default its page, which says why if it could not be changed."""
    corpus = request.path_params["corpus"]
    try:
        await change(corpus)
    except (MissingCorpus, Unreachable):
        raise
    except TenureError as error:
        return await _show_corpus(service, request, error)
    return redirect(path or get_corpus_path(corpus))


async def _show_memories(
    service: Service, request: Request, form: Form | None = None, fault: TenureError | None = None
) -> Response:
    query = request.query_params
    words, shown = query.get("q", ""), query.get("shown", "")
    listed = None
    if fault is None:
        chosen = {
            "words": words,
            "kinds": [shown] if shown else [],
            "after": query.get("after", ""),
            "limit": PAGE_ROWS,
        }
        listed = await service.list_memories(validate_request(MemoryFilter, chosen))
    return render(
        "memories.html.jinja",
        get_fault_status(fault),
        **describe_form(form or {}, fault),
        listed=listed,
        after=listed.memories[-1].id if listed and not words and len(listed.memories) == PAGE_ROWS else "",
        words=words,
        shown=shown,
        kinds=get_args(MemoryKind),
        writable=[("", "chosen by the text"), *((kind, kind.replace("_", " ")) for kind in get_args(WritableKind))],
    )


async def _remember(service: Service, request: Request) -> Response:
    form = await read_form(request)
    try:
        await service.remember(validate_request(RememberBody, drop_empty(form)))
    except InvalidRequest as error:
        return await _show_memories(service, request, form, error)
    return redirect("/memories")


async def _forget(service: Service, request: Request) -> Response:
    await service.forget(validate_request(ForgetBody, split_fields(await read_form(request), "ids")))
    return redirect("/memories")


ROUTES: Final = (
    ("/corpora", _show_corpora, "GET"),
    ("/corpora", _ingest, "POST"),
    ("/corpora/live", partial(_show_corpora, template="ingestions.html.jinja"), "GET"),
    ("/corpora/{corpus:path}/documents/{source}", _show_document, "GET"),
    ("/corpora/{corpus:path}/read", _read_again, "POST"),
    ("/corpora/{corpus:path}/watch", _watch, "POST"),
    ("/corpora/{corpus:path}/delete", _drop_corpus, "POST"),
    ("/corpora/{corpus:path}", _show_corpus, "GET"),
    ("/memories", _show_memories, "GET"),
    ("/memories", _remember, "POST"),
    ("/memories/forget", _forget, "POST"),
)
"""Path, handler and method of each page; the first that fits answers."""
