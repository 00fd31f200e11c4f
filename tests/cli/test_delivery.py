"""Test the delivery of a finished run."""

import stat
import webbrowser
from dataclasses import replace
from pathlib import Path

import docx
import pytest

from tenure.cli.delivery import Delivery
from tenure.contracts.base import RunId
from tenure.contracts.result.result import Result
from tenure.contracts.run.run import Usage
from tenure.runs.errors import InvalidRequest, Unreachable
from tests.report.samples import full

FAILED = Result(
    id=RunId("r"),
    mode="RESEARCH",
    question="Why?",
    title="Half a report",
    abstract="",
    usage=Usage(),
    decisions=("Ended because a step failed permanently: OPENAI_API_KEY is not accepted",),
    status="failed",
)


def asked(output: Path | None = None, kind: str | None = None, style: str = "numeric") -> Delivery:
    """Return the delivery that the options of a command ask for."""
    return Delivery(output=output, format=kind, citations=style)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "kind", "beginning"),
    [
        ("r.md", None, "# Why the sea moves"),
        ("r", None, "# Why the sea moves"),
        ("r.html", None, "<!DOCTYPE html>"),
        ("r.HTM", None, "<!DOCTYPE html>"),
        ("r.pdf", None, "%PDF-"),
        ("r.bib", None, "@misc{moon,"),
        ("r.json", None, "{"),
        ("r.json", "csl", "["),
        ("r.csl.json", None, "["),
        ("r.txt", "html", "<!DOCTYPE html>"),
    ],
)
def test_the_format_is_asked_for_or_told_by_the_file(
    tmp_path: Path, name: str, kind: str | None, beginning: str
) -> None:
    """A format that is named counts more than the end of the file's name, which counts more than nothing."""
    assert asked(tmp_path / name, kind).deliver(full()) == 0
    assert (tmp_path / name).read_bytes().decode(errors="replace").startswith(beginning)


@pytest.mark.parametrize(("kind", "beginning"), [("html", "<!DOCTYPE html>"), ("bibtex", "@misc"), ("csl", "[\n")])
def test_a_format_of_text_goes_to_standard_output(
    kind: str, beginning: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a file a page or a bibliography is printed."""
    asked(kind=kind).deliver(full())

    assert capsys.readouterr().out.startswith(beginning)


def test_citations_have_the_requested_style(capsys: pytest.CaptureFixture[str]) -> None:
    """Author-year marks are in the printed text."""
    asked(style="author-year").deliver(full())

    assert "(Author 2024)" in capsys.readouterr().out


@pytest.mark.parametrize("kind", ["pdf", "docx"])
def test_a_binary_format_without_a_file_is_refused(tmp_path: Path, kind: str) -> None:
    """Before anything runs, a PDF or a Word document for standard output is refused with what to do instead."""
    with pytest.raises(InvalidRequest, match="add -o FILE"):
        asked(kind=kind)
    asked(tmp_path / f"r.{kind}", kind)


def test_the_suffix_of_a_file_selects_word(tmp_path: Path) -> None:
    """A file name that ends in `.docx` gets a Word document."""
    asked(tmp_path / "r.docx").deliver(full())

    assert docx.Document(str(tmp_path / "r.docx")).paragraphs[0].text == "Why the sea moves"


def test_a_failed_run_hands_over_what_it_has_with_the_reason(capsys: pytest.CaptureFixture[str]) -> None:
    """The report goes to standard output, its reason as one line to standard error, and the code is 1."""
    code = asked().deliver(FAILED)
    printed = capsys.readouterr()

    assert code == 1
    assert printed.err == f"error: {FAILED.decisions[0]}\n"
    assert "# Half a report" in printed.out


class Browser(webbrowser.BaseBrowser):
    """Browser of a test with a list of opened addresses."""

    def __init__(self, *, works: bool) -> None:
        super().__init__()
        self.works = works
        self.opened: list[str] = []

    def open(self, url: str, new: int = 0, autoraise: bool = True) -> bool:
        self.opened.append(url)
        return self.works


@pytest.fixture
def browsers(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the browsers of this machine, none by default."""
    names: list[str] = []
    monkeypatch.setattr(webbrowser, "_tryorder", names)
    monkeypatch.setattr(webbrowser, "_browsers", {})
    return names


def test_a_report_is_opened_as_a_private_page(tmp_path: Path, browsers: list[str]) -> None:
    """Without a file the page is below the home, readable for its owner alone; an id cannot leave the folder."""
    browser = Browser(works=True)
    webbrowser.register("test", None, browser)
    result = full().model_copy(update={"id": RunId("../r x")})

    asked().open_report(result, tmp_path)

    page = tmp_path / "reports" / "..%2Fr%20x.html"
    assert browser.opened == [page.as_uri()]
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    assert stat.S_IMODE(page.parent.stat().st_mode) == 0o700


def test_a_named_file_is_opened(tmp_path: Path, browsers: list[str]) -> None:
    """With `-o` the browser opens that file, also a PDF."""
    browser = Browser(works=True)
    webbrowser.register("test", None, browser)

    asked(tmp_path / "r.pdf").open_report(full(), tmp_path / "home")

    assert browser.opened == [(tmp_path / "r.pdf").as_uri()]
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize("broken", [False, True])
def test_a_machine_without_a_browser_is_told_where_the_report_is(
    tmp_path: Path, browsers: list[str], broken: bool
) -> None:
    """Whether no browser is installed or none starts, one line names the file, which is written."""
    if broken:
        webbrowser.register("test", None, Browser(works=False))

    with pytest.raises(Unreachable, match=r"no browser that can be started; the report is in .*r\.html"):
        asked(tmp_path / "r.html").open_report(full(), tmp_path)
    assert (tmp_path / "r.html").exists()


@pytest.mark.parametrize("wrong", [{"format": "md"}, {"json": True}, {"output": Path("r.docx")}])
def test_only_pages_can_be_opened(wrong: dict[str, object]) -> None:
    """Formats that a browser does not show are refused before anything runs."""
    with pytest.raises(InvalidRequest, match="--open shows an HTML page"):
        replace(asked(), **wrong).check_opening()  # type: ignore[arg-type]
    asked().check_opening()
    asked(Path("r.pdf")).check_opening()


def test_a_report_on_a_terminal_ends_with_its_answer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Quotes and record are left to -v and to files; the answer is repeated below a report that fills the window."""
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("LINES", "10")
    asked().deliver(full())
    shown = capsys.readouterr()
    Delivery(verbosity="verbose").deliver(full())
    whole = capsys.readouterr().out

    assert "Quotes" not in shown.out and "Quotes" in whole
    assert "--proofs only`" in shown.err
    assert shown.out.count("Short answer:") == 2 and whole.count("Short answer:") == 1
    assert shown.out.rindex("Short answer:") > shown.out.index("References")
