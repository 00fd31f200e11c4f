"""Commands `start` and `fork`: start a run, follow it and deliver its report."""

from collections.abc import Coroutine

from temporalio.client import WorkflowHandle

from tenure.cli.command import CommandHome
from tenure.cli.commands.apply import WriteBack
from tenure.cli.costs import describe_cost, describe_estimate, describe_pictures, describe_transcription
from tenure.cli.delivery import Delivery
from tenure.cli.follow import follow_workflow
from tenure.cli.output import Output
from tenure.cli.remembered import forget_output, remember_output
from tenure.cli.terminal import print_note
from tenure.contracts.result.result import Result
from tenure.installation import PROGRAM
from tenure.local_models.servers import find_servers
from tenure.runs.fork import launch_fork
from tenure.runs.messages import ForkBody, StartRequest
from tenure.runs.run_ids import RunName, check_run
from tenure.runs.service import Service
from tenure.runs.start import PlannedRun, build_priority, launch_run, plan_run
from tenure.settings.models import AUTO_MODEL, ChatModelSettings
from tenure.temporal.namespace_binding import describe_other_base


def start(
    home: CommandHome, request: StartRequest, detach: bool, delivery: Delivery, write_back: WriteBack
) -> Coroutine[None, None, int]:
    """Run `start`."""
    write_back.check(request, detach=detach)
    suggest_models(home.settings, delivery)
    planned = plan_run(request, home.settings)
    for note in planned.notes:
        print_note(note)
    return _start(home.open(), planned, detach, delivery, write_back)


async def _start(service: Service, planned: PlannedRun, detach: bool, delivery: Delivery, write_back: WriteBack) -> int:
    """Start the run and follow it to its end."""
    await print_other_base(service)
    handle, notes = await launch_run(service, planned)
    for note in notes:
        print_note(note)
    if planned.request.limits.has_model and planned.request.mode != "code":
        delivery.print_status(describe_estimate(planned.request.limits))
        if planned.request.corpora and (pictures := describe_pictures(service.settings)):
            delivery.print_status(pictures)
    if planned.request.ingest and (price := describe_transcription(service.settings)):
        delivery.print_status(price)
    return await _follow(service, handle, detach, delivery, write_back)


def fork(
    home: CommandHome, run: RunName, body: ForkBody, detach: bool, delivery: Delivery
) -> Coroutine[None, None, int]:
    """Run `fork`."""
    if body.id:
        check_run(body.id)
    build_priority(body)
    return _fork(home.open(), run, body, detach, delivery)


async def _fork(service: Service, run: str, body: ForkBody, detach: bool, delivery: Delivery) -> int:
    """Start the fork and follow it to its end."""
    handle, notes = await launch_fork(service, run, body)
    for note in notes:
        print_note(note)
    return await _follow(service, handle, detach, delivery, WriteBack())


def suggest_models(settings: ChatModelSettings, output: Output) -> None:
    """List the model servers of this machine if no model is configured."""
    if not settings.has_model and settings.model != AUTO_MODEL:
        for server in find_servers():
            output.print_status(server.describe(f"{PROGRAM} start"))


async def print_other_base(service: Service) -> None:
    """Warn if a run uses another knowledge base than this home's; the server of this home has no other workers."""
    if not service.place.is_local and (other := await describe_other_base(await service.connect(), service.settings)):
        print_note(f"warning: {other}")


def announce_run(service: Service, run_id: str, output: Output, *, detach: bool, kind: str = "run") -> None:
    """Print the links of a run, and how to follow it if the command does not."""
    link = service.place.build_run_link(run_id)
    page = service.place.build_page_link(run_id) if kind == "run" else ""
    output.print_status(f"{kind} {run_id}" + (f", page: {page}" if page else f", web UI: {link}" if link else ""))
    if page and link:
        output.print_status(f"in the web UI of Temporal: {link}")
    if detach and not output.print_json({"id": run_id, "url": link, "status": "running"}):
        output.print_status(f"follow it with `{PROGRAM} watch {run_id}`")


async def _follow(
    service: Service,
    handle: WorkflowHandle[object, Result],
    detach: bool,
    delivery: Delivery,
    write_back: WriteBack,
) -> int:
    """Follow a started run to its end, unless the command is detached."""
    remember_output(service.settings.home, handle.id, delivery)
    announce_run(service, handle.id, delivery, detach=detach)
    if detach:
        return 0
    result = await follow_workflow(service, handle, delivery.verbosity, query=True)
    code = delivery.deliver(result)
    forget_output(service.settings.home, handle.id)
    if result.usage.model_calls:
        delivery.print_status(describe_cost(result.usage))
    link = service.place.build_page_link(handle.id) or service.place.build_run_link(handle.id)
    delivery.print_status(f"again: `{PROGRAM} report {handle.id}`" + (f", or {link}" if link else ""))
    if write_back.is_wanted:
        write_back.write(result)
    return code
