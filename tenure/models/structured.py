"""From a role to its decision: ask the model, read its answer, ask again, or let the twin decide.

Models wrap JSON in prose, fences, thoughts and tool calls, and leave commas out. Whatever can be
read without guessing at meaning is read; what does not fit the role's schema is shown to the model
together with the errors, at most twice. Then the deterministic twin answers and the answer says so.
"""

import asyncio
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from json_repair import repair_json
from pydantic import ValidationError

from tenure.algorithms.control.budget import cost
from tenure.contracts.run.budget import Allowance, Price
from tenure.contracts.run.role_calls import PaidAnswer
from tenure.models.chat import (
    OFFLINE,
    Answer,
    Ask,
    ChatModel,
    ContextOverflow,
    InFlight,
    RequestRejected,
    Spent,
    UnusableAnswer,
)
from tenure.roles.base import Evidence, I, Message, O, Role

RE_ASKS = 2
"""How often an answer that does not fit is sent back."""

_THOUGHTS = re.compile(r"<(think|thinking|reasoning)>.*?(</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_ENVELOPES = ("arguments", "parameters", "input")
_READ_SPANS = 32
_REPAIRABLE = 32_000
_MOST_TANGLED = 48
_SHOWN_ERRORS = 8
_SHOWN_ANSWER = 8_000
_LEAST_OUTPUT = 256
_LONGEST_ANSWER = 100_000  # a model that repeats itself; Temporal carries what a call was answered, and has limits


UNFIT: Final = "answer did not fit the schema"
REASONING_ALONE: Final = "the model reasoned and did not answer"
"""Why an answer cannot be used, whatever it was told."""


_ONLY_REASONING = ("it holds reasoning and no answer.", REASONING_ALONE)


class NotReadable(ValueError):
    """A text that holds no JSON object fit for the schema; the message is written for the model."""

    def __init__(self, told: str, reason: str = UNFIT) -> None:
        super().__init__(told)
        self.reason = reason
        """One phrase, fit for a report."""


class _Meter:
    """What all answers of one call cost together, and what it may still use."""

    def __init__(self, price: Price | None, allowance: Allowance | None) -> None:
        self._price = price
        self._allowance = allowance
        self.model = OFFLINE
        self.calls = 0
        self.spent = Spent()
        self.first_token: float | None = None
        self.prompt: tuple[Message, ...] = ()

    def add(self, paid: PaidAnswer) -> None:
        self.model = paid.model or self.model
        self.calls += 1
        self.spent = Spent(
            self.spent.tokens_in + paid.tokens_in,
            self.spent.tokens_out + paid.tokens_out,
            self.spent.tokens_cached + paid.tokens_cached,
        )
        self.first_token = paid.first_token_seconds

    def output(self, prompt: int) -> int | None:
        """Return how many tokens the answer to a prompt of so many may have; None for any number.

        Raises:
            _Unaffordable: the allowance does not cover it.
        """
        if self._allowance is None:
            return None
        calls = self._allowance.calls - self.calls
        tokens = self._allowance.tokens_out - self.spent.tokens_out
        if calls < 1 or tokens < _LEAST_OUTPUT or prompt > self._allowance.tokens_in - self.spent.tokens_in:
            raise _Unaffordable("the budget does not allow another answer")
        return max(tokens // calls, _LEAST_OUTPUT)

    def answer(self, output: O, degraded: str | None = None) -> Answer[O]:
        """Return the decision with what it took."""
        price, spent = self._price, self.spent
        return Answer(
            output,
            OFFLINE if degraded else self.model,
            self.calls,
            spent,
            None if price is None else cost(price, spent.tokens_in, spent.tokens_out, spent.tokens_cached),
            None if degraded else self.first_token,
            degraded,
            self.prompt,
        )


class _Unaffordable(Exception):
    """The next question would cost more than is left for the call; never leaves this module."""


async def answer(
    role: Role[I, O],
    input: I,
    evidence: Evidence,
    chat: ChatModel | None,
    call: InFlight | None = None,
    allowance: Allowance | None = None,
) -> Answer[O]:
    """Let a role decide, by the model if there is one, else by its twin.

    Args:
        role: who decides.
        input: what about.
        evidence: what on.
        chat: the model; None where the twins answer.
        call: what earlier attempts of this call left behind, and who follows it.
        allowance: what the call may use; None for as much as it takes.

    Raises:
        TransportError: where asking again later may help.
        RequestRejected: where a person has to change something first.
    """
    if chat is None:
        return Answer(await asyncio.to_thread(role.offline, input, evidence), OFFLINE)
    price = chat.price(role.name, role.tier)
    if allowance and allowance.priced and price is None:
        raise RequestRejected(f"the price of the model of {role.name} is not known, yet the run's money is limited")
    meter = _Meter(price, allowance)
    try:
        output = await _ask_fitting(role, input, evidence, chat, call or InFlight(), meter)
    except UnusableAnswer as unusable:
        output = await asyncio.to_thread(role.offline, input, evidence)
        return meter.answer(output, degraded=unusable.reason)
    return meter.answer(output)


async def _ask_fitting(
    role: Role[I, O], input: I, evidence: Evidence, chat: ChatModel, call: InFlight, meter: _Meter
) -> O:
    """Ask with as much evidence as the model can read and the budget allows.

    What was said before in the conversation goes first. Then passages are dropped from the tail: they stand
    best first, and those that stay keep the numbers by which citations name them. One always stays, since a
    role asked about nothing would invent.
    """
    while True:
        try:
            return await _ask(role, input, evidence, chat, call, meter)
        except (ContextOverflow, _Unaffordable) as too_long:
            if evidence.history:
                evidence = replace(evidence, history=())
                continue
            kept = len(evidence.passages) // 2
            if not kept and isinstance(too_long, _Unaffordable):
                raise UnusableAnswer(str(too_long)) from None
            if not kept:
                advice = f"the prompt of {role.name} is too long for the model; choose one with a longer context"
                raise RequestRejected(advice) from None
            evidence = replace(evidence, passages=evidence.passages[:kept])


async def _ask(role: Role[I, O], input: I, evidence: Evidence, chat: ChatModel, call: InFlight, meter: _Meter) -> O:
    meter.prompt = tuple(role.prompt(input, evidence))
    acting = role.acting
    ask = Ask(
        role.name,
        role.tier,
        meter.prompt,
        role.output.model_json_schema(),
        role.streamed,
        functions=acting.functions(input) if acting else (),
        plain=acting.plain if acting else "",
    )
    reason = UNFIT
    for attempt in range(RE_ASKS + 1):
        try:
            paid = call.next_answer() or await _paid(ask, chat, call, meter)
        except (ContextOverflow, _Unaffordable):
            if attempt:  # the question fitted; only the exchange about a bad answer has outgrown what may be asked
                break
            raise
        meter.add(paid)
        if paid.problem:
            raise UnusableAnswer(paid.problem)
        try:
            # Repair can take a while over a degenerate answer; the loop has heartbeats to send meanwhile.
            return await asyncio.to_thread(_read_as, role, paid.text)
        except NotReadable as problem:
            reason = problem.reason
            ask = replace(ask, messages=(*ask.messages, *_correction(paid.text, problem)))
    raise UnusableAnswer(reason)


async def _paid(ask: Ask, chat: ChatModel, call: InFlight, meter: _Meter) -> PaidAnswer:
    """Ask the model and keep its answer at once: should the worker die now, the next one need not pay again.

    Raises:
        ModelError: there is no answer; for an unusable one only where the server billed nothing for it.
    """
    try:
        given = await chat.complete(replace(ask, max_output=meter.output(ask.prompt_tokens)), call)
    except UnusableAnswer as unusable:
        if unusable.spent is None:
            raise
        paid = _of(unusable.spent, unusable.model, problem=unusable.reason)
    else:
        readable = len(given.text) <= _LONGEST_ANSWER
        said = {"text": given.text} if readable else {"problem": "answer longer than a role can have"}
        paid = _of(given.spent, given.model, **said, first_token_seconds=given.first_token_seconds)
    call.answered(paid)
    return paid


def _of(spent: Spent, model: str, **said: Any) -> PaidAnswer:
    return PaidAnswer(
        model=model,
        tokens_in=spent.tokens_in,
        tokens_out=spent.tokens_out,
        tokens_cached=spent.tokens_cached,
        **said,
    )


def _correction(text: str, problem: NotReadable) -> list[Message]:
    """Show the model its answer and what is wrong with it."""
    return [
        Message(role="assistant", content=text[:_SHOWN_ANSWER]),
        Message(
            role="user",
            content=f"That answer cannot be used: {problem}\nAnswer again with one corrected JSON object only.",
        ),
    ]


def _read_as(role: Role[I, O], text: str) -> O:
    """Return what a role's model has decided.

    Raises:
        NotReadable: where it has not.
    """
    if role.acting is None:
        return read(text, role.output)
    spoken = _THOUGHTS.sub("", text)
    if not spoken.strip():
        raise NotReadable(*_ONLY_REASONING)
    return role.acting.read(spoken, objects(spoken))


def read(text: str, output: type[O]) -> O:
    """Return the first object in a model's answer that fits the schema.

    Raises:
        NotReadable: where none does; it lists what is wrong with the most likely candidate.
    """
    first: ValidationError | None = None
    for candidate in candidates(text, frozenset(output.model_fields)):
        try:
            return output.model_validate(candidate)
        except ValidationError as error:
            first = first or error
    if text.strip() and not _THOUGHTS.sub("", text).strip():
        raise NotReadable(*_ONLY_REASONING)
    raise NotReadable(_described(first) if first else "it holds no JSON object.")


def _described(error: ValidationError) -> str:
    """Name each fault by place and rule; the values stay out, since the model has just written them."""
    faults = [
        f"- {'.'.join(map(str, fault['loc'])) or 'the object'}: {fault['msg']}"
        for fault in error.errors(include_url=False, include_context=False, include_input=False)
    ]
    return "\n".join(["it does not fit the schema:", *faults[:_SHOWN_ERRORS]])


def candidates(text: str, fields: frozenset[str]) -> Iterator[dict[str, Any]]:
    """Yield the objects that an answer may mean, likeliest first, taken out of tool-call envelopes.

    Exact readings come before repaired ones, and later objects before earlier ones, since a model
    that explains itself ends with its answer. Thoughts count only where nothing else is said.
    """
    spoken = _THOUGHTS.sub("", text)
    said = spoken if "{" in spoken else text
    spans = list(_spans(said))[: -_READ_SPANS - 1 : -1]
    for decode in (_decoded, _repaired):
        for span in spans:
            found = decode(span)
            if isinstance(found, dict) and (found or decode is _decoded):
                yield _unwrapped(found, fields)


def objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the objects that stand in a text, in order, mended where they are broken."""
    for span in list(_spans(text))[:_READ_SPANS]:
        found = _decoded(span)
        found = _repaired(span) if found is None else found
        if isinstance(found, dict):
            yield found


def _unwrapped(found: dict[str, Any], fields: frozenset[str]) -> dict[str, Any]:
    """Take an answer out of a tool call or a lone wrapping key, unless the schema has such a field."""
    for key in (*_ENVELOPES, *(found if len(found) == 1 else ())):
        inner = found.get(key)
        inner = _decoded(inner) if isinstance(inner, str) else inner
        if key not in fields and isinstance(inner, dict):
            return inner
    return found


def _spans(text: str) -> Iterator[str]:
    """Yield the outermost braced pieces of a text, then the tail after a brace that never closes.

    One pass, so that a hostile text of nothing but braces costs no more than any other.
    """
    depth, start, quoted, escaped = 0, 0, False, False
    for at, char in enumerate(text):
        if quoted:
            quoted, escaped = (char != '"' or escaped), (char == "\\" and not escaped)
        elif char == "{":
            start, depth = (start if depth else at), depth + 1
        elif depth and char == '"':
            quoted = True
        elif depth and char == "}":
            depth -= 1
            if not depth:
                yield text[start : at + 1]
    if depth:
        yield text[start:]


def _decoded(span: str) -> object:
    try:
        return json.loads(span)
    except (ValueError, RecursionError):  # not JSON, or nested beyond reading: no candidate
        return None


def _repaired(span: str) -> object:
    if len(span) > _REPAIRABLE or _tangled(span):
        return None
    try:
        return repair_json(span, return_objects=True, skip_json_loads=True)
    except (ValueError, RecursionError):
        return None


def _tangled(span: str) -> bool:
    """Whether brackets are too deep or too often unmatched for a slip of the pen.

    The time of a repair grows with the square of such faults; brackets within strings count, too,
    since with broken quotes nobody can say where a string ends.
    """
    open_brackets: list[str] = []
    faults = 0
    for char in span:
        if char in "{[":
            open_brackets.append("}" if char == "{" else "]")
        elif char in "}]":
            matched = bool(open_brackets) and open_brackets.pop() == char
            faults += not matched
        if faults + len(open_brackets) > _MOST_TANGLED:
            return True
    return False
