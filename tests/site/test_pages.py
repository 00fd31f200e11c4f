"""The templates of the page, for states that no run of the other tests stays in."""

from pathlib import Path
from typing import Any

from pydantic import SecretStr

from tenure.contracts.base import RunId, SourceId
from tenure.contracts.evidence.corpora import IngestProgress, SheetRow, SheetWindow, StoredPassage
from tenure.contracts.result.ask import AskReply
from tenure.contracts.run.limits import EFFORT_COSTS
from tenure.runs.messages import RunConversation, RunDetails
from tenure.runs.service import Service
from tenure.runs.session.server_target import locate_server
from tenure.settings import Settings
from tenure.site.pages import _list_options
from tenure.site.rendering import render
from tests.report.samples import answer


def test_page_of_a_run_shows_the_embedding_that_it_waits_for() -> None:
    """The embedding is shown in chunks, and the reading in files."""
    details = RunDetails(
        id="one",
        started="",
        seen="",
        question="Why?",
        status="running",
        is_running=True,
        is_completed=False,
        is_archived=False,
        ingest=IngestProgress(stage="embedding", embedded=120, to_embed=400, files_total=7),
        setups=("the set-up runs, 2:13 of at most 30:00: <make>",),
    )
    values: dict[str, Any] = {
        "run_id": "one",
        "details": details,
        "progress": None,
        "phase": "",
        "usage": "",
        "temporal": "",
        "summary": None,
        "has_patch": False,
    }
    page = bytes(render("live.html.jinja", **values).body)

    assert b"embedding: 120 of 400 chunks" in page
    assert b'max="400" value="120"' in page
    assert b"the set-up runs, 2:13 of at most 30:00: &lt;make&gt;" in page
    assert b"files" not in page and "· 0:00".encode() not in page


def test_the_form_shows_the_cost_of_an_effort(tmp_path: Path) -> None:
    """With a model each effort names its typical cost, and without one nothing costs anything."""
    settings = Settings(home=tmp_path, _env_file=None)
    offline = Service(locate_server(settings))
    priced = settings.model_copy(update={"openai_api_key": SecretStr("k"), "model": "m"})
    options = _list_options(Service(locate_server(priced)))

    assert options["model"] == "m" and options["efforts"][1][1] == f"simple: {EFFORT_COSTS['simple'].describe()}"
    assert (_list_options(offline)["model"], _list_options(offline)["efforts"][1]) == ("", ("simple", "simple"))


def test_an_answer_is_shown_as_a_report_is() -> None:
    """Citation marks open their quotes and lead to the sources below the answer."""
    conversation = RunConversation(exchanges=(), latest=answer("<b>Why?"))
    page = bytes(render("conversation.html.jinja", run_id="one", conversation=conversation).body).decode()

    assert 'popovertarget="answer-cite-1"' in page and "<mark>The sea rises twice a day.</mark>" in page
    assert '<a href="#answer-source-2">' in page and 'id="answer-source-2">[2]</span> <em>On tides</em>' in page
    assert "<b>Why" not in page


def test_a_question_that_only_a_change_could_answer_gets_no_advice_to_search() -> None:
    """A second search has documents to read, or is not offered."""
    reply = AskReply(run=RunId("one"), question="Why?", standalone_question="Why?", status="no_evidence")
    texts = reply.model_copy(update={"has_documents": False})
    pages = [
        bytes(render("conversation.html.jinja", run_id="one", conversation=RunConversation(latest=latest)).body)
        for latest in (reply, texts)
    ]

    assert [b"or search again" in page for page in pages] == [True, False]
    assert b"use the words of its report or its files" in pages[1]
    forms = [
        bytes(render("chat.html.jinja", run_id="one", conversation=RunConversation(has_documents=has)).body)
        for has in (True, False)
    ]
    assert [b'name="search_again"' in form for form in forms] == [True, False]


def test_a_source_shows_its_page_or_why_not() -> None:
    """The picture of the page is shown with words for those who do not see it, or else the reason in a sentence."""
    passage = StoredPassage(source=SourceId("a"), title="Bread", uri="/a.pdf", text="rye", page=2, picture="UklGRg==")
    changed = passage.model_copy(update={"picture": "", "no_picture": "has changed since it was read"})
    shown, missing, text = (
        bytes(render("source.html.jinja", run_id="one", passage=one).body).decode()
        for one in (passage, changed, passage.model_copy(update={"picture": ""}))
    )

    assert 'src="data:image/webp;base64,UklGRg==" alt="Page 2 of Bread with the quoted words marked"' in shown
    assert "Its place is not shown: the file has changed since it was read." in missing
    assert "<img" not in missing + text and "not shown" not in text
    assert all("<mark>rye</mark>" in page for page in (shown, missing, text))


def test_a_slide_and_the_cells_of_a_sheet_are_shown() -> None:
    """A drawing says that it is one, and cells are a table with the letters of columns, numbers of rows and a mark."""
    slide = StoredPassage(
        source=SourceId("a"),
        title="Bread",
        uri="/a.pptx",
        text="rye",
        page=2,
        picture="PA==",
        picture_type="image/svg+xml",
    )
    window = SheetWindow(
        sheet="Costs",
        label="sheet Costs, cell B7",
        columns=("A", "B"),
        rows=(SheetRow(number=1, cells=("Item", "Price")), SheetRow(number=7, cells=("Rye <b>", "4"))),
        marked_rows=(7, 7),
        marked_columns=("B",),
    )
    sheet = StoredPassage(source=SourceId("a"), title="Bread", uri="/a.xlsx", text="4", window=window)

    drawn, cells = (
        bytes(render("source.html.jinja", run_id="one", passage=one).body).decode() for one in (slide, sheet)
    )

    assert 'src="data:image/svg+xml;base64,PA==" alt="Slide 2 of Bread with the quoted words marked"' in drawn
    assert "its colours and fonts are not shown" in drawn
    assert '<th scope="row">7</th><td dir="auto">Rye &lt;b&gt;</td><td dir="auto"><mark>4</mark></td>' in cells
    assert '<th scope="col">B</th>' in cells and "<caption>Sheet Costs</caption>" in cells
    assert "sheet Costs, cell B7" in cells
