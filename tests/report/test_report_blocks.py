"""A whole run with a model whose writers use every form of text, from the prompt to each format of the report."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tenure.contracts.result.result import Result
from tenure.report.render.html import render_html
from tests.model_server import ModelServer
from tests.model_server.request import read_messages
from tests.report.render.test_pdf import words
from tests.support.homes import Home, modelled_home
from tests.support.schema_instance import Json
from tests.support.tiers import slow

pytestmark = slow

QUESTION = "Which of the workflow engines Alder, Birch and Cedar should a team choose?"
DOCUMENTS = {
    "alder.md": """\
# Alder

Alder is a workflow engine that replays the history of a workflow after a crash. Alder needs a server and a worker.
Alder limits a payload to two megabytes. Alder retries a failed activity without an end.

```python
@alder.workflow
def greet(name):
    return alder.call(say_hello, name)
```
""",
    "birch.md": """\
# Birch

Birch is a workflow engine that stores each step of a workflow in a table of Postgres. Birch needs a Postgres database.
Birch limits a payload to two megabytes. Birch retries a failed activity three times.
""",
    "cedar.md": """\
# Cedar

Cedar is a workflow engine that is a library. Cedar needs nothing but a folder for its journal.
Cedar limits a payload to two megabytes. Cedar runs on one machine only.
""",
}
ENGINES = ("Alder", "Birch", "Cedar")
NEEDS = {"Alder": "server and worker", "Birch": "Postgres database", "Cedar": "folder for its journal"}
RETRIES = {"Alder": "without an end", "Birch": "three times"}


def number_passages(request: Json) -> dict[str, int]:
    """Return the number of the first passage of each engine in a prompt."""
    prompt = read_messages(request)[-1]["content"]
    found = re.findall(r'<document title="(\w+)"[^>]*>\n<passage n="(\d+)"', prompt)
    return {engine: int(number) for engine, number in reversed(found)}


def write_report(request: Json) -> str:
    """Return a report with each form of a block."""
    a, b, c = (number_passages(request)[engine] for engine in ENGINES)
    rows = "\n".join(
        f"| **{engine}** | {NEEDS[engine]} [{n}] | {RETRIES.get(engine, '–')} {f'[{n}]' if engine in RETRIES else ''} "
        f"| two megabytes [{n}] |"
        for engine, n in zip(ENGINES, (a, b, c), strict=True)
    )
    return f"""\
# Choosing between Alder, Birch and Cedar

Birch suits a team with Postgres, Cedar one machine [{b}, {c}]. How often Cedar retries is not known [?].

| | Needs | Retries | Payload |
|---|---|---|---|
{rows}

## How the engines work

All three limit a payload to **two megabytes** [{a}, {b}, {c}]. They differ in how they recover:

- Alder replays the history of a workflow after a crash. [{a}]
- Birch stores each step of a workflow in a table of Postgres [{b}].

### How to begin

1. Define the workflow with `@alder.workflow` [{a}].

```python [{a}]
@alder.workflow
def greet(name):
    return alder.call(say_hello, name)
```

No passage says how Cedar begins [?].

## What follows

- A team that has a Postgres database should choose Birch [{b}, i].
- A team with one machine should choose Cedar [{c}, i].

## What is not known

- How often Cedar retries [?] (search: retries of Cedar)
"""


def support_all(request: Json) -> Json:
    """Return verdicts that support each claim."""
    numbers = re.findall(r"^(\d+)\. ", read_messages(request)[-1]["content"], re.MULTILINE)
    return {"verdicts": [{"claim": int(n), "verdict": "supported", "confidence": 0.9} for n in numbers]}


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    """Model server whose writers use every form of text."""
    with ModelServer() as server:
        server.on("router", {"mode": "RESEARCH", "complexity": "moderate", "query_type": "comparative", "reason": "?"})
        server.on("outliner", {"topics": [{"heading": "How the engines work", "question": QUESTION}]})
        server.on("report_writer", write_report)
        server.on("claim_checker", support_all)
        yield server


@pytest.fixture(scope="module")
def modelled(tmp_path_factory: pytest.TempPathFactory, model: ModelServer) -> Iterator[Home]:
    """Return a home whose models are on a loopback server."""
    with modelled_home(tmp_path_factory.mktemp("modelled"), model) as made:
        yield made


@pytest.fixture(scope="module")
def result(modelled: Home, tmp_path_factory: pytest.TempPathFactory) -> Result:
    """Return the result of one run over three documents."""
    folder = tmp_path_factory.mktemp("documents")
    for name, text in DOCUMENTS.items():
        (folder / name).write_text(text, encoding="utf-8")
    done = modelled.run("start", QUESTION, "--docs", str(folder), "--max-cycles", "1", "--json")
    assert done.returncode == 0, done.stderr
    return Result.model_validate_json(done.stdout)


def test_the_document_has_every_form_of_text(result: Result) -> None:
    """Cells, lists and code are claims with verbatim quotes; gaps and lead-ins have none."""
    (section,) = result.sections
    assert {claim.begins for claim in section.claims} == {"paragraph", None, "bullet", "number", "code"}
    assert {claim.kind for claim in section.claims} == {"fact", "lead_in", "gap"}
    assert result.synthesis is not None
    closing = [claim.kind for claim in result.synthesis.claims]
    assert closing.count("inference") == 2
    assert all(claim.citations for claim in result.synthesis.claims if claim.kind != "gap")
    assert not any(claim.status in ("missing_citation", "invalid_source") for claim in section.claims)


def test_markdown_reads_from_the_answer_to_the_gaps(result: Result, modelled: Home, tmp_path: Path) -> None:
    """The report opens with the answer and the comparison, and closes with recommendations and gaps."""
    done = modelled.run("report", result.id)
    headings = re.findall(r"^## (.*)$", done.stdout, re.MULTILINE)

    assert headings[:5] == ["Abstract", "Comparison", "How the engines work", "What follows", "What is not known"]
    assert "|  | Needs | Retries |" in done.stdout
    assert "Payload (Alder, Birch, Cedar):** two megabytes [" in done.stdout
    assert "```\n@alder.workflow\ndef greet(name):\n    return alder.call(say_hello, name)\n```" in done.stdout
    assert "### How to begin" in done.stdout
    assert "[unsourced]" not in done.stdout and "\\@" not in done.stdout


def test_pages_and_pdf_show_the_same(result: Result, modelled: Home, tmp_path: Path) -> None:
    """HTML has a table, a definition list and code; the PDF has their words."""
    html = render_html(result)
    for element in (
        '<table class="matrix">',
        "<dl>",
        "<ol>",
        '<figure class="code">',
        "<strong>two megabytes</strong>",
    ):
        assert element in html
    file = tmp_path / "report.pdf"
    assert modelled.run("report", result.id, "-o", str(file)).returncode == 0
    text = words(file.read_bytes())
    for part in ("What follows", "What is not known", "server and worker", "alder.call(say_hello, name)"):
        assert part in text
