"""STORM with a retriever of its own interface over local documents, and the stages that its documentation names.

The sections find their passages with an embedding model that would be downloaded; the server of the models embeds
instead. A killed process is continued with the files of the finished stages, as the arguments of `run` describe.
"""

import json
import os
from pathlib import Path
from typing import Any

import dspy
import numpy as np
from knowledge_storm import STORMWikiLMConfigs, STORMWikiRunner, STORMWikiRunnerArguments
from knowledge_storm.lm import LitellmModel
from knowledge_storm.storm_wiki.modules import storm_dataclass

from benchmarks.peers.starters.task import MODEL, PassageIndex, Task, embed, read_task

_TOKENS = {"conv_simulator": 500, "question_asker": 500, "outline_gen": 400, "article_gen": 700, "article_polish": 4000}
"""Limits of the answers of each part, from its documentation."""
_STAGES = (
    ("do_research", "conversation_log.json"),
    ("do_generate_outline", "storm_gen_outline.txt"),
    ("do_generate_article", "storm_gen_article.txt"),
    ("do_polish_article", "storm_gen_article_polished.txt"),
)
"""Stages with the files that they leave."""


class DocumentRetriever(dspy.Retrieve):  # type: ignore[misc]
    """Retriever over local documents.

    Args:
        index: passages of the documents.
        k: number of passages of a query.
    """

    def __init__(self, index: PassageIndex, k: int) -> None:
        super().__init__(k=k)
        self._index = index

    def forward(self, query_or_queries: Any, exclude_urls: Any = None) -> list[dict[str, Any]]:
        """Return passages in the form of its other retrievers."""
        queries = [query_or_queries] if isinstance(query_or_queries, str) else query_or_queries
        found = {passage.text: passage for query in queries for passage in self._index.search(query, self.k)}
        return [
            {"url": passage.path.name, "title": passage.path.stem, "description": "", "snippets": [passage.text]}
            for passage in found.values()
        ]


class EndpointEncoder:
    """Embedding model of a name, replaced by the server of the models."""

    def __init__(self, name: str) -> None:
        self.name = name

    def encode(self, texts: str | list[str]) -> Any:
        """Return the vector of a text, or the vectors of several."""
        vectors = np.array(embed([texts] if isinstance(texts, str) else texts))
        return vectors[0] if isinstance(texts, str) else vectors


def configure_models() -> STORMWikiLMConfigs:
    """Return the models of all parts."""
    configs = STORMWikiLMConfigs()
    server = {"api_key": os.environ["OPENAI_API_KEY"], "api_base": os.environ["OPENAI_BASE_URL"]}
    for part, tokens in _TOKENS.items():
        model = LitellmModel(model=f"openai/{MODEL}", max_tokens=tokens, **server)
        getattr(configs, f"set_{part}_lm")(model)
    return configs


def select_stages(folder: Path) -> dict[str, bool]:
    """Return for each stage whether it has to run: all from the first one whose file is missing."""
    missing = [not list(folder.glob(f"*/{file}")) for _, file in _STAGES]
    return {name: any(missing[: at + 1]) for at, (name, _) in enumerate(_STAGES)}


def write_report(task: Task) -> str:
    """Research and write."""
    storm_dataclass.SentenceTransformer = EndpointEncoder
    output = task.folder / "storm"
    runner = STORMWikiRunner(
        STORMWikiRunnerArguments(output_dir=str(output)),
        configure_models(),
        DocumentRetriever(PassageIndex(task.documents), 3),
    )
    stages = select_stages(output) if task.resume else dict.fromkeys((name for name, _ in _STAGES), True)
    runner.run(topic=task.question, **stages)
    runner.post_run()
    folder = Path(runner.article_output_dir)
    article = (folder / "storm_gen_article_polished.txt").read_text(encoding="utf-8")
    numbers = json.loads((folder / "url_to_info.json").read_text(encoding="utf-8"))["url_to_unified_index"]
    references = "\n".join(f"- [{number}] {url}" for url, number in numbers.items())
    return f"{article}\n\n## References\n\n{references}\n"


def main() -> None:
    """Answer the question of the command line."""
    task = read_task()
    task.save(write_report(task))


if __name__ == "__main__":
    main()
