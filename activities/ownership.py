"""Check who asks for an activity, and that everything named in its request belongs to this owner.

The tokens are known to the worker only through its settings. Without tokens everyone who reaches the Temporal server
may do everything.
"""

import asyncio
import inspect
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextvars import ContextVar
from functools import cache
from typing import Any, Literal, get_args

from pydantic import BaseModel
from temporalio import activity
from temporalio.api.common.v1 import Payload
from temporalio.exceptions import ApplicationError
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput

from tenure.contracts.base import ChunkId, Contract, RunId, SourceId
from tenure.contracts.evidence.corpora import CorpusRequest, IngestRequest
from tenure.contracts.evidence.tables import get_database_corpus
from tenure.contracts.evidence.web import ReadPagesRequest
from tenure.document_roots import MANUAL
from tenure.ownership import (
    HEADER,
    MAX_PROOF_AGE_SECONDS,
    Operation,
    Proof,
    WorkflowStart,
    compute_digest,
    get_owner,
    is_genuine,
    sign_operation,
)
from tenure.settings import Settings

OWNER_REFUSED = "OwnerRefused"
"""The request is not proved by an owner, or names something of another owner."""

UNPROVED = "this worker serves owners only: set TENURE_OWNER and TENURE_OWNER_TOKEN, and check the clock"
"""Message for a request without a valid proof; it does not say what is wrong with a proof."""

RESULTS_SUFFIX = " (results)"
"""Suffix of the corpus with the results of queries and tools over a corpus."""

MANUAL_CORPUS = "manual"
"""Corpus of the manual, which all owners share."""

OPEN_ACTIVITIES = frozenset(
    (
        *("compact_tables", "refresh_indexes", "remove_old_versions", "consolidate_memories"),
        *("archive_missing_runs", "check_signal"),
    )
)
"""Activities without a proof: the worker's own upkeep, which returns numbers only, and the check of proofs itself."""

ResourceKind = Literal["run", "corpus", "chunk", "source", "owner"]

FindCorpora = Callable[[Collection[str], Collection[str]], Collection[str]]
"""Function that returns the corpora of chunks and of sources."""

_MAX_NONCES = 100_000
_CORPUS_FIELDS = frozenset(("corpus", "corpora", "web_corpus"))
_ID_TYPES: Mapping[object, ResourceKind] = {RunId: "run", ChunkId: "chunk", SourceId: "source"}
_readable: ContextVar[Callable[[str], bool] | None] = ContextVar("readable", default=None)


class SignalCheck(Contract):
    """Request to check the sender of a signal."""

    proof: Proof
    """Proof in the header of the signal."""
    operation: Operation
    """The signal as the workflow received it."""


class Owners:
    """Owners of a worker and their tokens.

    Args:
        tokens: tokens by owner; empty if there are no owners.
        default_owner: owner of everything whose name contains no owner; empty for no owner.
        databases: names of databases, which all owners share.
        clock: function that returns the time in seconds since the epoch.
    """

    def __init__(
        self,
        tokens: Mapping[str, str],
        default_owner: str = "",
        databases: Collection[str] = (),
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._tokens, self._default_owner, self._clock = tokens, default_owner, clock
        self._shared = {MANUAL_CORPUS, *map(get_database_corpus, databases)}
        self._nonces: dict[str, tuple[str, float]] = {}
        self._lock = threading.Lock()

    @classmethod
    def from_settings(cls, settings: Settings) -> "Owners":
        """Return the owners of the settings."""
        tokens = {name: token.get_secret_value() for name, token in settings.owners.items()}
        return cls(tokens, settings.default_owner, settings.databases)

    @property
    def are_configured(self) -> bool:
        """Whether there are owners, so that every request needs a proof."""
        return bool(self._tokens)

    def sign(self, start: WorkflowStart, operation: Operation, issued: int, nonce: str) -> Proof | None:
        """Return a proof for what a workflow calls, or None if the start of the workflow is not proved."""
        if not self._is_start_proved(start):
            return None
        owner = start.proof.owner
        return sign_operation(self._tokens[owner], owner, operation, issued, nonce)

    def check_activity(self, proof: Proof | None, operation: Operation) -> str:
        """Return the owner who asks for an activity.

        Raises:
            ApplicationError: the activity is not proved.
        """
        if proof is None or not self._is_genuine(proof, operation):
            raise refuse(UNPROVED)
        return proof.owner

    def check_message(self, proof: Proof | None, operation: Operation, started: float) -> str:
        """Return the reason for which an update or query is refused, or an empty string.

        A query must be recent. An update, which other people can read in the history, must be later than the start of
        its workflow; the server executes an update of the same id, which the proof covers, only once.
        """
        if not self._tokens:
            return ""
        now = self._clock()
        earliest = started if operation.kind == "update" else now
        if proof is None or not self._is_genuine(proof, operation) or not _is_made_between(proof, earliest, now):
            return UNPROVED
        return "" if self.may_use(operation.target, proof.owner) else f"{operation.target} belongs to another owner"

    def check_signal(self, check: SignalCheck) -> bool:
        """Return whether the sender of a signal is the owner of the workflow."""
        if not self._tokens:
            return True
        target = get_owner(check.operation.target)
        mine = target in (None, check.proof.owner)
        return mine and check.operation.kind == "signal" and self._is_genuine(check.proof, check.operation)

    def may_use(self, name: str, owner: str) -> bool:
        """Return whether a run or corpus belongs to an owner."""
        return (get_owner(name) or self._default_owner) == owner

    def is_owner(self, name: str, owner: str) -> bool:
        """Return whether the name of an owner in a request, empty for none, means this owner."""
        return (name or self._default_owner) == owner

    def may_read(self, corpus: str, owner: str) -> bool:
        """Return whether an owner may read a corpus: an own corpus, or a corpus that all owners share."""
        return corpus.removesuffix(RESULTS_SUFFIX) in self._shared or self.may_use(corpus, owner)

    def _is_start_proved(self, start: WorkflowStart) -> bool:
        proof, target = start.proof, get_owner(start.operation.target)
        if not proof.is_start or not self._is_genuine(proof, start.operation):
            return False
        if target != proof.owner and not (proof.kind == "child" and target is None):
            return False
        if proof.kind == "schedule":
            return True
        started = start.started / 1000
        # A replay of a proof starts another execution of the same workflow.
        return _is_made_between(proof, started, started) and self._claim_nonce(proof.nonce, start.run)

    def _is_genuine(self, proof: Proof, operation: Operation) -> bool:
        token = self._tokens.get(proof.owner)
        return token is not None and proof.kind == operation.kind and is_genuine(token, proof, operation)

    def _claim_nonce(self, nonce: str, holder: str) -> bool:
        """Return whether a nonce is new or was claimed by the same holder."""
        now = self._clock()
        with self._lock:
            known = self._nonces.get(nonce)
            if known is not None:
                return known[0] == holder
            if len(self._nonces) >= _MAX_NONCES:
                oldest = now - 2 * MAX_PROOF_AGE_SECONDS
                self._nonces = {name: claim for name, claim in self._nonces.items() if claim[1] >= oldest}
            self._nonces[nonce] = holder, now
            return True


def _is_made_between(proof: Proof, earliest: float, latest: float) -> bool:
    """Return whether a proof was made between two times in seconds, by a clock that may differ."""
    return earliest - MAX_PROOF_AGE_SECONDS <= proof.issued / 1000 <= latest + MAX_PROOF_AGE_SECONDS


class OwnerActivities:
    """Activities that workflows use to check proofs."""

    def __init__(self, owners: Owners) -> None:
        """Check proofs with the tokens of `owners`."""
        self._owners = owners

    @activity.defn
    async def check_signal(self, check: SignalCheck) -> bool:
        """Return whether the sender of a signal is the owner of the workflow."""
        return self._owners.check_signal(check)


class OwnerActivityInterceptor(ActivityInboundInterceptor):
    """Interceptor that refuses activities without a proof, and requests that name what belongs to another owner."""

    def __init__(self, next: ActivityInboundInterceptor, owners: Owners, find_corpora: FindCorpora) -> None:
        """Check requests with the tokens of `owners`, and passages by the corpora that `find_corpora` returns."""
        super().__init__(next)
        self._owners, self._find_corpora = owners, find_corpora

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        """Check an activity, then execute it on behalf of its owner."""
        info = activity.info()
        if not self._owners.are_configured or info.activity_type in OPEN_ACTIVITIES:
            return await super().execute_activity(input)
        operation = Operation(
            kind="activity",
            name=info.activity_type,
            target=info.workflow_id or "",
            namespace=info.namespace,
            digest=compute_digest(input.args),
        )
        owner = self._owners.check_activity(decode_proof(input.headers), operation)
        await self._check_request(input, owner)
        mark = _readable.set(lambda corpus: self._owners.may_read(corpus, owner))
        try:
            return await super().execute_activity(input)
        finally:
            _readable.reset(mark)

    async def _check_request(self, input: ExecuteActivityInput, owner: str) -> None:
        """Refuse a request that names anything of another owner, or that changes what all owners share.

        Raises:
            ApplicationError: it does.
        """
        arguments = dict(zip(inspect.signature(input.fn).parameters, input.args, strict=False))
        found: dict[ResourceKind, set[str]] = {kind: set() for kind in get_args(ResourceKind)}
        for kind, name in iterate_resources(arguments):
            found[kind].add(name)
        for run in sorted(found["run"]):
            if run and not self._owners.may_use(run, owner):
                raise refuse(f"run {run} belongs to another owner")
        for name in sorted(found["owner"]):
            if not self._owners.is_owner(name, owner):
                raise refuse(f"memories of {name or 'runs without an owner'} belong to another owner")
        may_use = self._owners.may_use if _changes_corpus(input.args) else self._owners.may_read
        for corpus in sorted(found["corpus"]):
            if corpus and not may_use(corpus, owner):
                raise refuse(f"corpus {corpus} belongs to another owner")
        if found["chunk"] or found["source"]:
            corpora = await asyncio.to_thread(self._find_corpora, found["chunk"], found["source"])
            if not all(self._owners.may_read(corpus, owner) for corpus in corpora):
                raise refuse("a passage of the request belongs to another owner")


def iterate_resources(value: object) -> Iterator[tuple[ResourceKind, str]]:
    """Yield the runs, corpora, passages, sources and owners that a request names, at any depth."""
    if isinstance(value, BaseModel):
        kinds = _find_resource_fields(type(value))
        for name in type(value).model_fields:
            part = getattr(value, name)
            if name in kinds:
                yield from ((kinds[name], text) for text in _iterate_texts(part))
            yield from iterate_resources(part)
    elif isinstance(value, Mapping):
        for name, part in value.items():
            if name in _CORPUS_FIELDS:
                yield from (("corpus", text) for text in _iterate_texts(part))
            yield from iterate_resources(part)
    elif isinstance(value, list | tuple | set | frozenset):
        for part in value:
            yield from iterate_resources(part)


def is_readable(corpus: str) -> bool:
    """Return whether the owner of the current activity may read a corpus; without owners everyone may."""
    readable = _readable.get()
    return readable is None or readable(corpus)


def refuse(message: str) -> ApplicationError:
    """Return the error for a refused request."""
    return ApplicationError(message, type=OWNER_REFUSED, non_retryable=True)


def decode_proof(headers: Mapping[str, Payload]) -> Proof | None:
    """Return the proof in headers, or None if there is none or it is malformed."""
    if HEADER not in headers:
        return None
    try:
        return Proof.model_validate_json(headers[HEADER].data)
    except ValueError:
        return None


@cache
def _find_resource_fields(model: type[BaseModel]) -> Mapping[str, ResourceKind]:
    """Return the fields of a model that name resources: by the type of an id, or by the name of the field."""
    found: dict[str, ResourceKind] = {}
    for name, field in model.model_fields.items():
        types = set(_iterate_types(field.annotation))
        kind = next((kind for type_, kind in _ID_TYPES.items() if type_ in types), None)
        if kind or name in _CORPUS_FIELDS or name == "owner":
            found[name] = kind or ("owner" if name == "owner" else "corpus")
    return found


def _iterate_types(annotation: object) -> Iterator[object]:
    yield annotation
    for part in get_args(annotation):
        yield from _iterate_types(part)


def _iterate_texts(value: object) -> Iterator[str]:
    """Yield a text, or the texts in a collection."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, part in value.items():
            yield from _iterate_texts(name)
            yield from _iterate_texts(part)
    elif isinstance(value, list | tuple | set | frozenset):
        for part in value:
            yield from _iterate_texts(part)


def _changes_corpus(arguments: Sequence[object]) -> bool:
    """Return whether a request changes the documents of a corpus; the manual may be read again by everyone."""
    for request in arguments:
        if isinstance(request, IngestRequest):
            return request.corpus != MANUAL_CORPUS or request.paths != (str(MANUAL),)
        if isinstance(request, ReadPagesRequest) or (isinstance(request, CorpusRequest) and request.action == "drop"):
            return True
    return False
