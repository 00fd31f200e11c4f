"""Carry out the actions of an answer: reading ones concurrently, changes and commands in their order."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from itertools import groupby
from typing import Literal, NamedTuple, TypeVar, get_args

from pydantic import ValidationError
from temporalio import workflow
from temporalio.exceptions import ActivityError, is_cancelled_exception

from workflows.runtime.clients import ActivityClients
from workflows.runtime.failures import describe_failure

with workflow.unsafe.imports_passed_through():
    from activities.code_index import CodeIndexActivities
    from activities.workspaces import WorkspaceActivities
    from tenure.algorithms.coding.engineer_answer import describe_action
    from tenure.contracts.coding.engineering import EngineerAction, EngineerActionKind
    from tenure.contracts.coding.repositories import (
        ActionResult,
        ChangeSoFar,
        CodeSearchRequest,
        CommandRequest,
        EditRequest,
        Environment,
        FileEdit,
        ListRequest,
        ReadRequest,
        StepReply,
        Workspace,
    )

T = TypeVar("T")

SEARCHES: dict[EngineerActionKind, Literal["meaning", "regex", "symbol"]] = {
    "search": "meaning",
    "grep": "regex",
    "symbol": "symbol",
}
READING: tuple[EngineerActionKind, ...] = (*SEARCHES, "read", "list")
CHANGING: tuple[EngineerActionKind, ...] = ("edit", "write", "delete")
_ALL_BUT_READING = frozenset(get_args(EngineerActionKind)) - {*READING}

_NOT_DONE = "Not carried out, because an earlier action of the answer failed."
_OTHER_REFUSED = "Not made, because another change of the answer was refused: all are made, or none."
_DONE_STAYS = "If that was expected, send DONE alone: its text is kept."
_NOTHING_RUNS = "Commands cannot be run here: {}. Continue by reading alone."


class ActionOutcome(NamedTuple):
    """An action and its result."""

    action: EngineerAction
    result: ActionResult
    patch: str = ""
    """Stored patch after the action, if it changed."""

    @property
    def line(self) -> str:
        """Outcome in a line, without the action."""
        return " ".join(self.result.summary.split()).removeprefix(f"{describe_action(self.action)}: ")[:200]


class CommandPlace(NamedTuple):
    """Environment of commands."""

    environment: Environment
    problem: str = ""
    """Reason why no command can be run; empty if they can."""


class ActionRunner:
    """Runner of the actions of one repository, which knows the current state of its files."""

    def __init__(
        self,
        clients: ActivityClients,
        workspace: Workspace,
        prepare_commands: Callable[[], Awaitable[CommandPlace]],
        ask_person: Callable[[str], Awaitable[str]],
    ) -> None:
        """Start from a state; the functions wait for the environment of commands, and ask a person."""
        self._clients = clients
        self.workspace = workspace
        self._prepare_commands, self._ask_person = prepare_commands, ask_person
        self.change = ChangeSoFar()

    async def run_all(self, actions: Sequence[EngineerAction], *, keeps_changes: bool = True) -> list[ActionOutcome]:
        """Execute actions, behind a change that failed only reading ones, and behind a command also other commands.

        Without `keeps_changes`, commands change no file.
        """
        outcomes: list[ActionOutcome] = []
        stopped: frozenset[EngineerActionKind] = frozenset()
        for group, members in groupby(actions, key=_get_group):
            some = tuple(members)
            if group == "read":
                # A file that is not found does not make the other actions pointless.
                outcomes += await asyncio.gather(*(self._try(one, self._read(one)) for one in some))
                continue
            if group == "change" and not stopped:
                outcomes += await self._change(some)
                stopped = _ALL_BUT_READING if outcomes[-1].result.failed else stopped
                continue
            for one in some:
                if one.kind in stopped:
                    outcomes.append(ActionOutcome(one, _skip(one)))
                    # A command behind a change that was not made would try the old code.
                    stopped = _ALL_BUT_READING if one.kind in CHANGING else stopped
                    continue
                outcomes.append(await self._act(one, keeps_changes=keeps_changes))
                if outcomes[-1].result.failed:
                    # A command such as `grep` fails if it finds nothing, which says nothing about the next command.
                    stopped = stopped | (_ALL_BUT_READING - {"run"} if one.kind == "run" else _ALL_BUT_READING)
        return outcomes

    async def _try(self, action: EngineerAction, step: Awaitable[ActionResult]) -> ActionOutcome:
        """Return the result of a step, or its failure as a result."""
        try:
            return ActionOutcome(action, await step)
        except (ValidationError, ActivityError) as error:
            return ActionOutcome(action, _explain(error))

    async def _read(self, action: EngineerAction) -> ActionResult:
        workspace, summary = self.workspace, describe_action(action)
        if action.kind == "read":
            wanted = ReadRequest(workspace=workspace, path=action.subject, first=action.first or 1, last=action.last)
            return await self._clients.execute_activity(WorkspaceActivities.read_lines, wanted, summary=summary)
        if action.kind == "list":
            listed = ListRequest(workspace=workspace, pattern=action.subject)
            return await self._clients.execute_activity(WorkspaceActivities.list_files, listed, summary=summary)
        search = CodeSearchRequest(
            workspace=workspace, query=action.subject, kind=SEARCHES[action.kind], pattern=action.pattern
        )
        return await self._clients.execute_activity(CodeIndexActivities.search_code, search, summary=summary)

    async def _change(self, actions: Sequence[EngineerAction]) -> list[ActionOutcome]:
        """Make the changes of neighbouring actions together: all of them, or none."""
        summary = "; ".join(map(describe_action, actions))
        edits: list[FileEdit] = []
        problems: list[str] = []
        for action in actions:
            try:
                edits.append(_build_edit(action))
                problems.append("")
            except ValidationError as error:
                problems.append(_explain(error).text)
        if any(problems):
            return _refuse(actions, problems)
        try:
            request = EditRequest(workspace=self.workspace, edits=tuple(edits))
            reply: StepReply = await self._clients.execute_activity(
                WorkspaceActivities.edit_files, request, summary=summary
            )
        except ActivityError as error:
            return _refuse(actions, [_explain(error).text] * len(actions))
        if reply.observation.failed:
            return _refuse(actions, reply.edits if any(reply.edits) else [reply.observation.text] * len(actions))
        self._take(reply)
        return [
            ActionOutcome(one, ActionResult(text=line, summary=line), reply.workspace.patch)
            for one, line in zip(actions, reply.edits, strict=True)
        ]

    async def _act(self, action: EngineerAction, *, keeps_changes: bool) -> ActionOutcome:
        """Carry out an action that neither reads nor edits."""
        if action.kind == "invalid":
            return ActionOutcome(action, _fail(action.text, "not understood"))
        if action.kind == "ask":
            answer = await self._ask_person(action.text)
            return ActionOutcome(action, ActionResult(text=answer, summary=answer))
        if action.kind == "run":
            return await self._run(action, keeps_changes=keeps_changes)
        return ActionOutcome(action, ActionResult(text="", summary="noted"))

    async def _run(self, action: EngineerAction, *, keeps_changes: bool) -> ActionOutcome:
        place = await self._prepare_commands()
        if place.problem:
            return ActionOutcome(action, _fail(_NOTHING_RUNS.format(place.problem), place.problem))
        try:
            request = CommandRequest(workspace=self.workspace, environment=place.environment, command=action.text)
            reply = await self._clients.sandbox.run_command(request, summary=describe_action(action))
        except (ValidationError, ActivityError) as error:
            return ActionOutcome(action, _explain(error))
        before = self.workspace.patch
        if keeps_changes:
            self._take(reply)
        # The output of a failed command is a result as well; a DONE that follows waits for the model to read it.
        failed = reply.observation.failed or reply.exit_code != 0
        result = reply.observation.model_copy(update={"failed": failed})
        return ActionOutcome(action, result, self.workspace.patch if self.workspace.patch != before else "")

    def _take(self, reply: StepReply) -> None:
        """Continue from the state after an action."""
        self.workspace = reply.workspace
        self.change = reply.change or self.change


def _get_group(action: EngineerAction) -> str:
    return "read" if action.kind in READING else "change" if action.kind in CHANGING else "other"


def _build_edit(action: EngineerAction) -> FileEdit:
    return FileEdit(
        path=action.subject,
        replacements=action.replacements,
        content=action.text if action.kind == "write" else None,
        delete=action.kind == "delete",
    )


def _fail(text: str, summary: str) -> ActionResult:
    return ActionResult(text=text, summary=summary, failed=True)


def _skip(action: EngineerAction) -> ActionResult:
    """Return the result of an action behind one that failed."""
    has_text = action.kind == "done" and (action.cause or action.change)
    return _fail(f"{_NOT_DONE} {_DONE_STAYS}" if has_text else _NOT_DONE, "not carried out")


def _refuse(actions: Sequence[EngineerAction], problems: Sequence[str]) -> list[ActionOutcome]:
    """Return the results of changes of which none is made; a problem is empty if only others have one."""
    results = [
        _fail(text, f"refused: {text.splitlines()[0]}") if text else _fail(_OTHER_REFUSED, "not made")
        for text in problems
    ]
    return [ActionOutcome(one, result) for one, result in zip(actions, results, strict=True)]


def _explain(error: ValidationError | ActivityError) -> ActionResult:
    """Return the failure of an action as its result.

    Raises:
        ActivityError: the activity was cancelled.
    """
    if isinstance(error, ActivityError):
        if is_cancelled_exception(error):
            raise error
        words = describe_failure(error)
    else:
        words = error.errors(include_url=False)[0]["msg"].removeprefix("Value error, ")
    return _fail(words, words)
