"""Model server of a drill: its answers depend only on the prompt, also after a request for a correction."""

import json
from collections import Counter
from dataclasses import replace

from benchmarks.support.drill.accounting import Prompt
from tests.model_server import ModelServer, Request
from tests.support.schema_instance import Json


class PromptModelServer(ModelServer):
    """Model server that gives a correction the answer of the prompt that it corrects.

    Args:
        known: prompts of an undisturbed run.
    """

    def __init__(self, known: "Counter[Prompt]") -> None:
        super().__init__()
        self._known = known

    def _build_instance(self, request: Request) -> str | Json:
        base = Prompt.of(request).find_base(self._known)
        messages = [json.loads(message) for message in base.messages]
        return super()._build_instance(replace(request, json={**request.json, "messages": messages}))
