"""What the model server billed, and what of a prompt it had read before."""

import hashlib
import json
from dataclasses import dataclass

from tests.model_server.request import Request, message_tokens, messages
from tests.schema_instance import Json


@dataclass(eq=False)
class Billed:
    """What one answered request costs."""

    schema_name: str
    model: str
    tokens_in: int
    tokens_out: int
    request: Request
    delivered: bool = True
    """Whether the answer reached its client whole; one that did not is paid all the same."""
    tokens_cached: int = 0
    """How many of `tokens_in` the server had read before."""

    @property
    def usage(self) -> Json:
        """The bill as Chat Completions and Embeddings write it."""
        total = self.tokens_in + self.tokens_out
        usage: Json = {"prompt_tokens": self.tokens_in, "completion_tokens": self.tokens_out, "total_tokens": total}
        return usage | ({"prompt_tokens_details": {"cached_tokens": self.tokens_cached}} if self.tokens_cached else {})

    def lost(self) -> None:
        """Note that the answer did not reach its client."""
        self.delivered = False


class PromptCache:
    """Beginnings of prompts that were read before, message by message, for each model."""

    def __init__(self) -> None:
        self._known: set[bytes] = set()

    def read(self, request: Json) -> int:
        """Return how many tokens of a prompt are known, and know all of them from now on."""
        beginning = hashlib.sha256(str(request["model"]).encode())
        known, unbroken = 0, True
        for message, count in zip(messages(request), message_tokens(request), strict=True):
            beginning.update(json.dumps(message).encode())
            unbroken = unbroken and beginning.digest() in self._known
            known += count if unbroken else 0
            self._known.add(beginning.digest())
        return known
