"""A small system for tests: two calls about a passage, of which it keeps the first answer in its folder."""

import json
import os
import urllib.request

from benchmarks.peers.starters.task import MODEL, PassageIndex, read_task


def ask(prompt: str) -> str:
    """Return the answer of the model."""
    body = {"model": MODEL, "messages": [{"role": "user", "content": prompt}]}
    request = urllib.request.Request(
        f"{os.environ['OPENAI_BASE_URL']}/chat/completions",
        json.dumps(body).encode(),
        {"content-type": "application/json"},
    )
    with urllib.request.urlopen(request) as reply:
        return str(json.load(reply)["choices"][0]["message"]["content"])


def main() -> None:
    """Answer the question of the command line."""
    task = read_task()
    notes = task.folder / "notes.txt"
    if not (task.resume and notes.exists()):
        found = PassageIndex(task.documents).search(task.question, 4)
        passages = "\n\n".join(f"Source: {one.path.name}\n{one.text}" for one in found)
        notes.write_text(ask(f"Answer the question.\n\n{task.question}\n\n{passages}"))
    task.save(ask(f"Write a report.\n\n{task.question}\n\n{notes.read_text()}"))


if __name__ == "__main__":
    main()
