"""Measure text recognition: `python -m benchmarks.recognition FOLDER… [--render FOLDER] [--pages N] [--half H]`.

A folder holds pictures with their true text: `NAME.txt` next to a picture, `NAME.xml` in the format ALTO, or the
folders `img` and `box` of the receipts of ICDAR 2019. With `--render`, text files are set as pages and spoiled: noise,
blur, a turn of two degrees, compression. Pictures are taken alternately for choosing parameters (`--half choose`) and
for reporting (`--half report`). If the program `tesseract` is installed, it reads the same pictures.

Errors are edits per character and per word of the truth, and the share of true words that the text lacks in any order.
Seconds are computing time for one page. Confidence is compared with truth: the share of wrong words among those below
the threshold at which reports mark them, and the share of all wrong words that are marked.
"""

import argparse
import io
import json
import re
import resource
import shutil
import subprocess
import tempfile
import time
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import pypdfium2
import typst
from lxml import etree
from PIL import Image, ImageFilter

from tenure.report.citation_numbering import MIN_WORD_CONFIDENCE
from tenure.sources.parsers import recognition
from tenure.sources.parsers.pictures.pixels import load_pixels

PICTURES = (".png", ".jpg", ".tif")
_LOOKALIKES = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "–": "-", "—": "-", "¬": "-"})
_SPLIT = re.compile(r"\w+(?:[.,'-]\w+)*")  # "1,234.56", "don't".


class Sample(NamedTuple):
    """A picture with its true text."""

    picture: Path
    truth: str


@dataclass
class Figures:
    """Errors and cost of one engine on one set."""

    engine: str
    name: str
    pages: int = 0
    character_error: float = 0.0
    word_error: float = 0.0
    words_missing: float = 0.0
    seconds: float = 0.0
    memory_mb: float = 0.0
    """Peak memory of the process."""
    marked_wrong: float | None = None
    """Share of wrong words among the marked ones."""
    wrong_marked: float | None = None
    """Share of marked words among the wrong ones."""
    totals: Counter[str] = field(default_factory=Counter, repr=False)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure all sets and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--render", type=Path, help="folder of text files that are set as pages")
    parser.add_argument("--pages", type=int, default=10, help="pages of each set")
    parser.add_argument("--half", choices=("choose", "report"), default="report")
    parser.add_argument("--language", default="eng", help="language of Tesseract")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as scratch:
        sets = {folder.name: list(list_samples(folder)) for folder in options.folders}
        if options.render:
            sets["rendered"] = list(render(options.render, Path(scratch), 2 * options.pages))
        results = []
        # A child inherits the peak of memory of its parent, so Tesseract comes before the models are loaded.
        for engine in (*(["tesseract"] if shutil.which("tesseract") else []), "tenure"):
            for name, samples in sets.items():
                selected = samples[options.half == "report" :: 2][: options.pages]
                results.append(measure(engine, name, selected, options.language))
                if not options.json:
                    print_line(results[-1])
    if options.json:
        print(json.dumps([{k: v for k, v in asdict(r).items() if k != "totals"} for r in results], indent=1))
    return 0


def list_samples(folder: Path) -> Iterator[Sample]:
    """Yield the pictures below a folder that have a true text, by path."""
    for picture in sorted(path for path in folder.rglob("*") if path.suffix in PICTURES):
        boxes = picture.parent.with_name("box") / f"{picture.stem}.csv"
        if boxes.exists():
            lines = [line.split(",", 8)[8] for line in boxes.read_text("utf-8").splitlines() if line.count(",") > 7]
            yield Sample(picture, "\n".join(lines))
        elif (alto := picture.with_suffix(".xml")).exists():
            yield Sample(picture, "\n".join(etree.parse(alto).xpath("//*[local-name()='String']/@CONTENT")))
        elif (text := picture.with_suffix(".txt")).exists():
            yield Sample(picture, text.read_text("utf-8", errors="replace"))


def render(folder: Path, scratch: Path, count: int) -> Iterator[Sample]:
    """Yield the first page of text files, each spoiled in one of four ways."""
    generator = np.random.default_rng(1)
    for n, file in enumerate(
        sorted(file for file in folder.rglob("*") if file.suffix in (".txt", ".rst", ".md"))[:count]
    ):
        # No words that typst would break at the end of a line.
        words = re.sub(r"[^\w.,;:()'\"% -]", " ", file.read_text("utf-8", errors="replace")[:4000]).split()
        text = " ".join(words)[:1800]
        source = scratch / f"{n}.typ"
        source.write_text(f'#set page("a4")\n#set text(size: 11pt, hyphenate: false)\n#{json.dumps(text)}\n', "utf-8")
        document = pypdfium2.PdfDocument(typst.compile(source, format="pdf"))
        truth = document[0].get_textpage().get_text_bounded()
        picture = spoil(document[0].render(scale=150 / 72).to_pil().convert("L"), n % 4, generator)
        picture.save(scratch / f"{n}.png")
        yield Sample(scratch / f"{n}.png", truth)


def spoil(picture: Image.Image, way: int, generator: np.random.Generator) -> Image.Image:
    """Return a page with noise (0), blur (1), a turn of two degrees (2) or strong compression (3)."""
    if way == 0:
        noise = generator.normal(0, 40, (picture.height, picture.width))
        return Image.fromarray(np.clip(np.asarray(picture) + noise, 0, 255).astype(np.uint8))
    if way == 1:
        return picture.filter(ImageFilter.GaussianBlur(1.2))
    if way == 2:
        return picture.rotate(2, expand=True, fillcolor=255, resample=Image.Resampling.BICUBIC)
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", quality=12)
    return Image.open(buffer).convert("L")


def measure(
    engine: Literal["tenure", "tesseract"] | str, name: str, samples: Sequence[Sample], language: str
) -> Figures:
    """Read all pictures of a set with an engine."""
    figures = Figures(engine, name)
    for picture, truth in samples:
        doubtful: list[tuple[str, bool]] = []
        began = _measure_cpu(engine)
        if engine == "tesseract":
            run = subprocess.run(
                ["tesseract", picture, "-", "-l", language], capture_output=True, text=True, check=True
            )
            text = run.stdout
        else:
            with Image.open(picture) as opened:
                lines = recognition.recognize(load_pixels(opened))
            text = "\n".join(line.text for line in lines)
            doubtful = [(w.text, w.confidence < MIN_WORD_CONFIDENCE) for line in lines for w in line.words]
        figures.seconds += _measure_cpu(engine) - began
        if truth == truth.upper():  # the receipts, whatever their print
            text, doubtful = text.upper(), [(word.upper(), is_marked) for word, is_marked in doubtful]
        count_errors(figures.totals, normalize(text), normalize(truth), doubtful)
        figures.pages += 1
    totals = figures.totals
    figures.character_error = totals["character edits"] / totals["characters"]
    figures.word_error = totals["word edits"] / totals["words"]
    figures.words_missing = totals["words missing"] / totals["words"]
    figures.seconds /= figures.pages
    who = resource.RUSAGE_CHILDREN if engine == "tesseract" else resource.RUSAGE_SELF
    figures.memory_mb = resource.getrusage(who).ru_maxrss / 1024
    if engine == "tenure":
        figures.marked_wrong = totals["wrong and marked"] / max(totals["marked"], 1)
        figures.wrong_marked = totals["wrong and marked"] / max(totals["wrong"], 1)
    return figures


def _measure_cpu(engine: str) -> float:
    if engine != "tesseract":
        return time.process_time()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def count_errors(totals: Counter[str], text: str, truth: str, words: Sequence[tuple[str, bool]]) -> None:
    """Add the errors of a page; `words` are recognized words, each with whether it is marked."""
    text_words, true_words = text.split(), truth.split()
    vocabulary = {word: n for n, word in enumerate(dict.fromkeys([*text_words, *true_words]))}
    totals["characters"] += len(truth)
    totals["character edits"] += compute_distance([*map(ord, text)], [*map(ord, truth)])
    totals["words"] += len(true_words)
    totals["word edits"] += compute_distance([vocabulary[w] for w in text_words], [vocabulary[w] for w in true_words])
    totals["words missing"] += sum((Counter(true_words) - Counter(text_words)).values())
    known = set(_SPLIT.findall(truth))
    for word, is_marked in words:
        for part in _SPLIT.findall(normalize(word)):
            totals["marked"] += is_marked
            totals["wrong"] += part not in known
            totals["wrong and marked"] += is_marked and part not in known


def normalize(text: str) -> str:
    """Return a text in which the forms of quotes, dashes and white space do not count."""
    return " ".join(unicodedata.normalize("NFKC", text).translate(_LOOKALIKES).split())


def compute_distance(a: Sequence[int], b: Sequence[int]) -> int:
    """Return the Levenshtein distance."""
    steps = np.arange(len(b) + 1)
    row, other = steps.copy(), np.asarray(b)
    for n, item in enumerate(a, 1):
        best = np.minimum(row[1:] + 1, row[:-1] + (other != item)) if len(b) else row[1:]
        # Insertions: each cell is at most one more than the cell before it.
        row = np.minimum.accumulate(np.concatenate(([n], best)) - steps) + steps
    return int(row[-1])


def print_line(figures: Figures) -> None:
    """Print the figures of a set and an engine on one line."""
    errors = f"{figures.character_error:.2%} of characters, {figures.word_error:.2%} of words"
    cost = f"{figures.seconds:.2f} s/page, {figures.memory_mb:.0f} MB"
    marks = (
        ""
        if figures.marked_wrong is None
        else (f"; marked words wrong {figures.marked_wrong:.0%}, wrong words marked {figures.wrong_marked:.0%}")
    )
    print(
        f"{figures.name} {figures.engine}: {figures.pages} pages, errors {errors}, words missing "
        f"{figures.words_missing:.2%}; {cost}{marks}",
        flush=True,
    )


if __name__ == "__main__":
    raise SystemExit(main())
