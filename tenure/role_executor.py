"""Execute a role: ask the model, validate its answer, ask for corrections, or decide by the fallback.

An answer that does not fit the role's schema is sent back to the model with the errors, at most twice. Then the
deterministic fallback answers, and the result contains the reason.
"""

import asyncio
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Protocol

from tenure.algorithms.control.answer_size import compute_answer_limit
from tenure.algorithms.control.budget import compute_cost
from tenure.contracts.messages import Message, Tier
from tenure.contracts.run.budget import CallBudget, Price
from tenure.contracts.run.role_calls import OFFLINE, ModelAnswer, SavedUsage, StoredAnswer
from tenure.models.answer_parsing import SCHEMA_MISMATCH, InvalidAnswer, parse_answer, strip_reasoning
from tenure.models.chat import ChatModel, ChatRequest, ModelCall
from tenure.models.errors import (
    CUT_OFF_REASONING,
    EMPTY_ANSWER,
    REPEATED_ITSELF,
    ContextOverflow,
    RequestRejected,
    UnusableAnswer,
)
from tenure.models.usage import TokenUsage
from tenure.roles.base import BaseRole, Evidence, I, O

MAX_CORRECTIONS = 2
"""Number of times that an answer that does not fit is sent back."""

_ASKED_AGAIN = frozenset({EMPTY_ANSWER, CUT_OFF_REASONING, REPEATED_ITSELF})
"""Problems of a first answer after which the second one may be usable."""

_REPETITION_ORDER = "Your last answer repeated itself and was stopped. Answer briefly, and end after the answer."
_MAX_SHOWN_CHARACTERS = 8_000
_MIN_OUTPUT_TOKENS = 256
_MAX_ANSWER_CHARACTERS = 100_000  # a model that repeats itself; Temporal limits the size of recorded answers


NOTHING_SAVED = SavedUsage()
"""Savings of a call without a cached answer."""


@dataclass(frozen=True)
class RoleAnswer(Generic[O]):
    """Decision of a role, with its author and its cost."""

    output: O
    """The decision."""
    model: str
    """Model that decided; `offline` for the fallback."""
    model_calls: int = 0
    """Number of paid answers, including unusable ones."""
    usage: TokenUsage = field(default_factory=TokenUsage)
    """Tokens of all answers."""
    cost_usd: float | None = None
    """Price of these tokens; None if the model has no known price."""
    first_token_seconds: float | None = None
    """Time to the first token of the answer that was used; None if it was not streamed."""
    fallback_reason: str | None = None
    """Reason why the fallback answered although a model is configured; None if the model answered."""
    saved: SavedUsage = NOTHING_SAVED
    """Usage that a cached answer saved."""
    prompt: tuple[Message, ...] = ()
    """Prompt for the model, without the correction of invalid answers; empty if no model is configured."""


class AnswerStore(Protocol):
    """Answers of models to earlier requests."""

    @property
    def identify(self) -> Callable[[str, Tier], str]:
        """Function that returns server, model and parameters that answer a role of a tier."""
        ...

    def load(self, request: str) -> StoredAnswer | None:
        """Return the answer to a request, given its hash, or None if the model has to be asked."""

    def save(self, request: str, answer: StoredAnswer) -> None:
        """Store the answer to a request."""


class _CallAccount:
    """Cost of all answers of one call, and the rest of its budget."""

    def __init__(self, price: Price | None, budget: CallBudget | None) -> None:
        self._price = price
        self._budget = budget
        self.model = OFFLINE
        self.calls = 0
        self.usage = TokenUsage()
        self.first_token_seconds: float | None = None
        self.saved = NOTHING_SAVED
        self.prompt: tuple[Message, ...] = ()

    def add_stored(self, answer: StoredAnswer) -> None:
        """Account for a cached answer, which costs nothing."""
        self.model = answer.model
        self.saved = SavedUsage(
            answers=1,
            model_calls=answer.model_calls,
            tokens_in=answer.tokens_in,
            tokens_out=answer.tokens_out,
            cost_usd=self._compute_cost(TokenUsage(answer.tokens_in, answer.tokens_out, answer.tokens_cached)),
        )

    def build_stored(self, text: str) -> StoredAnswer:
        """Return an answer with the usage of this call."""
        usage = self.usage
        return StoredAnswer(
            text=text,
            model=self.model,
            model_calls=self.calls,
            tokens_in=usage.tokens_in,
            tokens_out=usage.tokens_out,
            tokens_cached=usage.tokens_cached,
        )

    def _compute_cost(self, usage: TokenUsage) -> float | None:
        if self._price is None:
            return None
        return compute_cost(self._price, usage.tokens_in, usage.tokens_out, usage.tokens_cached)

    def add(self, answer: ModelAnswer) -> None:
        self.model = answer.model or self.model
        self.calls += 1
        self.usage = TokenUsage(
            self.usage.tokens_in + answer.tokens_in,
            self.usage.tokens_out + answer.tokens_out,
            self.usage.tokens_cached + answer.tokens_cached,
        )
        self.first_token_seconds = answer.first_token_seconds

    def limit_output(self, prompt_tokens: int) -> int | None:
        """Return the token limit of the next answer; None for no limit.

        Raises:
            _BudgetExceeded: the budget does not cover another answer.
        """
        if self._budget is None:
            return None
        calls = self._budget.calls - self.calls
        tokens = self._budget.tokens_out - self.usage.tokens_out
        if calls < 1 or tokens < _MIN_OUTPUT_TOKENS or prompt_tokens > self._budget.tokens_in - self.usage.tokens_in:
            raise _BudgetExceeded("the budget does not allow another answer")
        return max(tokens // calls, _MIN_OUTPUT_TOKENS)

    def build_answer(self, output: O, fallback_reason: str | None = None) -> RoleAnswer[O]:
        """Return the decision with its cost."""
        return RoleAnswer(
            output,
            OFFLINE if fallback_reason else self.model,
            self.calls,
            self.usage,
            self._compute_cost(self.usage),
            None if fallback_reason else self.first_token_seconds,
            fallback_reason,
            self.saved,
            self.prompt,
        )


class _BudgetExceeded(Exception):
    """The next request would exceed the budget of the call; never leaves this module."""


async def execute_role(
    role: BaseRole[I, O, Any],
    input: I,
    evidence: Evidence,
    chat: ChatModel | None,
    call: ModelCall | None = None,
    budget: CallBudget | None = None,
    answers: AnswerStore | None = None,
) -> RoleAnswer[O]:
    """Execute a role by the model, or by its fallback if no model is configured.

    Args:
        role: the role.
        input: its input.
        evidence: its evidence.
        chat: the model; None if the fallbacks answer.
        call: state of the call that earlier attempts left.
        budget: budget of the call; None for no limit.
        answers: answers to earlier requests; None to ask the model in any case, without storing its answer.

    Raises:
        TransportError: the same call may succeed later.
        RequestRejected: the same call will fail again until a setting is changed.
    """
    if chat is None:
        return RoleAnswer(await asyncio.to_thread(role.fallback, input, evidence), OFFLINE)
    price = chat.get_price(role.name, role.tier)
    if budget and budget.priced and price is None:
        raise RequestRejected(f"the price of the model of {role.name} is not known, yet the run's money is limited")
    account = _CallAccount(price, budget)
    try:
        exchange = _Exchange(chat, call or ModelCall(), account, answers)
        output = await _ask_with_fitting_evidence(role, input, evidence, exchange)
    except UnusableAnswer as unusable:
        output = await asyncio.to_thread(role.fallback, input, evidence)
        return account.build_answer(output, fallback_reason=unusable.reason)
    return account.build_answer(output)


async def _ask_with_fitting_evidence(
    role: BaseRole[I, O, Any], input: I, evidence: Evidence, exchange: "_Exchange"
) -> O:
    """Ask with as much evidence as fits the model's context window and the budget.

    Passages are dropped from the end, since the remaining ones keep the numbers that citations refer to: of a search
    these are the weakest, of a dossier those of the documents behind the best ones. One passage always remains, since
    a role without evidence would invent its answer.
    """
    while True:
        try:
            return await _ask(role, input, evidence, exchange)
        except (ContextOverflow, _BudgetExceeded) as too_long:
            count = len(evidence.passages) // 2
            if not count and isinstance(too_long, _BudgetExceeded):
                raise UnusableAnswer(str(too_long)) from None
            if not count:
                advice = f"the prompt of {role.name} is too long for the model; choose one with a longer context"
                raise RequestRejected(advice) from None
            evidence = replace(evidence, passages=evidence.passages[:count])


@dataclass(frozen=True)
class _Exchange:
    """One call of a model, its account, and the cache of answers."""

    chat: ChatModel
    call: ModelCall
    account: _CallAccount
    answers: AnswerStore | None


async def _ask(role: BaseRole[I, O, Any], input: I, evidence: Evidence, exchange: _Exchange) -> O:
    call, account = exchange.call, exchange.account
    # A prompt of a hundred passages can take seconds; the event loop serves all runs meanwhile.
    account.prompt = tuple(await asyncio.to_thread(role.prompt, input, evidence))
    schema = role.schema
    request = ChatRequest(
        role.name,
        role.tier,
        account.prompt,
        schema,
        role.streamed,
        answer_tokens=compute_answer_limit(schema or {}),
    )
    key = _hash_request(request, exchange.answers) if exchange.answers else ""
    if (cached := await _load_cached(role, key, exchange)) is not None:
        return cached
    reason = SCHEMA_MISMATCH
    for attempt in range(MAX_CORRECTIONS + 1):
        try:
            answer = call.replay_answer() or await _request_answer(request, exchange.chat, call, account)
        except (ContextOverflow, _BudgetExceeded):
            if attempt:  # the prompt fitted; only the correction of a bad answer exceeds the limit
                break
            raise
        account.add(answer)
        if answer.problem in _ASKED_AGAIN and not attempt:
            request = _ask_again(request, answer.problem)
            continue
        if answer.problem:
            raise UnusableAnswer(answer.problem)
        try:
            # The repair of a degenerate answer can take a while; the event loop has to send heartbeats meanwhile.
            output = await asyncio.to_thread(_parse_role_answer, role, answer.text)
        except InvalidAnswer as invalid:
            reason = invalid.reason
            correction = _build_correction(answer.text, invalid, is_text=schema is None)
            request = replace(request, messages=(*request.messages, *correction))
        else:
            if exchange.answers:
                await asyncio.to_thread(exchange.answers.save, key, account.build_stored(answer.text))
            return output
    raise UnusableAnswer(reason)


async def _load_cached(role: BaseRole[I, O, Any], key: str, exchange: _Exchange) -> O | None:
    """Return the decision of a cached answer; None if there is none, or if this call has paid for answers already."""
    if exchange.answers is None or exchange.call.answers:
        return None
    stored = await asyncio.to_thread(exchange.answers.load, key)
    if stored is None:
        return None
    try:
        output = await asyncio.to_thread(_parse_role_answer, role, stored.text)
    except InvalidAnswer:  # stored by another version of the role, whose schema was the same
        return None
    exchange.account.add_stored(stored)
    return output


def _hash_request(request: ChatRequest, answers: AnswerStore) -> str:
    """Return the hash of everything that determines an answer: prompt, schema, model and parameters."""
    content = [
        *(request.role, answers.identify(request.role, request.tier), request.schema),
        *(message.model_dump(exclude_defaults=True) for message in request.messages),
    ]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


async def _request_answer(request: ChatRequest, chat: ChatModel, call: ModelCall, account: _CallAccount) -> ModelAnswer:
    """Ask the model and record its answer immediately: if the worker dies, the next one need not pay for it again.

    Raises:
        ModelError: there is no answer; for an unusable one only if the server billed nothing.
    """
    await call.save_answers()
    try:
        completion = await chat.complete(replace(request, max_output=account.limit_output(request.prompt_tokens)), call)
    except UnusableAnswer as unusable:
        if unusable.usage is None:
            raise
        answer = _build_model_answer(unusable.usage, unusable.model, problem=unusable.reason)
    else:
        readable = len(completion.text) <= _MAX_ANSWER_CHARACTERS
        content = {"text": completion.text} if readable else {"problem": "answer longer than a role can have"}
        answer = _build_model_answer(
            completion.usage, completion.model, **content, first_token_seconds=completion.first_token_seconds
        )
    call.record_answer(answer)
    return answer


def _build_model_answer(usage: TokenUsage, model: str, **content: Any) -> ModelAnswer:
    return ModelAnswer(
        model=model,
        tokens_in=usage.tokens_in,
        tokens_out=usage.tokens_out,
        tokens_cached=usage.tokens_cached,
        **content,
    )


def _ask_again(request: ChatRequest, problem: str) -> ChatRequest:
    """Return the request after an answer without anything to parse.

    The order not to repeat ends the last message, since some chat templates accept no second message of a person, and
    the repetitive answer is not shown, since a model continues what it sees.
    """
    if problem != REPEATED_ITSELF:
        return request
    *others, last = request.messages
    ordered = last.model_copy(update={"content": f"{last.content}\n\n{_REPETITION_ORDER}"})
    return replace(request, messages=(*others, ordered))


def _build_correction(text: str, invalid: InvalidAnswer, *, is_text: bool) -> list[Message]:
    """Return the messages that show the model its answer and the errors."""
    form = "in the form that was asked for" if is_text else "with one corrected JSON object only"
    return [
        Message(role="assistant", content=text[:_MAX_SHOWN_CHARACTERS]),
        Message(
            role="user",
            content=f"That answer cannot be used: {invalid}\nAnswer again {form}.",
        ),
    ]


def _parse_role_answer(role: BaseRole[I, O, Any], text: str) -> O:
    if role.parse_text is not None:
        try:
            return role.parse_text(strip_reasoning(text))
        except InvalidAnswer:
            raise
        except ValueError as unparsable:
            raise InvalidAnswer(str(unparsable)) from unparsable
    return parse_answer(text, role.output)
