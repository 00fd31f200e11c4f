"""Ask ten questions on figures: `python -m benchmarks.figures PAPERS [--blind] [--only TEXT] [--keep FOLDER]`.

PAPERS is a folder with the papers that `questions.toml` names. Each question is a whole run on all of them, with a
loopback model server that reads the figure of the question as a person has read it. The table states whether the figure
was shown, whether its value is in a sentence of the report that cites the reading with its page, and whether the
report has the picture as HTML, PDF and Word. With `--blind` the model takes no pictures.
"""

import argparse
import io
import json
import subprocess
import sys
import tempfile
import uuid
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pypdfium2
import pypdfium2.raw as pdfium

from benchmarks.figures.model import FigureModel, FigureQuestion, load_questions
from benchmarks.start import environment
from tenure.contracts.result.result import Result
from tenure.contracts.run.run import Usage
from tenure.report.layout.limits import list_all_claims

_CLIENT: Final = (sys.executable, str(Path(__file__).resolve().parents[2] / "client.py"))


def measure(papers: Path, questions: list[FigureQuestion], home: Path, *, sees: bool) -> list[dict[str, Any]]:
    """Answer the questions; return what the model was shown for each and what the report has of it."""
    with FigureModel(sees=sees) as model:
        around = environment(home) | model.environment
        try:
            found = []
            for question in questions:
                model.begin_question(question)
                found.append(_measure_run(question, papers, model, around, home.parent))
                print(json.dumps(found[-1], ensure_ascii=False), flush=True)
            return found
        finally:
            subprocess.run([*_CLIENT, "down"], env=around, check=True, stdout=subprocess.DEVNULL)


def _measure_run(
    question: FigureQuestion, papers: Path, model: FigureModel, around: Mapping[str, str], folder: Path
) -> dict[str, Any]:
    run = f"figures-{uuid.uuid4().hex[:8]}"
    asked = ("start", question.question, "--id", run, "--docs", str(papers), "--effort", "simple", "--mode", "research")
    result = Result.model_validate_json(_call((*asked, "--no-memory", "--json"), around))
    claims = [claim for claim in list_all_claims(result) if question.answer in claim.text]
    cited = [citation for claim in claims for citation in claim.citations if citation.from_picture]
    usage = result.usage.by_role.get("picture_reader", Usage())
    return {
        "figure": f"{question.figure} of {question.file}",
        "shown": any(question.figure in caption for caption in model.captions),
        "pictures": len(model.shown),
        "stated": bool(claims),
        "cited": any(citation.place == question.figure for citation in cited),
        "page": any(citation.page == question.page for citation in cited),
        "formats": [name for name in _FORMATS if _has_picture(run, name, around, folder)],
        "picture_calls": usage.model_calls,
        "picture_tokens": usage.tokens_in + usage.tokens_out,
        "notes": [note for note in result.notes if "icture" in note],
    }


def _call(words: tuple[str, ...], around: Mapping[str, str]) -> bytes:
    done = subprocess.run([*_CLIENT, *words], env=around, capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words[:2])} ended with code {done.returncode}: {done.stderr.decode()[-400:]}")
    return done.stdout


def _has_picture(run: str, name: str, around: Mapping[str, str], folder: Path) -> bool:
    """Return whether a report has a picture in a format."""
    path = folder / f"{run}.{name}"
    _call(("report", run, "-o", str(path)), around)
    return _FORMATS[name](path.read_bytes())


def _is_in_pdf(data: bytes) -> bool:
    with pypdfium2.PdfDocument(data) as document:
        return any(any(page.get_objects((pdfium.FPDF_PAGEOBJ_IMAGE,))) for page in document)


def _is_in_docx(data: bytes) -> bool:
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        return any(name.startswith("word/media/") for name in package.namelist())


_FORMATS: Final = {"html": lambda data: b"data:image/jpeg" in data, "pdf": _is_in_pdf, "docx": _is_in_docx}


def main() -> int:
    """Run from the command line; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.figures", description=__doc__)
    parser.add_argument("papers", type=Path, metavar="PAPERS", help="folder with the papers")
    parser.add_argument("--blind", action="store_true", help="the model takes no pictures")
    parser.add_argument("--only", default="", metavar="TEXT", help="questions whose file and figure contain a text")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="folder of the home and the reports; kept")
    given = parser.parse_args()
    questions = [entry for entry in load_questions() if given.only in f"{entry.figure} of {entry.file}"]
    if missing := {entry.file for entry in questions if not (given.papers / entry.file).exists()}:
        print(f"missing in {given.papers}: {', '.join(sorted(missing))}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="tenure-benchmark-") as temporary:
        folder = given.keep or Path(temporary)
        found = measure(given.papers, questions, folder / "home", sees=not given.blind)
    for name in ("shown", "stated", "cited", "page"):
        print(f"{name}: {sum(row[name] for row in found)} of {len(found)}")
    print(
        f"picture in HTML, PDF and Word: {sum(len(row['formats']) == len(_FORMATS) for row in found)} of {len(found)}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
