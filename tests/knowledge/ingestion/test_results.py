"""Test texts on the result of a run, which are stored once."""

from collections.abc import Mapping
from unittest.mock import patch

from tenure.contracts.result.ask import ResultText
from tenure.knowledge.base import KnowledgeBase
from tenure.knowledge.ingestion.batches import WriteBatch
from tenure.sources.parsers.reader_process import ParsedFile

TEXTS = {
    "run:r/The task": ResultText(title="The task", text="The loaf is *flat*."),
    "run:r/The work": ResultText(title="The work", text="The oven was cold for the whole night."),
    "run:r/Nothing": ResultText(title="Nothing", text="<!-- -->"),
}


def test_texts_of_a_result_are_written_once(knowledge: KnowledgeBase) -> None:
    """Later questions read the stored passages, nearest first; only a text that is new or has changed is written."""
    changed = TEXTS | {"run:r/The work": ResultText(title="The work", text="The oven was hot.")}
    written: list[str] = []
    add = WriteBatch.add

    def note(batch: WriteBatch, file: ParsedFile, is_known: bool) -> None:
        written.append(file.path)
        add(batch, file, is_known)

    def ask(question: str, texts: Mapping[str, ResultText] = TEXTS) -> list[str]:
        passages = knowledge.results.store_texts("change/r", texts, question)
        assert passages[0].relevance > passages[1].relevance
        return [passage.text for passage in knowledge.corpora.load_passages(passages)]

    with patch.object(WriteBatch, "add", note):
        loaf, oven = ask("Why is the loaf flat?")
        assert written == [*TEXTS]
        assert ask("Was the oven cold in the night?") == [oven, loaf]
        assert written == [*TEXTS]
        assert ask("Was the oven cold in the night?", changed) == ["The oven was hot.", loaf]

    assert (loaf, oven) == ("The loaf is flat.", "The oven was cold for the whole night.")
    assert written == [*TEXTS, "run:r/The work"]
