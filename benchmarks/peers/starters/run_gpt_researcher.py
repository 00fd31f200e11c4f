"""GPT Researcher on local documents, as its documentation describes: `report_source="local"` with `DOC_PATH`.

Its reader of Markdown downloads a language model when it is first used. The same pages as plain text need none.
"""

import asyncio
import os
import shutil

from benchmarks.peers.starters.task import EMBEDDING_MODEL, MODEL, Task, read_task

_SETTINGS = {
    "FAST_LLM": f"openai:{MODEL}",
    "SMART_LLM": f"openai:{MODEL}",
    "STRATEGIC_LLM": f"openai:{MODEL}",
    "EMBEDDING": f"custom:{EMBEDDING_MODEL}",
    "RETRIEVER": "custom",
    "REPORT_SOURCE": "local",
}
"""Settings from its documentation for a server with OpenAI's protocol."""


async def write_report(task: Task) -> str:
    """Research and write."""
    # It reads its settings from the environment when it is imported.
    from gpt_researcher import GPTResearcher

    researcher = GPTResearcher(query=task.question, report_type="research_report", report_source="local", verbose=False)
    await researcher.conduct_research()
    return str(await researcher.write_report())


def main() -> None:
    """Answer the question of the command line."""
    task = read_task()
    texts = task.folder / "texts"
    texts.mkdir(exist_ok=True)
    for page in task.documents.glob("*.md"):
        shutil.copy(page, texts / f"{page.stem}.txt")
    os.environ.update(_SETTINGS, DOC_PATH=str(texts))
    # Also a local report begins with a web search; this address finds nothing.
    os.environ["RETRIEVER_ENDPOINT"] = f"{os.environ['OPENAI_BASE_URL']}/search"
    task.save(asyncio.run(write_report(task)))


if __name__ == "__main__":
    main()
