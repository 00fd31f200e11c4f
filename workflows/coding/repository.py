"""Resolve an issue in a repository: open → prepare → (think → act)* → verify → hand over.

The model works in one conversation (`tenure/roles/coding/repository_engineer.py`). Its answers name actions; each is
an activity that receives the state of the files, a commit and a patch, and returns the next one. So a worker that is
killed loses nothing: another one rebuilds the files, and no call is made twice. Set-up, index, map and the tests of the
commit run while the model reads already.

With several attempts, each is a child workflow of the same kind that starts from the prepared state, and the best one
by its proof is delivered (`workflows/coding/repository_attempts.py`).

Whether a change is good is decided by the tests of the project, with and without it, and not by the model: a change
that fails goes back to it. Finishing, cancelling and an exhausted budget end with the change so far and what is known
of it. Without a model, a search for a small edit takes the place of the conversation.
"""

import asyncio
from typing import Any

from temporalio import workflow
from temporalio.exceptions import ActivityError, is_cancelled_exception

from workflows.coding.repository_actions import CHANGING, ActionOutcome, ActionRunner
from workflows.coding.repository_attempts import run_attempts
from workflows.coding.repository_people import ask_person, request_approval
from workflows.coding.repository_preparation import NO_SANDBOX, Preparation
from workflows.coding.repository_repair import search_repair
from workflows.coding.repository_result import build_draft, locate_places
from workflows.coding.repository_verification import verify_change
from workflows.coding.repository_work import RepositoryWork
from workflows.runtime.control import send_signal
from workflows.runtime.failures import describe_failure
from workflows.runtime.progress import UNHEARD
from workflows.runtime.story_log import format_time

with workflow.unsafe.imports_passed_through():
    from activities.workspaces import WorkspaceActivities
    from tenure.algorithms.coding import engineer_conversation as conversation
    from tenure.algorithms.coding.engineer_answer import describe_action
    from tenure.algorithms.coding.engineer_news import describe_proof, summarize_proof
    from tenure.algorithms.control.budget import describe_limit
    from tenure.algorithms.text.questions import shorten
    from tenure.contracts.coding.engineering import (
        ConversationTurn,
        RepositoryRequest,
        RepositoryState,
    )
    from tenure.contracts.coding.repositories import ChangeSoFar, CopyStateRequest, OpenRequest, RepositoryStep
    from tenure.contracts.research.fork import RepositoryCheckpoint
    from tenure.contracts.research.report import ReportDraft
    from tenure.contracts.research.trace import TracedAction, TracedAnswer, TracedVerification
    from tenure.contracts.run.run import RunPhase, WorkflowUsage
    from tenure.roles.coding import repository_engineer
    from tenure.roles.coding.repository_engineer import (
        NO_ACTION,
        RepositoryEngineerInput,
        RepositoryEngineerOutput,
        render_results,
    )

MAX_ANSWERS = 120
"""Answers of the model after which the work ends: mini-swe-agent, with one action an answer, resolves most issues of
SWE-bench Verified in fewer than 60 (its own limit is 250)."""

MAX_EMPTY_ANSWERS = 3
"""Answers without a readable action in a row that end the work."""

MAX_LABEL_CHARACTERS = 60
"""Length of the action before its result: the results have the order of the answer, which has the whole action."""

MAX_PASSAGES = 12
"""Passages of documents that the model receives."""

CONTINUE = "The work continues from here. See what is left to do."
"""Message after an answer that has ended the work, from which a fork continues without feedback."""

NO_MODEL = "Ended because no change was made: no model has answered, and a search without one has found no edit."

KEPT_FAILING = "Ended because the model has kept a change with which tests fail."


@workflow.defn
class RepositoryWorkflow(RepositoryWork):
    """Workflow that resolves an issue in a repository."""

    @workflow.init
    def __init__(self, request: RepositoryRequest) -> None:
        """Start from the request, or from the state of an earlier history."""
        super().__init__(request)
        self.answer_usage: dict[str, Any] = {}
        """Tokens and cost of the latest answer, as fields of its record."""

    @workflow.run
    async def run(self, request: RepositoryRequest) -> ReportDraft:
        """Run the phases until the change is proved, nothing is left to do, or a person or a budget ends the work."""
        self.main = asyncio.create_task(self._execute_phases())
        if self.cancelled:
            self.main.cancel()
        try:
            await self.main
        except (asyncio.CancelledError, ActivityError) as error:
            # A cancelled activity that was waited for directly ends in an error of its own kind.
            if not (self.cancelled and is_cancelled_exception(error)):
                if is_cancelled_exception(error):
                    await self.clients.progress.fail()
                    raise
                self.failure = describe_failure(error)  # the changes so far are delivered
        await self._hand_over()
        # The run accepts commands until its last attempt has ended.
        end = {"phase": "compose", "last": "the change is delivered"}
        if self.request.attempt:
            end = {"last": self._name_attempt("it has ended")}
        progress = await self.clients.progress.finish(**end)
        if self.state and not self.clients.progress.is_received:
            self.update(notes=(*self.state.notes, UNHEARD))
        return build_draft(self).model_copy(update={"progress": progress})

    @workflow.signal(description="Stop immediately and deliver the changes so far.")
    async def cancel(self, *ignored: Any) -> None:
        """Stop immediately and deliver the changes so far."""
        self.cancelled = True
        self.change_control(paused=False, finishing=True)
        for child in list(self.children.values()):
            await send_signal(child, "cancel")
        # An attempt that is being started receives the signal afterwards: cancelled, it would report no usage.
        if self.main is not None and not self.is_delegated:
            self.main.cancel()

    @workflow.query(description="Change so far.")
    def change(self) -> ChangeSoFar:
        """Return the change so far."""
        return self.state.change if self.state else ChangeSoFar()

    @workflow.query(description="Work after an answer, from which a fork continues; 0 for the last answer.")
    def checkpoint(self, answer: int) -> RepositoryCheckpoint:
        """Return the work after an answer."""
        return self.build_checkpoint(answer)

    # The phases

    async def _execute_phases(self) -> None:
        if (state := await self._open()) is None:
            return
        await self._prepare(state)
        self._report_phase("locate")
        if self._has_attempts() and not self._stop_reason():
            self.attempts = await run_attempts(self, RepositoryWorkflow.run)
        else:
            await self._resolve()

    def _has_attempts(self) -> bool:
        """Return whether several attempts are made; without a model they would all be the same."""
        limits = self.request.limits
        return limits.candidates > 1 and limits.has_model and not self.request.attempt

    async def _resolve(self) -> None:
        """Think, act and verify until the change is proved, or nothing is left to do."""
        while not (reason := self._stop_reason()):
            answer = await self._think()
            if not answer.text:
                reason = self._stop_reason()
                if not reason and await self._repair():
                    return
                reason = reason or self._stop_reason() or NO_MODEL
                break
            is_done = await self._act(answer)
            if is_done and (self._is_verified() or await self._verify()) and await self._approve_patch():
                if (proof := self.get_state().proof) and proof.verdict in ("failed", "regressed"):
                    self.end_reason = KEPT_FAILING
                return
            await self._continue_as_new_if_long()
        self.end_reason = reason
        if self.control.deadline_exceeded:
            return
        workspace = self.get_state().workspace
        if not workspace.patch:
            self.places = (*self.places, *await locate_places(self, workspace))
        elif workspace.patch != self.get_state().proved_patch:
            await self._verify()

    async def _open(self) -> RepositoryState | None:
        """Copy the commit to a private place, unless an earlier history has done so; None if no worker can."""
        if self.state is not None:
            return await self._take_over(self.state)
        self._report_phase("prepare", f"opening {self.request.task.source.path}")
        task = self.request.task
        request = OpenRequest(run=self.request.run, source=task.source, web=task.web)
        activity = WorkspaceActivities.open_repository
        opening = asyncio.create_task(self.clients.execute_activity(activity, request, summary=task.source.path))
        self.checking = checking = asyncio.create_task(self.clients.sandbox.check())
        # The same workers open repositories: without one, it would wait for ever.
        await workflow.wait_condition(lambda: opening.done() or checking.done())
        if not opening.done() and not ((box := checking.result()) and box.usable):
            opening.cancel()
            self.problem = box.message if box else NO_SANDBOX
            return None
        opened = await opening
        state = RepositoryState(opened=opened, workspace=opened.workspace, notes=opened.notes)
        self.state = state
        commit = opened.workspace.commit
        self.update(progress=state.progress.model_copy(update={"commit": commit}))
        self._report_phase("prepare", f"at commit {commit[:12]}: {opened.subject}")
        return self.get_state()

    async def _take_over(self, state: RepositoryState) -> RepositoryState:
        """Return the state of an earlier history; that of another run is copied first."""
        if state.workspace.run == self.request.run:
            return state
        copying = CopyStateRequest(workspace=state.workspace, run=self.request.run)
        workspace = await self.clients.execute_activity(
            WorkspaceActivities.copy_state, copying, summary=f"the files of {state.workspace.run}"
        )
        opened = state.opened.model_copy(update={"workspace": workspace.model_copy(update={"patch": ""})})
        self.update(workspace=workspace, opened=opened)
        return self.get_state()

    async def _prepare(self, state: RepositoryState) -> None:
        """Start the steps that run during the conversation, and wait briefly for its beginning."""
        prepared = Preparation(self.clients, self.request, state.opened.workspace, self._allow_network, self.checking)
        self.preparation = prepared
        if state.answers or self.request.attempt:
            prepared.restore(state)
            if state.turns:
                self._tell(*(self._read_news() or ([] if state.turns[-1].results else [CONTINUE])))
        else:
            prepared.start()
            await prepared.wait_for_beginning(state.opened.files)
            self.update(map=prepared.map, beginning=prepared.describe_beginning())
        state = self.get_state()
        self.runner = ActionRunner(
            self.clients, state.workspace, self.prepared.prepare_commands, lambda text: ask_person(self, text)
        )
        self.runner.change = state.change

    async def _think(self) -> RepositoryEngineerOutput:
        """Ask the model for its next actions."""
        state, before = self.get_state(), self.clients.record.usage
        answer = await self.clients.models.ask(
            repository_engineer.ROLE,
            RepositoryEngineerInput(
                question=self.request.question,
                address=self.request.task.address,
                environment=state.beginning,
                map=state.map,
                can_ask=self.request.limits.interactive and not self.request.attempt,
                attempt=self.request.attempt,
                attempts=self.request.limits.candidates,
                lessons=self.request.lessons,
                preferences=self.request.preferences,
                summary=state.summary,
                turns=state.turns,
            ),
            self.request.evidence[:MAX_PASSAGES],
            summary=f"answer {state.answers + 1}: {state.steps[-1].summary if state.steps else 'the first one'}",
        )
        self.update(answers=state.answers + 1)
        self.answer_usage = _compute_usage(before, self.clients.record.usage)
        return answer

    async def _act(self, answer: RepositoryEngineerOutput) -> bool:
        """Carry out the actions of an answer; return whether the model regards the work as done."""
        actions = answer.actions
        if plan := next((action.text for action in actions if action.kind == "plan"), ""):
            self.update(progress=self.get_state().progress.model_copy(update={"plan": plan}))
        changes = any(action.kind in CHANGING for action in actions)
        self._report_phase("change" if changes or self.runner.workspace.patch else "locate", answer.thought)
        if changes and (objection := await self._approve_plan(plan or answer.thought)):
            self._log_answer(answer, [])
            self._add_turn(answer, [], [objection])
            return False
        is_free = self.request.task.approve != "plan" or self.get_state().is_plan_approved
        outcomes = await self.runner.run_all(actions, keeps_changes=is_free)
        self._record_steps(answer, outcomes)
        self._log_answer(answer, outcomes)
        self._add_turn(answer, outcomes, [] if actions else [NO_ACTION])
        done = next((one for one in outcomes if one.action.kind == "done"), None)
        # The text of a DONE behind a failed command stays: the next one need not repeat it.
        if done and (done.action.cause or done.action.change or self.get_state().report is None):
            self.update(report=done.action)
        return bool(done and not done.result.failed)

    async def _repair(self) -> bool:
        """Search for an edit without a model; return whether it can be handed over."""
        before = self.get_state()
        if before.workspace.patch or not (reply := await search_repair(self)):
            return False
        if reply.changes and await self._verify() and await self._approve_patch():
            return True
        self.places = reply.places
        if reply.changes:
            self.prepared.notes.append(f"An edit was found and not accepted: {reply.observation.summary}.")
        # An edit without a proof, or with the objection of a person, is not handed over.
        restored = {name: getattr(before, name) for name in ("workspace", "change", "progress")}
        self.update(**restored, report=None, proof=None)
        return False

    async def _verify(self) -> bool:
        """Run the tests with and without the change; return whether it can be handed over."""
        state = self.get_state()
        self._report_phase("verify", "running the tests with and without the change")
        self.patch = await self.clients.execute_activity(
            WorkspaceActivities.build_patch, state.workspace, summary="the change so far"
        )
        first = not state.verifications
        self.update(verifications=state.verifications + 1)
        if not self.patch.files:
            self._tell("Nothing is changed. If nothing has to be, say why and use DONE again.")
            return not first
        proof = await verify_change(self.clients, self.prepared, self.patch)
        self.keep_preparation()
        line = summarize_proof(proof)
        progress = self.get_state().progress.model_copy(update={"after": line})
        self.update(proof=proof, proved_patch=state.workspace.patch, progress=progress)
        number, at = self.get_state().verifications, format_time(workflow.now())
        self.clients.log.add(TracedVerification(number=number, at=at, outcome=line))
        self._report_phase("verify", line)
        if proof.verdict == "proved":
            return True
        self._tell(describe_proof(proof))
        # Another test is requested once; the model may know that none can show it.
        return proof.verdict == "unproved" and (not first or bool(self.prepared.problem))

    def _is_verified(self) -> bool:
        """Return whether the tests have run with the current change: again, they would have the same result."""
        state = self.get_state()
        return bool(state.workspace.patch) and state.workspace.patch == state.proved_patch

    async def _hand_over(self) -> None:
        """Build the patch of the last state, and remove the files of the work."""
        if self.state is None:
            return
        if self.preparation:
            self.preparation.stop()
            self.keep_preparation()
        # Attempts have built their own.
        if not self.attempts and (self.patch is None or self.patch.workspace != self.state.workspace):
            self.patch = await self.clients.execute_activity(
                WorkspaceActivities.build_patch, self.state.workspace, summary="the change"
            )
        await self.clients.execute_activity(
            WorkspaceActivities.close_workspace, self.state.workspace, summary="remove the files of the work"
        )

    # People

    async def _allow_network(self, command: str) -> bool:
        """Return whether a person allows a set-up the network; no person is asked in a run without questions."""
        if not (self.request.limits.interactive or self.request.task.approve):
            return False
        question = f"The set-up needs the network. May this command run with it: {command}"
        return (await request_approval(self, question, "it may not")).approved

    async def _approve_plan(self, plan: str) -> str:
        """Wait for the approval of a plan if a person wants it; return the objection, or an empty text."""
        if self.request.task.approve != "plan" or self.get_state().is_plan_approved or self.is_finishing:
            return ""
        reply = await request_approval(self, f"Is this the right plan? {plan}", "the plan is followed")
        if reply.text:
            return f"Nothing of this answer was carried out, since the person objects to the plan: {reply.text}"
        self.update(is_plan_approved=True)
        return ""

    async def _approve_patch(self) -> bool:
        """Wait for the approval of the patch if a person wants it; return whether it can be delivered."""
        if self.request.task.approve != "patch" or self.is_finishing:
            return True
        progress = self.get_state().progress
        what = f"{len(progress.files)} file(s), +{progress.added} -{progress.removed}: {', '.join(progress.files[:10])}"
        what += f" ({progress.after})" if progress.after else ""
        reply = await request_approval(self, f"Is this change right? {what}", "the patch is delivered")
        if reply.text:
            self._tell(f"The person objects to the change: {reply.text}")
        return not reply.text

    # State

    def _record_steps(self, answer: RepositoryEngineerOutput, outcomes: list[ActionOutcome]) -> None:
        """Add the actions to the steps of the report, and the state of the files."""
        state, runner = self.get_state(), self.runner
        phase = "change" if runner.workspace.patch else "locate"
        steps = tuple(
            RepositoryStep(
                n=n,
                phase=phase,
                action=describe_action(one.action),
                thought=answer.thought[:500] if one is outcomes[0] else "",
                summary=one.line,
                patch=one.patch,
            )
            for n, one in enumerate(outcomes, state.progress.steps + 1)
        )
        self.record_steps(runner.workspace, runner.change, steps)
        last = self._name_attempt("; ".join(f"{step.action}: {step.summary}" for step in steps))
        self.clients.progress.report(repository=self.get_state().progress, last=last)

    def _log_answer(self, answer: RepositoryEngineerOutput, outcomes: list[ActionOutcome]) -> None:
        """Add an answer with the outcomes of its actions to the story of the run."""
        state, runner = self.get_state(), self.runner
        record = TracedAnswer(
            number=state.answers,
            at=format_time(workflow.now()),
            phase="change" if runner.workspace.patch else "locate",
            thought=answer.thought[:500],
            actions=tuple(
                TracedAction(action=describe_action(one.action), outcome=one.line, failed=one.result.failed)
                for one in outcomes
            ),
            files=state.progress.files,
            added=runner.change.added,
            removed=runner.change.removed,
            **self.answer_usage,
        )
        self.clients.log.add(record)

    def _add_turn(self, answer: RepositoryEngineerOutput, outcomes: list[ActionOutcome], remarks: list[str]) -> None:
        """Add an answer and its results to the conversation, with what has become known meanwhile."""
        state = self.get_state()
        texts = conversation.limit_results([one.result.text for one in outcomes])
        results = [
            render_results("results", text, shorten(describe_action(one.action), MAX_LABEL_CHARACTERS))
            for one, text in zip(outcomes, texts, strict=True)
            if text or one.result.failed
        ]
        summary = conversation.summarize_turn(
            answer.thought, [one.action for one in outcomes], [one.result.summary for one in outcomes]
        )
        turn = ConversationTurn(answer=answer.text, results="\n".join([*results, *remarks]), summary=summary)
        kept, turns = conversation.compact_turns(state.summary, (*state.turns, turn))
        self.update(summary=kept, turns=turns)
        self._tell(*self._read_news())
        self.checkpoints[state.answers] = self.get_state()

    def _read_news(self) -> list[str]:
        """Return the news of the preparation, and the feedback that the model has not read."""
        state = self.get_state()
        news = [render_results("results", text) for text in self.prepared.read_news()]
        new = self.feedback_items[state.read_feedback :]
        news += [
            f"<feedback>\n{one.text}\n</feedback>\nThe person says this; follow it."
            for one in new
            if one.text not in self.answered
        ]
        self.update(read_feedback=len(self.feedback_items))
        return news

    def _tell(self, *texts: str) -> None:
        """Add texts to the results of the latest answer."""
        turns = self.get_state().turns
        if not texts or not turns:
            return
        *earlier, last = turns
        results = "\n\n".join(filter(None, (last.results, *texts)))
        self.update(turns=(*earlier, last.model_copy(update={"results": results})))

    def _stop_reason(self) -> str:
        """Return the reason why no further answer is requested; empty while the work continues."""
        state = self.get_state()
        if self.cancelled:
            return "Ended because a person cancelled the run."
        if self.control.exhausted:
            limits = self.apply_budget_revision(self.request.limits)
            return f"Ended because {describe_limit(limits, self.control.exhausted)} was used up."
        if self.is_finishing:
            return "Ended because a person asked to finish."
        if state.verifications >= self.request.limits.max_code_attempts:
            return f"Ended after {state.verifications} verifications of the change."
        if state.answers >= MAX_ANSWERS:
            return f"Ended after {state.answers} answers of the model."
        empty = [turn for turn in state.turns[-MAX_EMPTY_ANSWERS:] if turn.results.startswith(NO_ACTION)]
        return "Ended because the model named no action." if len(empty) == MAX_EMPTY_ANSWERS else ""

    def _report_phase(self, phase: RunPhase, last: str = "") -> None:
        progress = self.state.progress if self.state else None
        last = " ".join(last.split())[:300]
        self.clients.progress.report(phase=phase, last=self._name_attempt(last), repository=progress)

    def _name_attempt(self, last: str) -> str:
        return f"attempt {self.request.attempt}: {last}" if last and self.request.attempt else last

    async def _continue_as_new_if_long(self) -> None:
        """Continue in a new history if this one is long; nothing else is running then."""
        info = workflow.info()
        is_long = info.get_current_history_length() > self.request.limits.max_history_events
        if not (is_long or info.is_continue_as_new_suggested()) or not self.prepared.is_done or self._stop_reason():
            return
        await self.clients.progress.send()
        await workflow.wait_condition(workflow.all_handlers_finished)
        self.keep_preparation()
        record = self.clients.record
        lease = self.clients.lease
        self.update(
            usage=record.usage,
            fallbacks=tuple(record.fallbacks),
            unused_budget=lease.remaining,
            budget_requests=lease.request_count,
        )
        changes = {"state": self.state, "feedback": tuple(self.feedback_items), "control": self.control}
        workflow.continue_as_new(self.request.model_copy(update=changes))


def _compute_usage(before: WorkflowUsage, after: WorkflowUsage) -> dict[str, Any]:
    """Return tokens and cost of the calls in between, as fields of a record."""
    tokens = after.tokens_in + after.tokens_out - before.tokens_in - before.tokens_out
    return {
        "tokens": tokens,
        "cost_usd": None if after.cost_usd is None else after.cost_usd - (before.cost_usd or 0.0),
    }
