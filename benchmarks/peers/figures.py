"""Arithmetic on the ledger of a model server."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.peers.model import is_billed_call
from tests.model_server.ledger import BilledRequest
from tests.model_server.request import read_messages

_IDENTIFIER = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|\b(?:call|chatcmpl|run)[-_][\w-]+|\d{2}:\d{2}(?::\d{2})?[.\d]*")
"""Parts of a prompt that differ between two runs: identifiers and times."""


@dataclass(frozen=True)
class Usage:
    """Calls and tokens of a run."""

    calls: int
    """Answered calls of the chat model."""
    tokens_in: int
    tokens_out: int
    embedded_tokens: int
    """Tokens of the texts that the server embedded."""


def count_usage(entries: Sequence[BilledRequest]) -> Usage:
    """Return the billed calls and tokens."""
    calls = [entry for entry in entries if is_billed_call(entry)]
    return Usage(
        len(calls),
        sum(entry.tokens_in for entry in calls),
        sum(entry.tokens_out for entry in calls),
        sum(entry.tokens_in for entry in entries if not is_billed_call(entry)),
    )


def count_repeated(before: Sequence[BilledRequest], after: Sequence[BilledRequest]) -> tuple[int, int]:
    """Return the number of calls after a crash that repeat an answered call before it, and their tokens."""
    known = Counter(hash_prompt(entry) for entry in before if is_billed_call(entry))
    repeated = tokens = 0
    for entry in filter(is_billed_call, after):
        key = hash_prompt(entry)
        if known[key]:
            known[key] -= 1
            repeated += 1
            tokens += entry.tokens_in + entry.tokens_out
    return repeated, tokens


def hash_prompt(entry: BilledRequest) -> str:
    """Return a hash of a prompt without identifiers and times."""
    messages = [(message.get("role"), message.get("content")) for message in read_messages(entry.request.json)]
    return hashlib.sha256(_IDENTIFIER.sub("", json.dumps(messages)).encode()).hexdigest()
