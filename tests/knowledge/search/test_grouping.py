"""Test grouping the passages of a search on a real knowledge base."""

from pathlib import Path

from tenure.contracts.evidence.passages import PassageRef, SearchRequest
from tenure.contracts.evidence.retrieval import GroupRequest
from tenure.knowledge.base import KnowledgeBase
from tests.knowledge.conftest import Ingest
from tests.support.passages import reference
from tests.support.tiers import slow

TEXTS = {
    "1.md": "Bees dance for nectar.",
    "2.md": "Bees dance on the comb for nectar.",
    "3.md": "Granite is quarried in Norway.",
    "4.md": "The oven bakes loaves.",
    "5.md": "The hot oven bakes loaves.",
    "6.md": "The oven bakes loaves in minutes.",
}


@slow
def test_similar_passages_form_a_group(knowledge: KnowledgeBase, ingest: Ingest, tmp_path: Path) -> None:
    """The densest group comes first, groups keep their order, and single or deleted passages are omitted."""
    for name, text in TEXTS.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    ingest(tmp_path)
    refs = knowledge.retrieval.search(SearchRequest(query="bees oven granite", corpora=("c",), k=9)).passages
    by_number = {Path(p.uri).stem: ref for p, ref in zip(knowledge.corpora.load_passages(refs), refs, strict=True)}
    asked = tuple(by_number[number] for number in "246135")

    def numbers(request: GroupRequest) -> list[str]:
        names: dict[PassageRef, str] = {ref: number for number, ref in by_number.items()}
        return ["".join(names[ref] for ref in group) for group in knowledge.retrieval.group_passages(request)]

    assert numbers(GroupRequest(passages=(*asked, reference(0.5, "gone")))) == ["465", "21"]
    assert numbers(GroupRequest(passages=asked, max_groups=1)) == ["465"]
    assert knowledge.retrieval.group_passages(GroupRequest(passages=())) == ()
