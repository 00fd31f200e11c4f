"""Local Deep Research with its Python interface and a retriever of LangChain, as its documentation describes.

The strategy is that of its quick summaries; its interface without accounts has no way to continue a killed run.
"""

import os
from typing import Any

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from local_deep_research.api import quick_summary
from local_deep_research.api.settings_utils import create_settings_snapshot

from benchmarks.peers.starters.task import MODEL, PassageIndex, Task, read_task


class DocumentRetriever(BaseRetriever):  # type: ignore[misc]
    """Retriever over local documents."""

    index: Any
    """Passages of the documents."""

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return [
            Document(passage.text, metadata={"title": passage.path.name, "source": passage.path.name})
            for passage in self.index.search(query, 5)
        ]


def write_report(task: Task) -> str:
    """Research and write."""
    settings = create_settings_snapshot(
        overrides={
            "llm.provider": "openai_endpoint",
            "llm.model": MODEL,
            "llm.openai_endpoint.url": os.environ["OPENAI_BASE_URL"],
            "llm.openai_endpoint.api_key": os.environ["OPENAI_API_KEY"],
            "search.tool": "documents",
        }
    )
    result = quick_summary(
        query=task.question,
        settings_snapshot=settings,
        retrievers={"documents": DocumentRetriever(index=PassageIndex(task.documents))},
        search_tool="documents",
        programmatic_mode=True,
    )
    return str(result["formatted_findings"] or result["summary"])


def main() -> None:
    """Answer the question of the command line."""
    task = read_task()
    task.save(write_report(task))


if __name__ == "__main__":
    main()
