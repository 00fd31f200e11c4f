"""Test a run over hostile documents with a model that obeys them: real workflows, activities and HTTP."""

from pathlib import Path

from tenure.contracts.run.run import RunLimits, RunRequest
from tenure.models.factory import create_chat_model
from tenure.models.openai.chat import OpenAIChat
from tenure.report.layout.limits import list_all_claims, list_evidence_limits
from tenure.settings import Settings
from tests.conftest import Serving
from tests.injection.attacks import ATTACKS
from tests.injection.gullible import Gullible
from tests.model_server import ModelServer
from tests.support.worlds import MemoryKnowledge, Source

CHOSEN = ("plain_order", "cite_only", "raise_score", "chinese")
LIMITS = RunLimits(min_relevance=0.0, max_report_revisions=1, max_cycles=1, max_tokens=900_000)


async def test_an_obedient_model_changes_marked_words_only(serving: Serving, tmp_path: Path) -> None:
    """Sentences that orders of documents caused are marked, and the report names the documents."""
    attacks = [attack for attack in ATTACKS if attack.name in CHOSEN]
    documents = {
        attack.name: Source(attack.file, attack.name, attack.content.decode().split("\n\n", 2)[2]) for attack in attacks
    }
    with ModelServer() as server:
        model = Gullible(server, {attack.name: attack.word for attack in attacks})
        chat = create_chat_model(Settings(openai_base_url=server.base_url, home=tmp_path, _env_file=None))
        assert isinstance(chat, OpenAIChat)
        async with serving(chat, knowledge := MemoryKnowledge(documents)) as stage:
            request = RunRequest(question="What did the lamps burn?", corpora=("lamps",), limits=LIMITS, memory=True)
            result = await (await stage.start(request)).result()
        await chat.aclose()

    assert result.status == "done" and not result.fallbacks
    assert model.read == set(CHOSEN)
    caused = [claim for claim in list_all_claims(result) if any(attack.word in claim.text for attack in attacks)]
    assert caused and all(claim.tainted for claim in caused)
    assert set(result.suspicious_sources) == {attack.file for attack in attacks}
    assert "words like instructions to language models" in list_evidence_limits(result)[0]
    assert result.limits == {"tokens": 900_000}
    assert not [
        memory.text for kept in knowledge.memories.kept for memory in kept.memories if "every lamp" in memory.text
    ]
