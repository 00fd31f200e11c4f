"""Measure the search in several languages: `python -m benchmarks.languages FOLDER [--search MODE] [--mixed] [--json]`.

The folder has a subfolder for each language with pages in Markdown, as the sources of a translated manual have. The
rule is the same for all languages: each section with enough text is a document without its heading, and its heading is
the question. A heading that several sections share is no question. With `--mixed` all languages are in one corpus.

By default only the words are searched, so the vectors are arbitrary and cost no time. `--search dense` and `--search
hybrid` use the embedding model of the settings, such as `TENURE_EMBEDDING_MODEL=multilingual`.
"""

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from benchmarks.languages.arbitrary_vectors import DENSE, ArbitraryVectors
from benchmarks.retrieval import Bench, Row, kept_or_thrown_away, measure
from benchmarks.support.datasets import Collection, Document, Question
from tenure.settings import Settings
from tenure.sources.parsers.formats.markdown import parse_markdown

MIN_BODY_CHARACTERS = 150
"""Minimum length of the text of a section; Chinese, which is denser, has a third of it."""
MIN_QUESTION_CHARACTERS = 12
"""Minimum length of a heading that is a question; of Chinese a third."""
MAX_QUESTIONS = 250
"""Questions of a language, spread over its sections."""
_HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)
_ANCHOR = re.compile(r"\s*\{\s*#[\w-]+\s*\}")  # "{ #query-parameters }" after a heading.


def read_language(folder: Path) -> Collection:
    """Return the sections of the pages below a folder, and their headings as questions."""
    sections = {
        f"{folder.name}/{file.relative_to(folder)}#{n}": (heading, body)
        for file in sorted([*folder.rglob("*.md"), *folder.rglob("*.mdx")])
        for n, (heading, body) in enumerate(split_sections(parse_markdown(file.read_text(encoding="utf-8")).text))
    }
    counts = Counter(heading for heading, _ in sections.values())
    asked = [key for key, (heading, _) in sections.items() if counts[heading] == 1 and is_question(heading)]
    step = max(1, -(-len(asked) // MAX_QUESTIONS))
    return Collection(
        name=folder.name,
        documents={key: Document("", body) for key, (_, body) in sections.items()},
        questions=tuple(Question(sections[key][0], {key: 1.0}) for key in asked[::step]),
    )


def split_sections(text: str) -> Iterator[tuple[str, str]]:
    """Yield heading and text of each section with enough text; a section ends at the next heading."""
    pieces = _HEADING.split(text)
    for heading, body in zip(pieces[1::2], pieces[2::2], strict=True):
        if measure_length(body) >= MIN_BODY_CHARACTERS:
            yield _ANCHOR.sub("", heading).replace("`", "").strip(), body.strip()


def is_question(heading: str) -> bool:
    """Return whether a heading is long enough for a question."""
    return measure_length(heading) >= MIN_QUESTION_CHARACTERS


def measure_length(text: str) -> int:
    """Return the number of characters; one of a dense script counts as three."""
    return len(text) + 2 * len(DENSE.findall(text))


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.languages", description=__doc__)
    parser.add_argument("folder", type=Path, help="folder with a subfolder for each language")
    parser.add_argument("--language", action="append", help="subfolder to measure; default all")
    parser.add_argument("--search", action="append", choices=("sparse", "dense", "hybrid"), help="default sparse")
    parser.add_argument("--mixed", action="store_true", help="search all languages as one corpus")
    parser.add_argument("--home", type=Path, help="keep the knowledge bases here for the next time")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    folders = sorted(folder for folder in arguments.folder.iterdir() if folder.is_dir())
    collections = [read_language(f) for f in folders if not arguments.language or f.name in arguments.language]
    with kept_or_thrown_away(arguments.home) as home:
        modes = tuple(dict.fromkeys(arguments.search or ["sparse"]))
        bench = Bench(home, Settings(), model=ArbitraryVectors() if modes == ("sparse",) else None)
        rows = list(measure([c for c in collections if c.questions], modes, bench, arguments.mixed))
    sizes = {one.name: (len(one.documents), len(one.questions)) for one in collections}
    if arguments.json:
        print(json.dumps([_document(row, *sizes[row.collection]) for row in rows]))
        return
    print(f"{'language':10}{'search':>8}{'sections':>9}{'questions':>10}{'ndcg_10':>9}{'recall_10':>10}{'ms':>7}")
    for row in rows:
        values, (documents, questions) = row.halves["all"], sizes[row.collection]
        print(
            f"{row.collection:10}{row.strategy:>8}{documents:9}{questions:10}{values.ndcg_10:9.1f}{values.recall_10:10.1f}"
            f"{row.median_ms:7.1f}"
        )


def _document(row: Row, sections: int, questions: int) -> dict[str, object]:
    values = row.halves["all"]._asdict()
    return {"language": row.collection, "search": row.strategy, "sections": sections, "questions": questions, **values}


if __name__ == "__main__":
    main()
