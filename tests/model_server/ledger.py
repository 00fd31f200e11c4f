"""Bills of the model server, and its prompt cache."""

import hashlib
import json
from dataclasses import dataclass

from tests.model_server.request import Request, count_message_tokens, read_messages
from tests.support.schema_instance import Json


@dataclass(eq=False)
class BilledRequest:
    """Cost of one answered request."""

    schema_name: str
    model: str
    tokens_in: int
    tokens_out: int
    request: Request
    delivered: bool = True
    """Whether the client received the whole answer; an undelivered answer is billed as well."""
    tokens_cached: int = 0
    """Number of `tokens_in` from the cache."""

    @property
    def usage(self) -> Json:
        """Usage in the form of Chat Completions and Embeddings."""
        total = self.tokens_in + self.tokens_out
        usage: Json = {"prompt_tokens": self.tokens_in, "completion_tokens": self.tokens_out, "total_tokens": total}
        return usage | ({"prompt_tokens_details": {"cached_tokens": self.tokens_cached}} if self.tokens_cached else {})

    def mark_undelivered(self) -> None:
        """Record that the client did not receive the answer."""
        self.delivered = False


class PromptCache:
    """Prefixes of earlier prompts, message by message, for each model."""

    def __init__(self) -> None:
        self._known: set[bytes] = set()

    def read(self, request: Json) -> int:
        """Return the number of cached tokens of a prompt, and cache the whole prompt."""
        beginning = hashlib.sha256(str(request["model"]).encode())
        known, unbroken = 0, True
        for message, count in zip(read_messages(request), count_message_tokens(request), strict=True):
            beginning.update(json.dumps(message).encode())
            unbroken = unbroken and beginning.digest() in self._known
            known += count if unbroken else 0
            self._known.add(beginning.digest())
        return known
