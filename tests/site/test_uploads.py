"""Test uploads and the pages of corpora over real HTTP: complete, cut, hostile, too large, and in use."""

import asyncio
from pathlib import Path

import httpx
import pytest

from tenure.runs import uploads
from tenure.site import forms
from tests.site.conftest import Site
from tests.site.test_api import read_events
from tests.support.tiers import slow
from tests.support.waiting import wait_until

FILES = [("files", (f"{name}.txt", name.encode() * 10)) for name in ("rye", "oats", "barley")]


def list_stored(site: Site) -> list[str]:
    """Return the files below the folder of uploads, also those of uploads that have not ended."""
    folder = site.place.settings.home / "uploads"
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.fixture(autouse=True)
def empty_uploads(site: Site) -> None:
    for name in uploads.list_uploads(site.place.settings):
        uploads.delete_upload(site.place.settings, name)


@slow
async def test_a_program_uploads_and_deletes_a_corpus(site: Site) -> None:
    """Files arrive by POST and are read, GET describes the corpus, and DELETE removes it with its files."""
    async with site.client() as client:
        sent = await client.post("/api/v1/corpora/shelf/files", files=FILES)
        page = await client.get("/corpora/shelf")
        stored = list_stored(site)
        described = await client.get("/api/v1/corpora/shelf", params={"words": "rye"})
        while (gone := await client.delete("/api/v1/corpora/shelf")).status_code == 409:
            assert "ingest-shelf uses corpus shelf" in gone.json()["error"]
        absent = [await client.get("/api/v1/corpora/attic"), await client.delete("/api/v1/corpora/attic")]

    assert (sent.status_code, sent.json()["files"]) == (201, ["rye.txt", "oats.txt", "barley.txt"])
    assert stored == ["shelf/barley.txt", "shelf/oats.txt", "shelf/rye.txt"]
    assert described.json()["documents"][0]["title"] == "Rye"
    assert str(site.place.settings.home / "uploads" / "shelf") in described.json()["paths"]
    assert (page.status_code, "Ask over it" in page.text) == (200, True)
    assert (gone.status_code, gone.json()["corpus"], list_stored(site)) == (200, "shelf", [])
    assert [answer.status_code for answer in absent] == [404, 404]


@slow
async def test_a_corpus_that_a_run_uses_is_kept(site: Site) -> None:
    """The deletion names the run, on the page as well, and succeeds when the run has ended."""
    headers = {"origin": site.origin}
    async with site.client() as client:
        await client.post("/api/v1/runs", json={"question": "wait", "id": "reader", "corpora": ["shelf"]})
        refused = await client.delete("/api/v1/corpora/shelf")
        page = await client.post("/corpora/shelf/delete", headers=headers)
        await client.post("/api/v1/runs/reader/steer", json={"name": "finish"})
        await read_events(client, "reader")
        deleted = await client.post("/corpora/shelf/delete", headers=headers)

    assert (refused.status_code, "reader uses corpus shelf" in refused.json()["error"]) == (409, True)
    assert (page.status_code, "reader uses corpus shelf" in page.text) == (409, True)
    assert (deleted.status_code, deleted.headers["location"]) == (303, "/corpora")


@slow
async def test_a_wrong_field_keeps_the_form_and_its_files(site: Site) -> None:
    """The form returns with its values and the message at the field, and names the corpus with the files."""
    data = {"question": "Why <so>?", "max_cost_usd": "much", "web": "on", "effort": "complex", "pasted": "Kept text"}
    async with site.client(origin=site.origin) as client:
        shown = await client.post("/runs", data=data, files=FILES)
        (corpus,) = uploads.list_uploads(site.place.settings)
        again = await client.post("/runs", data=data | {"max_cost_usd": "", "pasted": "", "corpora": corpus})
        wrong = await client.post("/runs", data={"question": "Why?", "docs": "/no/such/file"})
        report = await client.get("/api/v1" + again.headers["location"] + "/state")

    assert shown.status_code == 422
    assert 'aria-describedby="max_cost_usd-fault"' in shown.text and "Why &lt;so&gt;?" in shown.text
    assert '<option value="complex" selected>' in shown.text and 'name="web" checked' in shown.text
    assert f'name="corpora" value="{corpus}" checked' in shown.text
    assert list_stored(site) == [f"{corpus}/{name}" for name in ("barley.txt", "kept-text.md", "oats.txt", "rye.txt")]
    assert again.status_code == 303
    assert report.json()["corpora"] == [corpus]
    assert '"docs-fault" role="alert">/no/such/file does not exist' in wrong.text


@slow
@pytest.mark.parametrize("cut", ["in a file", "before the end"])
async def test_a_cut_upload_leaves_nothing(site: Site, cut: str) -> None:
    """A connection that ends in a file, and a body without its last boundary, store nothing and start nothing."""
    key = site.client().headers["authorization"]
    body = b'--B\r\ncontent-disposition: form-data; name="files"; filename="a.txt"\r\n\r\n' + b"x" * 200_000
    length = len(body) + (1_000 if cut == "in a file" else 0)
    reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
    head = f"POST /api/v1/corpora/cut/files HTTP/1.1\r\nhost: 127.0.0.1:{site.port}\r\nauthorization: {key}\r\n"
    head += f"content-type: multipart/form-data; boundary=B\r\ncontent-length: {length}\r\n\r\n"
    writer.write(head.encode() + body)
    await writer.drain()
    if cut == "before the end":
        assert b"422" in await reader.readline()
    writer.close()
    await wait_until("the draft is deleted", lambda: list_stored(site), lambda stored: not stored)

    assert uploads.list_uploads(site.place.settings) == ()


@slow
async def test_uploads_are_bounded(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Too much is answered after all of it has arrived, at the field of the page, and leaves nothing."""
    monkeypatch.setattr(uploads, "MAX_FILE_BYTES", 20)
    monkeypatch.setattr(forms, "MAX_BODY_BYTES", 2_000)
    async with site.client(origin=site.origin) as client:
        large = await client.post("/api/v1/corpora/large/files", files=FILES)
        page = await client.post("/runs", data={"question": "Why?"}, files=FILES)
        fields = await client.post("/runs", data={"question": "x" * 3_000}, files=FILES)
        damaged = await client.post(
            "/api/v1/corpora/x/files", content=b"nothing", headers={"content-type": "multipart/form-data; boundary=B"}
        )
        plain = await client.post("/api/v1/corpora/x/files", json={"files": []})

    assert [one.status_code for one in (large, page, fields, damaged, plain)] == [422] * 5
    assert "rye.txt has more than" in large.json()["error"]
    assert 'id="files-fault"' in page.text and "Why?" in page.text
    assert list_stored(site) == []


@slow
async def test_hostile_names_stay_in_the_folder(site: Site, tmp_path: Path) -> None:
    """A name that leads upwards ends below the folder of its corpus, and a hidden file is named as left out."""
    files = [
        ("files", (name, b"x")) for name in ("../../../escaped.txt", "/etc/passwd", "..\\a\\b.txt", ".ssh/id", "ok.md")
    ]
    async with site.client() as client:
        sent = await client.post("/api/v1/corpora/hostile/files", files=files)
        names = [await client.post(f"/api/v1/corpora/{name}/files", files=FILES) for name in ("manual", "a%2Fb", "%20")]

    assert sent.json()["files"] == ["escaped.txt", "etc/passwd", "a/b.txt", "ok.md"]
    assert sent.json()["left_out"] == [".ssh/id"]
    assert [answer.status_code for answer in names] == [422] * 3
    assert {path.partition("/")[0] for path in list_stored(site)} == {"hostile"}


@slow
@pytest.mark.parametrize("headers", [{"origin": "http://evil.example"}, {"sec-fetch-site": "cross-site"}], ids=str)
async def test_pages_of_other_origins_send_and_delete_nothing(site: Site, headers: dict[str, str]) -> None:
    """An upload and a deletion that another page causes are refused before a byte is stored."""
    async with site.client(owner=True, **headers) as client:
        answers = [
            await client.post("/runs", data={"question": "Why?"}, files=FILES),
            await client.post("/api/v1/corpora/shelf/files", files=FILES),
            await client.delete("/api/v1/corpora/shelf"),
            await client.post("/corpora/shelf/delete"),
        ]

    assert [answer.status_code for answer in answers] == [403] * 4
    assert list_stored(site) == []


@slow
async def test_corpora_are_paged_searched_watched_and_read_again(site: Site, tmp_path: Path) -> None:
    """A corpus is read from a folder, searched, read again, watched and no longer watched, by forms."""
    (tmp_path / "a.txt").write_text("Rye.")
    async with site.client(origin=site.origin) as client:

        async def post(path: str, **data: str) -> httpx.Response:
            form = {"include_secrets": ""} | data
            while "is being ingested" in (answer := await client.post(path, data=form)).text:
                pass  # the stub reads within moments
            return answer

        read = await post("/corpora", paths=str(tmp_path), corpus="shelf")
        wrong = await post("/corpora", paths="notes.txt")
        listed = [await client.get("/corpora", params={"words": words}) for words in ("SHE", "attic")]
        again = await post("/corpora/shelf/read")
        watched = await post("/corpora/shelf/watch", every="3600")
        soon = await post("/corpora/shelf/watch", every="1")
        page = await client.get("/corpora/shelf", params={"q": "rye"})
        part = await client.get("/corpora/shelf/documents/s1", params={"of": 9000, "page": 2})
        ended = await post("/corpora/shelf/watch", every="")
        choices = await client.get("/choices", params={"corpora": "kept"})

    assert [one.status_code for one in (read, again, watched, ended)] == [303] * 4
    assert (wrong.status_code, 'id="paths-fault"' in wrong.text, "notes.txt</textarea>" in wrong.text) == (
        422,
        True,
        True,
    )
    assert ["/corpora/shelf" in one.text for one in listed] == [True, False]
    assert (soon.status_code, "at least 1m" in soon.text) == (422, True)
    assert "rye in shelf" in page.text and "Read again every 1:00:00" in page.text
    assert "page 2 of 3" in part.text
    assert 'value="kept" checked' in choices.text and f'name="docs" value="{tmp_path}"' in choices.text


@slow
async def test_memories_are_chosen_by_kind_and_edited(site: Site) -> None:
    """A memory is written and edited by forms, and a text that is refused stays in its form."""
    async with site.client(origin=site.origin) as client:
        written = await client.post("/memories", data={"text": "Rye is grain.", "kind": "semantic"})
        edited = await client.post("/memories", data={"text": "Rye is a grain.", "replaces": "m1"})
        known = await client.post("/memories", data={"text": "Ghent lies on the [Scheldt]."})
        page = await client.get("/memories", params={"shown": "procedural"})
        wrong = await client.get("/memories", params={"shown": "colour"})

    assert (written.status_code, edited.status_code) == (303, 303)
    assert known.status_code == 422
    assert "Ghent lies on the [Scheldt].</textarea>" in known.text and "has this text already" in known.text
    assert '<option value="procedural" selected>' in page.text
    assert wrong.status_code == 422
