"""Page of the settings, with forms that store variables in the home, and probes of the result."""

import asyncio
import shlex
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple, get_args, get_origin
from urllib.parse import urlsplit

from pydantic import SecretStr, ValidationError
from pydantic_settings import SettingsError
from starlette.requests import Request
from starlette.responses import Response

from tenure.contracts.run.budget import Price
from tenure.prices import load_prices
from tenure.runs.configuration.changes import (
    check_configurable,
    load_settings,
    restart_worker,
    save_prices,
    save_variables,
)
from tenure.runs.configuration.checks import (
    Check,
    check_embedding,
    check_models,
    check_prices,
    check_rerank,
    check_search,
    check_transcription,
    list_models,
)
from tenure.runs.errors import InvalidRequest, TenureError
from tenure.runs.messages import validate_request
from tenure.runs.service import Service
from tenure.runs.session.server_target import locate_server
from tenure.settings import (
    MODEL_SERVER_VARIABLES,
    ClientSettings,
    Settings,
    describe_settings_error,
    get_environment_variable,
    list_given_variables,
    load_stored_variables,
    read_settings,
)
from tenure.settings.description import describe_field, insert_variables, list_types, serialize_setting
from tenure.settings.models import AUTO_MODEL
from tenure.settings.web import McpServer
from tenure.settings.worker import NotifierSettings
from tenure.site.forms import Form, read_form, split_lines
from tenure.site.rendering import describe_form, get_fault_status, redirect, render
from tenure.sources.mcp.servers import McpError, McpServers
from tenure.sources.search.registry import get_key_variable, get_url_variable, load_provider_classes

ENDPOINTS: Final = (
    ("", "OpenAI"),
    ("https://openrouter.ai/api/v1", "OpenRouter"),
    ("http://127.0.0.1:11434/v1", "Ollama on this machine"),
    ("http://127.0.0.1:8080/v1", "llama.cpp on this machine"),
    ("http://127.0.0.1:1234/v1", "LM Studio on this machine"),
    ("http://127.0.0.1:8000/v1", "vLLM on this machine"),
)
"""Base URLs of known model servers; the form takes any other one as well."""

_LABELS: Final = {
    "openai_base_url": "Address, if another",
    "openai_api_key": "Key of the model server",
    "notify_url": "Address that is called",
    "web": "Read the web by default",
}
"""Labels of settings whose name does not say enough."""


class SettingsForm(NamedTuple):
    """A form of settings."""

    key: str
    title: str
    names: tuple[str, ...]
    rare: tuple[str, ...] = ()
    """Settings that are folded away."""
    checks: tuple[Callable[[Settings], Check | Iterable[Check]], ...] = ()
    """Probes of its result, those of `doctor`."""


SECTIONS: Final = {
    section.key: section
    for section in (
        SettingsForm(
            "model",
            "Model",
            ("openai_base_url", "openai_api_key", "model", "fast_model"),
            ("reasoning_effort", "temperature", "max_output", "model_api", "model_images", "model_timeout"),
            (check_models, check_prices),
        ),
        SettingsForm(
            "documents",
            "Search and recordings",
            (),
            (
                *("embedding_model", "rerank_model", "rerank_base_url", "rerank_api_key"),
                *("transcription_model", "transcription_base_url", "transcription_api_key"),
            ),
            (check_embedding, check_rerank, check_transcription),
        ),
        SettingsForm(
            "limits",
            "Limits of a run",
            ("max_tokens", "max_cost_usd", "max_calls", "max_searches", "max_seconds"),
            ("effort", "length", "language", "max_cycles", "max_report_revisions", "approve_plan", "interactive"),
        ),
        SettingsForm(
            "web",
            "Web",
            ("web", "search_providers"),
            ("web_pages", "search_contact", "fetch_allow", "fetch_domains", "fetch_deny", "fetch_robots"),
            (check_search,),
        ),
        SettingsForm("notifications", "Notifications", tuple(NotifierSettings.model_fields)),
    )
}


_OWN_MACHINE: Final = ("127.0.0.1", "::1", "localhost")

_SERVERS_WITH_KEY: Final = ("TENURE_RERANK", "TENURE_TRANSCRIPTION")
"""Beginnings of the variables for the address and the key of servers besides that of the model."""


class SettingField(NamedTuple):
    """A setting as a form shows it."""

    variable: str
    label: str
    about: str
    kind: Literal["text", "number", "password", "url", "select"] = "text"
    value: str = ""
    """Present value; empty for that of a secret."""
    options: tuple[tuple[str, str], ...] = ()
    default: str = ""
    is_given: bool = False
    """Whether the environment sets it."""
    is_stored: bool = False
    """Whether the file of the home sets it."""


class SettingsState:
    """Findings of probes, and the state of the worker, which the page shows with the settings."""

    def __init__(self) -> None:
        self.checks: dict[str, list[Check]] = {}
        self.note = ""
        self._restart: asyncio.Task[None] | None = None
        self._models: dict[tuple[str | None, str | None], list[str]] = {}

    @property
    def is_restarting(self) -> bool:
        """Whether the worker is being restarted."""
        return self._restart is not None and not self._restart.done()

    async def apply(self, service: Service) -> Settings:
        """Set the present settings for the next run of the page, and restart the worker with them meanwhile."""
        settings = await asyncio.to_thread(load_settings, service.settings)
        service.place = await asyncio.to_thread(locate_server, settings)
        before = self._restart

        async def restart() -> None:
            if before is not None:
                await asyncio.wait([before])
            try:
                self.note = await asyncio.to_thread(restart_worker, settings)
            except Exception as error:  # no caller awaits the task, so the page shows the reason
                self.note = f"The worker was not restarted: {error}"

        self.note, self._restart = "", asyncio.create_task(restart())
        return settings

    async def list_models(self, service: Service) -> list[str]:
        """Return the names of the models that the model server lists, which is asked once."""
        settings = service.settings
        if not settings.has_model:
            return []
        address = (settings.openai_base_url, serialize_setting(settings.openai_api_key))
        if address not in self._models:
            found = await asyncio.to_thread(list_models, await asyncio.to_thread(load_settings, settings))
            if not found:
                return []
            self._models[address] = found
        return self._models[address]


def get_state(request: Request) -> SettingsState:
    """Return the state of the application."""
    state: SettingsState = request.app.state.settings
    return state


def _list_fields(
    names: Iterable[str], settings: ClientSettings, home_variables: Mapping[str, str]
) -> list[SettingField]:
    """Return the fields of a form."""
    given, configured = list_given_variables(), settings.configured or settings
    if given & {*MODEL_SERVER_VARIABLES} or (configured.model == AUTO_MODEL and "TENURE_MODEL" in given):
        given |= {*MODEL_SERVER_VARIABLES}
    return [_describe_setting(name, configured, given, home_variables) for name in names]


def _describe_setting(
    name: str, settings: ClientSettings, given: set[str], home_variables: Mapping[str, str]
) -> SettingField:
    field, variable = Settings.model_fields[name], get_environment_variable(name)
    types = [kind for kind in list_types(field.annotation) if kind is not type(None)]
    value = serialize_setting(getattr(settings, name)) or ""
    default = serialize_setting(field.get_default(call_default_factory=True, validated_data={})) or ""
    kind: Any = "text"
    options: tuple[tuple[str, str], ...] = ()
    if SecretStr in types:
        kind, value = "password", ""
    elif types[0] is bool:
        kind, value = "select", value.lower()
        options = ("", f"default ({'yes' if default == 'True' else 'no'})"), ("true", "yes"), ("false", "no")
    elif get_origin(types[0]) is Literal:
        kind = "select"
        chosen = (choice for part in types for choice in get_args(part))
        options = ("", f"default ({default or 'chosen by the run'})"), *((one, one) for one in chosen if one)
    elif types[0] in (int, float):
        kind = "number"
    if kind != "password" and variable not in given and variable not in home_variables:
        value = ""  # the default is shown in its place, so that saving the form does not set it
    label = _LABELS.get(name) or name.replace("_", " ").replace("usd", "in US dollars").capitalize()
    return SettingField(
        variable,
        label,
        insert_variables(describe_field(field)).replace("`", ""),
        kind,
        value,
        options,
        default,
        variable in given,
        variable in home_variables,
    )


def _list_providers(settings: Settings, home_variables: Mapping[str, str]) -> Iterator[SettingField]:
    """Yield the keys and addresses of search providers that take one."""
    given = read_settings({}, settings.home)
    for name, provider in load_provider_classes().items():
        is_url = not provider.base_url
        variable = get_url_variable(name) if is_url else get_key_variable(name, provider)
        if variable:
            value = settings.search_urls.get(name, "") if is_url else ""
            noun = "address" if is_url else f"{provider.key_noun}{', optional' if provider.key == 'optional' else ''}"
            label = f"{name.replace('_', ' ').capitalize()}: {noun}"
            source = name in (given.search_urls if is_url else given.search_keys), variable in home_variables
            yield SettingField(
                variable, label, provider.description, "url" if is_url else "password", value, (), "", *source
            )


def _explain_model(settings: ClientSettings, home_variables: Mapping[str, str], given: set[str]) -> str:
    """Return a sentence on the model in use and the reason."""
    if not settings.has_model:
        return "No model is used: no key and no address of a model server are set, so reports consist of excerpts."
    place = settings.openai_base_url or "OpenAI"
    if settings.configured is not None:
        found = settings.configured.model == AUTO_MODEL
        reason = "a model server on this machine offers it" if found else "`up --local-model` serves it for this home"
    elif given & {*MODEL_SERVER_VARIABLES}:
        reason = "the environment sets the server"
    else:
        reason = (
            "the server was set on this page" if home_variables.keys() & {*MODEL_SERVER_VARIABLES} else "by default"
        )
    return f"{settings.model} at {place} answers: {reason}."


async def _show_settings(
    service: Service,
    request: Request,
    form: Form | None = None,
    fault: TenureError | None = None,
    place: str = "",
) -> Response:
    settings = await asyncio.to_thread(load_settings, service.settings)
    stored, given = load_stored_variables(settings.home), list_given_variables()
    fields = {
        key: (_list_fields(section.names, settings, stored), _list_fields(section.rare, settings, stored))
        for key, section in SECTIONS.items()
    }
    fields["web"][1].extend(_list_providers(settings, stored))
    prices, problem = dict[str, Price](), ""
    try:
        prices = await asyncio.to_thread(load_prices, settings)
    except ValueError as error:
        problem = str(error)
    state, configured = get_state(request), settings.configured or settings
    address = configured.openai_base_url or ""
    return render(
        "settings.html.jinja",
        get_fault_status(fault),
        **describe_form(form or {}, fault),
        place=place,
        sections=[(section, *fields[key]) for key, section in SECTIONS.items()],
        model=_explain_model(settings, stored, given),
        endpoints=ENDPOINTS,
        endpoint=(address if address in dict(ENDPOINTS) else "other") if configured.has_model else "none",
        state=state,
        checks=state.checks,
        prices={name: prices.get(name) for name in sorted({*settings.chat_models, *prices})},
        prices_problem=problem,
        prices_file=settings.prices_file,
        has_own_prices=settings.prices is not None,
        servers=settings.mcp_servers,
        given_servers="TENURE_MCP_SERVERS" in given,
        home=settings.home.absolute(),
    )


async def _show_state(service: Service, request: Request) -> Response:
    return render("settings_state.html.jinja", state=get_state(request))


async def _show_models(service: Service, request: Request) -> Response:
    """Return the list of models for a field."""
    problem, models = "", list[str]()
    try:
        models = await get_state(request).list_models(service)
    except TenureError as error:
        problem = str(error)
    return render("models.html.jinja", models=models, problem=problem)


async def _save_section(service: Service, request: Request) -> Response:
    section, form = SECTIONS.get(request.path_params["section"]), await read_form(request)
    if section is None:
        raise InvalidRequest("there is no such form of settings")
    try:
        settings = await asyncio.to_thread(load_settings, service.settings)
        stored = load_stored_variables(settings.home)
        fields = _list_fields((*section.names, *section.rare), settings, stored)
        fields += _list_providers(settings, stored) if section.key == "web" else ()
        changes = _read_changes(fields, form)
        if section.key == "model":
            changes |= _read_endpoint(form, changes, stored)
        for server in _SERVERS_WITH_KEY:
            if f"{server}_BASE_URL" in changes and f"{server}_API_KEY" in stored:
                changes.setdefault(f"{server}_API_KEY", "")  # the key of the server before
        if changes:
            await asyncio.to_thread(save_variables, settings.home, changes)
            try:
                if section.key == "model" and urlsplit(changes.get("OPENAI_BASE_URL", "")).hostname in _OWN_MACHINE:
                    await _choose_listed_model(settings)
            finally:  # what is saved holds also if the server does not answer
                settings = await get_state(request).apply(service)
            get_state(request).checks.pop(section.key, None)
    except TenureError as error:
        return await _show_settings(service, request, form, error, section.key)
    if form.get("then") == "test":
        get_state(request).checks[section.key] = await _run_checks(section, settings)
    return redirect(f"/settings#{section.key}")


async def _choose_listed_model(settings: Settings) -> None:
    """Store the first model that a server on this machine lists, if none is named: it has no `gpt-5`."""
    if "TENURE_MODEL" in {*load_stored_variables(settings.home), *list_given_variables()}:
        return
    changed = await asyncio.to_thread(load_settings, settings)
    if models := await asyncio.to_thread(list_models, changed):
        await asyncio.to_thread(save_variables, settings.home, {"TENURE_MODEL": models[0]})


def _read_changes(fields: Iterable[SettingField], form: Form) -> dict[str, str]:
    """Return the variables that a form sets, without those of the environment; an empty value removes one.

    A field of a secret that is left empty keeps it; it is removed by its own box.
    """
    changes = {}
    for field in fields:
        if field.is_given or field.variable not in form:
            continue
        value = form[field.variable].strip()
        if field.kind == "password" and not value:
            if form.get(f"remove {field.variable}") == "on":
                changes[field.variable] = ""
        elif value != field.value:
            changes[field.variable] = value
    return changes


def _read_endpoint(form: Form, changes: Mapping[str, str], stored: Mapping[str, str]) -> dict[str, str]:
    """Return the address of the chosen model server; the key of another one is forgotten, unless a new one is given."""
    if "endpoint" not in form:  # the environment sets it
        return {}
    chosen, key, former = form["endpoint"], changes.get("OPENAI_API_KEY", ""), stored.get("OPENAI_BASE_URL", "")
    if changes.get("OPENAI_BASE_URL") and chosen in (former, "none"):
        chosen = "other"  # an address was typed, and the list left as it was
    address = changes.get("OPENAI_BASE_URL", former) if chosen == "other" else chosen
    if chosen == "none":
        return {"OPENAI_BASE_URL": "", "OPENAI_API_KEY": ""}
    is_same = address == former
    if chosen == "" and not key and not (is_same and "OPENAI_API_KEY" in stored):
        raise InvalidRequest("OpenAI needs a key: create one at https://platform.openai.com/api-keys")
    if chosen == "other" and not address:
        raise InvalidRequest("name the address of the model server, such as http://127.0.0.1:8080/v1")
    return {"OPENAI_BASE_URL": address} | ({} if is_same else {"OPENAI_API_KEY": key})


async def _run_checks(section: SettingsForm, settings: Settings) -> list[Check]:
    """Return the findings of the probes of a section."""
    found: list[Check] = []
    for check in section.checks:
        result = await asyncio.to_thread(check, settings)
        found += [result] if isinstance(result, Check) else result
    return found


async def _save_prices(service: Service, request: Request) -> Response:
    form = await read_form(request)
    columns = [form.get(name, "").split("\n") for name in ("price_model", "input", "output", "cached_input")]
    try:
        prices = {}
        for model, *values in zip(*columns, strict=True):
            given = {
                name: value.strip() for name, value in zip(Price.model_fields, values, strict=True) if value.strip()
            }
            if model.strip() and given:
                prices[model.strip()] = validate_request(Price, given)
        await asyncio.to_thread(save_prices, service.settings, prices)
        await get_state(request).apply(service)
    except TenureError as error:
        return await _show_settings(service, request, form, error, "prices")
    return redirect("/settings#prices")


async def _add_server(service: Service, request: Request) -> Response:
    form = await read_form(request)
    try:
        settings = await asyncio.to_thread(load_settings, service.settings)
        name = form.get("name", "").strip()
        if name in settings.mcp_servers:
            raise InvalidRequest(f"there is a server {name!r} already: remove it first")
        server = validate_request(McpServer, _read_server(form))
        await _save_servers(service, request, settings, {name: server})
    except TenureError as error:
        return await _show_settings(service, request, form, error, "mcp")
    get_state(request).checks["mcp"] = [await _try_server(settings, name, server)]
    return redirect("/settings#mcp")


def _read_server(form: Form) -> dict[str, Any]:
    """Return the fields of an MCP server: a command or an address, and its secrets as lines `NAME: VALUE`."""
    place = form.get("server", "").strip()
    secrets = {}
    for line in split_lines(form.get("secrets", "")):
        key, mark, value = line.partition(":")
        if not mark:
            raise InvalidRequest("write each line as NAME: VALUE, such as Authorization: Bearer …")
        secrets[key.strip()] = value.strip()
    is_url = place.startswith(("http://", "https://"))
    try:
        server: dict[str, Any] = {"url": place} if is_url else {"command": shlex.split(place)}
    except ValueError as error:
        raise InvalidRequest(f"the command cannot be read: {error}") from error
    tools, resources = form.get("tools", "").split() or ["*"], form.get("resources", "").split()
    return (
        server
        | {"headers" if is_url else "environment": secrets, "tools": tools, "resources": resources}
        | ({"search": search} if (search := form.get("search", "").strip()) else {})
    )


async def _save_servers(
    service: Service, request: Request, settings: Settings, added: Mapping[str, McpServer], removed: str = ""
) -> None:
    """Store the MCP servers; those of the environment are not among the stored ones."""
    if "TENURE_MCP_SERVERS" in list_given_variables():
        raise InvalidRequest("TENURE_MCP_SERVERS is set in the environment: change the servers there")
    servers = {**{name: one for name, one in settings.mcp_servers.items() if name != removed}, **added}
    text = serialize_setting(servers) if servers else ""
    await asyncio.to_thread(save_variables, settings.home, {"TENURE_MCP_SERVERS": text or ""})
    await get_state(request).apply(service)


async def _change_server(service: Service, request: Request) -> Response:
    """Try or remove an MCP server."""
    form, settings = await read_form(request), await asyncio.to_thread(load_settings, service.settings)
    name, state = form.get("name", ""), get_state(request)
    if name not in settings.mcp_servers:
        raise InvalidRequest(f"there is no MCP server {name!r}")
    if form.get("then") == "try":
        state.checks["mcp"] = [await _try_server(settings, name, settings.mcp_servers[name])]
    else:
        await _save_servers(service, request, settings, {}, removed=name)
        state.checks.pop("mcp", None)
    return redirect("/settings#mcp")


async def _try_server(settings: ClientSettings, name: str, server: McpServer) -> Check:
    """List the allowed tools of a server."""
    servers = McpServers({name: server}, timeout_seconds=Settings.model_fields["mcp_seconds"].default)
    try:
        tools = [tool.name for tool in await servers.list_tools(name)]
    except McpError as error:
        return Check("MCP server", "fail", str(error))
    return (
        Check("MCP server", "ok", f"{name}: answers, with the tools {', '.join(tools)}")
        if tools
        else Check("MCP server", "warn", f"{name}: answers, but offers no tool that is allowed")
    )


def _guard(handler: Callable[[Service, Request], Awaitable[Response]]) -> Callable[..., Awaitable[Response]]:
    """Return a handler for those who may change the settings."""

    async def answer(service: Service, request: Request) -> Response:
        check_configurable(service.settings)
        try:
            return await handler(service, request)
        except (ValidationError, SettingsError) as error:
            raise TenureError(describe_settings_error(error)) from error

    return answer


ROUTES: Final = (
    ("/settings", _guard(_show_settings), "GET"),
    ("/settings/live", _guard(_show_state), "GET"),
    ("/models", _show_models, "GET"),
    ("/settings/prices", _guard(_save_prices), "POST"),
    ("/settings/mcp", _guard(_add_server), "POST"),
    ("/settings/mcp/change", _guard(_change_server), "POST"),
    ("/settings/{section}", _guard(_save_section), "POST"),
)
"""Path, handler and method of each page; the first that fits answers."""
