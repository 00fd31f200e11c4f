"""Tests of the document roots of a worker."""

import json
import os
import pwd
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tenure.document_roots import (
    MANUAL,
    ROOTS_FILE,
    DocumentRoots,
    PathRefused,
    RootsError,
    add_document_roots,
    make_run_scope,
    remove_document_roots,
)


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """Return a folder that is named as a root."""
    folder = tmp_path / "data"
    folder.mkdir()
    return folder


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a home."""
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


def listed(home: Path) -> list[str]:
    """Return the list of a home."""
    found: dict[str, list[str]] = json.loads((home / ROOTS_FILE).read_text())
    assert set(found) == {"c"}
    return found["c"]


def test_without_a_root_only_the_manual_is_read(tmp_path: Path) -> None:
    """A worker without roots refuses every path except its own manual."""
    roots = DocumentRoots(home=tmp_path)

    assert roots.resolve([str(MANUAL)], "c") == (MANUAL,)
    with pytest.raises(PathRefused, match="TENURE_DOCUMENT_ROOTS"):
        roots.resolve([str(tmp_path)], "c")


def test_a_command_adds_a_root_for_a_running_worker(home: Path, docs: Path) -> None:
    """The list of the home is read at every check, and only its user can read it."""
    roots = DocumentRoots(home=home)
    with pytest.raises(PathRefused):
        roots.resolve([str(docs)], "c")

    add_document_roots(home, ["c"], [docs])

    assert roots.resolve([str(docs / "a" / "b.md")], "c") == (docs / "a" / "b.md",)
    assert stat.S_IMODE((home / ROOTS_FILE).stat().st_mode) == 0o600
    assert [path.name for path in home.iterdir() if ".json." in path.name] == []


@pytest.mark.parametrize(
    "path",
    [
        "{data}base",
        "{data}base/a.md",
        "{data}/../secret",
        "{data}/./../data/../secret",
        "{data}/link/passwd",
        "{data}/link",
        "{data}/.hidden",
        "{data}/sub/.ssh/id",
        "{DATA}",
        "/",
        "//etc",
        "/proc/self/root/etc/passwd",
        "data",
        "~/data",
        "",
        "{data}\0/etc",
        "file://{data}",
        "{data} ",
        "/dev/fd/0",
    ],
)
def test_only_paths_inside_a_root_are_read(docs: Path, path: str) -> None:
    """Neighbours with the same prefix, parents, links, hidden parts, another case and relative paths are outside."""
    (docs / "link").symlink_to("/etc")

    with pytest.raises(PathRefused) as caught:
        DocumentRoots([docs]).resolve([path.format(data=docs, DATA=str(docs).upper())], "c")

    assert "\n" not in str(caught.value)


def test_a_link_to_a_root_is_resolved(tmp_path: Path, docs: Path) -> None:
    """The returned path contains no link, so that replacing the link after the check has no effect."""
    link = tmp_path / "link"
    link.symlink_to(docs)

    assert DocumentRoots([docs]).resolve([str(link / "a.md")], "c") == (docs / "a.md",)


def test_a_root_that_becomes_a_link_opens_nothing(tmp_path: Path, home: Path, docs: Path) -> None:
    """A root is the place that was named, not what its name leads to later."""
    add_document_roots(home, ["c"], [docs])
    roots = DocumentRoots([docs], home)
    docs.rename(tmp_path / "moved")
    docs.symlink_to("/etc")

    with pytest.raises(PathRefused):
        roots.resolve([str(docs)], "c")
    assert roots.select([str(docs / "passwd")], "c") == frozenset()


def test_a_root_around_the_home_does_not_open_the_home(tmp_path: Path, home: Path) -> None:
    """Keys and databases of the home stay closed; a folder of the home can be named separately."""
    (home / "docs").mkdir()
    roots = DocumentRoots([tmp_path, home / "docs"], home)

    assert roots.resolve([str(home / "docs" / "a.md")], "c") == (home / "docs" / "a.md",)
    for path in (home, home / "stack.key"):
        with pytest.raises(PathRefused):
            roots.resolve([str(path)], "c")


def test_a_hidden_folder_can_be_named_itself(tmp_path: Path, home: Path, docs: Path) -> None:
    """A person may name a hidden folder, although it is closed as a part of another root."""
    hidden = docs / ".notes"
    add_document_roots(home, ["c"], [docs, hidden])

    assert DocumentRoots(home=home).resolve([str(hidden / "a.md")], "c") == (hidden / "a.md",)
    assert listed(home) == [str(docs), str(hidden)]


def test_a_list_keeps_no_path_below_another_one(home: Path, docs: Path) -> None:
    """A folder replaces its parts, and parts of a known folder are not added."""
    add_document_roots(home, ["c"], [docs / "a", docs / "b"])
    add_document_roots(home, ["c"], [docs])
    add_document_roots(home, ["c"], [docs / "c"])

    assert listed(home) == [str(docs)]


def test_concurrent_commands_lose_no_root(home: Path, docs: Path) -> None:
    """Commands that add roots at the same time wait for each other."""
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda number: add_document_roots(home, ["c"], [docs / f"{number:02}"]), range(24)))

    assert listed(home) == [str(docs / f"{number:02}") for number in range(24)]


def test_no_home_is_created(tmp_path: Path, docs: Path) -> None:
    """A client of a server elsewhere has no home that a worker reads."""
    add_document_roots(tmp_path / "none", ["c"], [docs])

    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("mode", [0o622, 0o606, 0o620])
def test_a_list_that_others_can_change_is_refused(home: Path, docs: Path, mode: int) -> None:
    """A list that another user may write to allows nothing."""
    add_document_roots(home, ["c"], [docs])
    (home / ROOTS_FILE).chmod(mode)

    with pytest.raises(RootsError, match="other users"):
        DocumentRoots(home=home).resolve([str(docs)], "c")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_list_of_another_user_is_refused(home: Path, docs: Path) -> None:
    """A list that belongs to another user allows nothing."""
    add_document_roots(home, ["c"], [docs])
    os.chown(home / ROOTS_FILE, 65534, 65534)

    with pytest.raises(RootsError, match="other users"):
        DocumentRoots(home=home).resolve([str(docs)], "c")


@pytest.mark.parametrize(
    "text", ["{", '"/"', '["/"]', '{"c": "/"}', '{"c": ["/", 1]}', '{"c": ["relative"]}', '{"c": [null]}', "\xff"]
)
def test_a_damaged_list_is_refused(home: Path, docs: Path, text: str) -> None:
    """A damaged list allows nothing and is not overwritten."""
    file = home / ROOTS_FILE
    file.write_bytes(text.encode("latin-1"))
    file.chmod(0o600)

    with pytest.raises(RootsError, match="damaged"):
        DocumentRoots(home=home).resolve([str(docs)], "c")
    with pytest.raises(RootsError, match="damaged"):
        add_document_roots(home, ["c"], [docs])


def test_a_list_is_not_followed_through_a_link(tmp_path: Path, home: Path, docs: Path) -> None:
    """A link in place of the list is neither read nor written through."""
    other = tmp_path / "other.json"
    other.write_text('{"c": ["/"]}')
    (home / ROOTS_FILE).symlink_to(other)

    with pytest.raises(RootsError, match="cannot be read"):
        DocumentRoots(home=home).resolve([str(docs)], "c")
    with pytest.raises(RootsError, match="cannot be read"):
        add_document_roots(home, ["c"], [docs])
    assert other.read_text() == '{"c": ["/"]}'


def test_a_root_for_each_owner_is_open_to_this_owner_alone(tmp_path: Path) -> None:
    """The folder of one owner is closed to others, and cannot be replaced by a link to another place."""
    link = tmp_path / "link"
    link.symlink_to(tmp_path)
    for owner in ("ann", "bob"):
        (tmp_path / owner).mkdir()
    roots = DocumentRoots([link / "{owner}"], owner="ann")

    assert roots.resolve([str(tmp_path / "ann" / "a.md")], "c") == (tmp_path / "ann" / "a.md",)
    for other in (DocumentRoots([link / "{owner}"], owner="bob"), DocumentRoots([link / "{owner}"])):
        with pytest.raises(PathRefused):
            other.resolve([str(tmp_path / "ann")], "c")
        assert other.select([str(tmp_path / "ann" / "a.csv")], "c") == frozenset()
    (tmp_path / "ann").rmdir()
    (tmp_path / "ann").symlink_to("/etc")
    for path in ("/etc/passwd", str(tmp_path / "ann" / "passwd"), str(tmp_path / "{owner}")):
        with pytest.raises(PathRefused):
            roots.resolve([path], "c")


def test_a_path_of_one_owner_is_closed_to_others(home: Path, docs: Path) -> None:
    """Corpora of the same name belong to different people, and each has a list of its own."""
    add_document_roots(home, ["c"], [docs], "ann")
    roots = {owner: DocumentRoots(home=home, owner=owner) for owner in ("ann", "bob", "")}

    assert roots["ann"].resolve([str(docs)], "c") == (docs,)
    for owner in ("bob", ""):
        with pytest.raises(PathRefused):
            roots[owner].resolve([str(docs)], "c")
    with pytest.raises(PathRefused):
        roots["ann"].resolve([str(home / "owner-bob" / "knowledge")], "c")
    remove_document_roots(home, "c", "ann")
    with pytest.raises(PathRefused):
        roots["ann"].resolve([str(docs)], "c")


def test_a_root_is_open_to_the_corpus_that_it_was_named_for(home: Path, docs: Path) -> None:
    """A later request for another corpus, or a program of a run, reads nothing that an earlier request has named."""
    (docs / "a").mkdir()
    roots = DocumentRoots(home=home)
    add_document_roots(home, ["ann~first"], [docs])

    assert roots.resolve([str(docs), str(docs / "a")], "ann~first") == (docs, docs / "a")
    for other in ("ann~second", "first", "bob~first", "ann~first-2", "run ann~first", ""):
        for path in (docs, docs / "a"):
            with pytest.raises(PathRefused):
                roots.resolve([str(path)], other)
            assert roots.select([str(path)], other) == frozenset()

    remove_document_roots(home, "ann~first")

    with pytest.raises(PathRefused):
        roots.resolve([str(docs)], "ann~first")
    assert json.loads((home / ROOTS_FILE).read_text()) == {}


@pytest.mark.parametrize(
    ("workflow", "expected"),
    [
        ("code-f-1", "run code-f-1"),
        ("code-f-1/code", "run code-f-1"),
        ("batch-1/001/code", "run batch-1"),
        ("ann~nightly-2026-11-24T03:00:00Z/code", "run ann~nightly"),
        ("code-f-10", "run code-f-10"),
    ],
)
def test_workflows_of_a_run_have_its_scope(workflow: str, expected: str) -> None:
    """Children, questions of a batch and the runs of a schedule read the files that their command has named."""
    assert make_run_scope(workflow) == expected


def test_keys_and_the_system_are_closed_to_all(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the setting nor a request opens a whole home, keys, or the state of the system or of Tenure."""
    user = tmp_path / "ann"
    for folder in (".ssh", ".aws", ".config/gcloud", ".notes", "papers"):
        (user / folder).mkdir(parents=True)
    monkeypatch.setenv("HOME", str(user))
    people = (("bob", 1001, "/home/bob"), ("www-data", 33, str(tmp_path / "www")), ("nobody", 65534, "/nonexistent"))
    entries = [pwd.struct_passwd((name, "x", uid, uid, "", folder, "/bin/sh")) for name, uid, folder in people]
    monkeypatch.setattr(pwd, "getpwall", lambda: entries)
    (tmp_path / "www").mkdir()
    (home / "docs").mkdir()
    (home / "stack.key").write_text("secret")
    (user / "link").symlink_to("/etc/shadow")
    closed = [
        *(user, tmp_path, Path("/"), Path("/home"), Path("/home/bob")),
        *(user / ".ssh", user / ".ssh" / "config", user / ".aws", user / ".config" / "gcloud" / "a.db", user / "link"),
        *(
            Path("/home/bob/.ssh/config"),
            Path("/proc"),
            Path("/proc/1/environ"),
            Path("/dev/null"),
            Path("/sys/kernel"),
        ),
        *(Path("/etc"), Path("/etc/shadow"), Path("/etc/ssh/sshd_config"), Path("/run/secrets/key")),
        *(home, home / "stack.key"),
    ]
    readable = [user / "papers", user / ".notes", home / "docs", tmp_path / "www", Path("/etc/hostname")]
    add_document_roots(home, ["c"], [*closed, *readable])
    roots = DocumentRoots([*closed, *readable], home)

    for path in closed:
        with pytest.raises(PathRefused) as caught:
            roots.resolve([str(path)], "c")
        assert "\n" not in str(caught.value)
        assert roots.select([str(path)], "c") == frozenset()
    assert roots.resolve(map(str, readable), "c") == tuple(readable)


def test_a_user_without_a_home_closes_nothing_more(docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A container may give its process a user that no list of users knows."""
    monkeypatch.delenv("HOME")
    monkeypatch.setattr(os, "getuid", lambda: 987654)
    monkeypatch.chdir(docs)

    assert DocumentRoots([docs]).resolve([str(docs)], "c") == (docs,)
