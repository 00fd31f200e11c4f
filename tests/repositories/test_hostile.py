"""Hostile and unusual repositories: nothing of them is executed, and what cannot be worked on has a clear end."""

import os
import stat
from pathlib import Path

import pytest

from tenure.repositories import tree
from tenure.repositories.errors import RepositoryRefused
from tenure.repositories.sources import locate_repository
from tests.support.repositories.git import (
    commit_files,
    copy_repository,
    make_repository,
    make_workspaces,
    read_tree,
    run_git,
    start_work,
)

LFS_POINTER = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 12345\n"


def _write_program(path: Path, mark: Path) -> str:
    """Write a program that leaves a mark if it is ever executed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\ntouch {mark}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


async def test_no_command_of_a_repository_is_executed(tmp_path: Path) -> None:
    """Hooks, configured commands, filters and drivers of attributes have no effect, in the source or in the copy."""
    mark = tmp_path / "executed"
    path = make_repository(tmp_path / "repository", {"a.txt": "one\n"})
    program = _write_program(path / "program.sh", mark)
    commit_files(
        path,
        {
            ".gitattributes": "*.txt filter=evil diff=evil merge=evil text eol=crlf working-tree-encoding=ISO-8859-1\n",
            "a.txt": "two\n",
        },
    )
    (path / "a.txt").write_text("changed\n")
    settings = {
        **dict.fromkeys(("core.fsmonitor", "core.pager", "core.editor", "core.sshCommand", "core.askPass"), program),
        **dict.fromkeys(("filter.evil.clean", "filter.evil.smudge", "filter.evil.process"), program),
        **dict.fromkeys(("diff.evil.textconv", "diff.evil.command", "diff.external", "merge.evil.driver"), program),
        **dict.fromkeys(("uploadpack.packObjectsHook", "remote.origin.uploadpack", "credential.helper"), program),
        **{
            "core.hooksPath": str(path / "hooks"),
            "include.path": str(path / "included"),
            "alias.status": f"!{program}",
        },
        **{"extensions.partialClone": "origin", "remote.origin.promisor": "true", "remote.origin.url": "ext::sh -c x"},
    }
    for name in ("post-checkout", "post-index-change", "pre-commit", "reference-transaction", "fsmonitor-watchman"):
        _write_program(path / "hooks" / name, mark)
        _write_program(path / ".git" / "hooks" / name, mark)
    (path / "included").write_text(f"[core]\n\tfsmonitor = {program}\n")
    config = path / ".git" / "config"
    with config.open("a") as file:
        for name, value in settings.items():
            section, _, key = name.rpartition(".")
            top, _, inner = section.partition(".")
            file.write(f'[{top} "{inner}"]\n' if inner else f"[{top}]\n")
            file.write(f'\t{key} = "{value}"\n')

    workspaces = make_workspaces(tmp_path / "home")
    state = await start_work(workspaces, path)
    async with workspaces.open(state) as folder:
        assert (folder / "a.txt").read_bytes() == b"two\n", "contents are those that are stored"
        (folder / "a.txt").write_text("three\n")
        state = (await workspaces.record(state)).workspace
    await workspaces.close(state)
    async with workspaces.open(state) as folder:
        assert (folder / "a.txt").read_bytes() == b"three\n"
    async with workspaces.copy(state) as folder:
        assert (folder / "a.txt").read_bytes() == b"three\n"
    assert not mark.exists()


async def test_a_repository_that_a_program_makes_in_the_folder_is_removed(tmp_path: Path) -> None:
    """A `.git` that a command has left is gone before Git looks at the files, wherever it is, and a pipe as well."""
    mark = tmp_path / "executed"
    path = make_repository(tmp_path / "repository", {"sub/a.py": "a = 1\n", "b": "file\n"})
    workspaces = make_workspaces(tmp_path / "home")
    state = await start_work(workspaces, path)
    async with workspaces.open(state) as folder:
        (folder / "b").unlink()
        for inner in (folder, folder / "sub", folder / "b", folder / "new"):
            inner.mkdir(exist_ok=True)
            run_git(inner, "init", "-q")
            (inner / "file.py").write_text("")
            run_git(inner, "add", "file.py")
            run_git(inner, "commit", "-qm", "x")
            run_git(inner, "config", "core.fsmonitor", _write_program(tmp_path / "program.sh", mark))
        os.mkfifo(folder / "pipe")
        (folder / "sub").chmod(0o500)
        mark.unlink(missing_ok=True)
        recorded = await workspaces.record(state)
    assert not mark.exists()
    assert sorted((file.path, file.status) for file in recorded.files) == [
        ("b", "deleted"),
        ("b/file.py", "added"),
        ("file.py", "added"),
        ("new/file.py", "added"),
        ("sub/file.py", "added"),
    ]
    assert {note.partition(" (")[0] for note in recorded.left_out} == {".git", "b/.git", "new/.git", "pipe", "sub/.git"}


async def test_links_are_kept_and_lead_nowhere(tmp_path: Path) -> None:
    """Links out of the tree stay links, and no file behind them is read into a patch or overwritten."""
    outside = tmp_path / "secret"
    outside.mkdir()
    (outside / "key").write_text("password\n")
    path = make_repository(tmp_path / "repository")
    (path / "folder").symlink_to(outside)
    (path / "file").symlink_to(outside / "key")
    commit_files(path, {"d/a.py": "a = 1\n"})
    workspaces = make_workspaces(tmp_path / "home")
    state = await start_work(workspaces, path)
    async with workspaces.open(state) as folder:
        assert (folder / "folder").readlink() == outside
        # A folder of the commit becomes a link to one outside.
        (folder / "d" / "a.py").unlink()
        (folder / "d").rmdir()
        (folder / "d").symlink_to(outside)
        recorded = await workspaces.record(state)
        wanted = read_tree(folder)
    await workspaces.close(state)
    async with workspaces.open(recorded.workspace) as folder:
        assert read_tree(folder) == wanted
    async with workspaces.open(state) as folder:
        assert (folder / "d" / "a.py").read_text() == "a = 1\n"
    patch, _ = await workspaces.read_patch(recorded.workspace)
    assert b"password" not in patch
    assert [path.name for path in outside.iterdir()] == ["key"]


def _commit_tree(path: Path, *entries: tuple[str, str, bytes]) -> None:
    """Commit a tree that Git's own commands refuse to make: entries of mode, object and name."""
    raw = b"".join(mode.encode() + b" " + name + b"\0" + bytes.fromhex(identity) for mode, identity, name in entries)
    tree = run_git(path, "hash-object", "-t", "tree", "-w", "--stdin", "--literally", data=raw)
    run_git(path, "update-ref", "HEAD", run_git(path, "commit-tree", tree, "-m", "hostile"))


@pytest.mark.parametrize(
    "name", [b".git", b".GIT", b"..", b".", b"git~1", b".git ", b".g\xe2\x80\x8cit", b"a\\.git\\b"]
)
async def test_names_that_git_refuses_are_refused(tmp_path: Path, name: bytes) -> None:
    """A tree may not hold `.git` in any spelling of a file system, nor a way out of itself."""
    path = make_repository(tmp_path / "repository", {"a": "text\n"})
    blob = run_git(path, "rev-parse", "HEAD:a")
    inner = run_git(path, "rev-parse", "HEAD^{tree}")
    for entry in (("100644", blob, name), ("40000", inner, name)):
        _commit_tree(path, entry)
        with pytest.raises(RepositoryRefused, match=r"path|permit"):
            await copy_repository(make_workspaces(tmp_path / "home"), path)


async def test_names_with_newlines_are_kept(tmp_path: Path) -> None:
    """Odd names are files like others, through copy, patch and rebuild; a name that is no text is refused."""
    odd = ["new\nline.py", "tab\there", '"quoted"', "-option", "ä ö", "back\\slash"[:4], ":(glob)*", "*.py", " "]
    path = make_repository(tmp_path / "repository", {name: "one\n" for name in odd})
    workspaces = make_workspaces(tmp_path / "home")
    state = await start_work(workspaces, path)
    async with workspaces.open(state) as folder:
        for name in odd:
            (folder / name).write_text("two\n")
            (folder / f"new {name}").write_text("new\n")
        state = (await workspaces.record(state)).workspace
        wanted = read_tree(folder)
    await workspaces.close(state)
    async with workspaces.open(state) as folder:
        assert read_tree(folder) == wanted
    assert len(wanted) == 2 * len(odd)

    commit_files(path, {os.fsdecode(b"latin-\xe9"): ""})
    with pytest.raises(RepositoryRefused, match=r"no text: latin-\\xdce9"):
        await copy_repository(workspaces, path)


async def test_submodules_are_refused_with_their_paths(tmp_path: Path) -> None:
    """The reason names the submodules."""
    path = make_repository(tmp_path / "repository", {"a": ""})
    commit = run_git(path, "rev-parse", "HEAD")
    run_git(path, "update-index", "--add", "--cacheinfo", f"160000,{commit},libs/inner")
    run_git(path, "commit", "-qm", "submodule")
    with pytest.raises(RepositoryRefused, match=r"submodules.*libs/inner"):
        await copy_repository(make_workspaces(tmp_path / "home"), path)


async def test_files_in_lfs_are_refused_and_texts_about_it_are_not(tmp_path: Path) -> None:
    """A pointer counts if attributes say so."""
    path = make_repository(tmp_path / "repository", {"pointer": LFS_POINTER})
    workspaces = make_workspaces(tmp_path / "home")
    assert await copy_repository(workspaces, path)
    commit_files(path, {".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n", "big.bin": LFS_POINTER})
    with pytest.raises(RepositoryRefused, match=r"LFS.*big\.bin"):
        await copy_repository(workspaces, path)


async def test_a_commit_that_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reason has the size, the limit and the largest files; the number of files is limited as well."""
    path = make_repository(tmp_path / "repository", {"small": "1", "large": "x" * 5_000})
    workspaces = make_workspaces(tmp_path / "home")
    monkeypatch.setattr(tree, "MAX_TREE_BYTES", 5_000)
    with pytest.raises(RepositoryRefused, match=r"GB.*largest are large, small"):
        await copy_repository(workspaces, path)
    monkeypatch.undo()
    monkeypatch.setattr(tree, "MAX_TREE_FILES", 1)
    with pytest.raises(RepositoryRefused, match="2 files"):
        await copy_repository(workspaces, path)


async def test_what_is_no_repository_is_refused(tmp_path: Path) -> None:
    """Folders without a repository, damaged and empty ones, and unknown revisions have a clear reason in a line."""
    workspaces = make_workspaces(tmp_path / "home")
    (tmp_path / "plain").mkdir()
    path = make_repository(tmp_path / "repository", {"sub/a": ""})
    empty = make_repository(tmp_path / "empty")
    damaged = make_repository(tmp_path / "damaged")
    (damaged / ".git" / "HEAD").unlink()
    pointer = tmp_path / "pointer"
    pointer.mkdir()
    (pointer / ".git").write_text("gitdir: /nowhere\n")
    for place, revision, reason in (
        (tmp_path / "plain", "HEAD", "not the top folder of a Git repository"),
        (path / "sub", "HEAD", f"its repository is {path}"),
        (path / "sub" / "a", "HEAD", "is not a folder"),
        (empty, "HEAD", "empty repository"),
        (damaged, "HEAD", "damaged"),
        (pointer, "HEAD", "does not exist"),
        (path, "no-such-branch", "has no revision 'no-such-branch'"),
        (path, "--all", "has no revision '--all'"),
        (path, "HEAD^{tree}:", "has no revision"),
        (path, "", "has no revision"),
    ):
        with pytest.raises(RepositoryRefused, match=reason) as raised:
            await copy_repository(workspaces, place, revision)
        assert "\n" not in str(raised.value)


async def test_revisions_are_those_of_git(tmp_path: Path) -> None:
    """Branches, tags, short hashes and ancestors are commits."""
    path = make_repository(tmp_path / "repository", {"a": "1\n"})
    first = run_git(path, "rev-parse", "HEAD")
    run_git(path, "tag", "-a", "v1", "-m", "first")
    second = commit_files(path, {"a": "2\n"})
    run_git(path, "branch", "topic/x")
    run_git(path, "pack-refs", "--all")
    run_git(path, "gc", "-q")
    workspaces = make_workspaces(tmp_path / "home")
    found = {
        revision: (await copy_repository(workspaces, path, revision)).commit
        for revision in ("HEAD", "main", "topic/x", "v1", "HEAD~1", first[:9], second)
    }
    assert found == {
        **dict.fromkeys(("HEAD", "main", "topic/x", second), second),
        **dict.fromkeys(("v1", "HEAD~1", first[:9]), first),
    }


async def test_bare_shallow_and_sha256_repositories_and_working_copies_are_opened(tmp_path: Path) -> None:
    """Each form of a repository gives the same files."""
    path = make_repository(tmp_path / "repository", {"a": "1\n"})
    commit_files(path, {"a": "2\n"})
    run_git(tmp_path, "clone", "-q", "--bare", str(path), "bare.git")
    run_git(tmp_path, "clone", "-q", "--depth=1", f"file://{path}", "shallow")
    run_git(path, "worktree", "add", "-q", str(tmp_path / "linked"))
    modern = make_repository(tmp_path / "modern", {"a": "2\n"}, object_format="sha256")
    workspaces = make_workspaces(tmp_path / "home")
    for place in (path, tmp_path / "bare.git", tmp_path / "shallow", tmp_path / "linked", modern):
        state = await start_work(workspaces, place)
        async with workspaces.open(state) as folder:
            assert read_tree(folder) == {"a": b"2\n"}
            (folder / "a").write_text("3\n")
            state = (await workspaces.record(state)).workspace
        await workspaces.close(state)
        async with workspaces.open(state) as folder:
            assert (folder / "a").read_text() == "3\n"
    assert len(state.commit) == 64


async def test_a_repository_elsewhere_has_to_know_its_working_copy(tmp_path: Path) -> None:
    """A linked working copy needs no permission for its repository; a file that only names one does."""
    path = make_repository(tmp_path / "secret", {"a": "1\n"})
    run_git(path, "worktree", "add", "-q", str(tmp_path / "linked"))
    assert locate_repository(tmp_path / "linked").outside == ()

    own = path / ".git" / "worktrees" / "linked"
    forged = tmp_path / "forged"
    (forged / "worktrees" / "thief").mkdir(parents=True)
    (forged / "worktrees" / "thief" / "commondir").write_text(f"{path / '.git'}\n")
    (forged / "worktrees" / "thief" / "HEAD").write_text("ref: refs/heads/main\n")
    for name, target in (("main", path / ".git"), ("other", own), ("thief", forged / "worktrees" / "thief")):
        thief = tmp_path / name
        thief.mkdir()
        (thief / ".git").write_text(f"gitdir: {target}\n")
        (forged / "worktrees" / "thief" / "gitdir").write_text(f"{thief / '.git'}\n")
        assert path / ".git" in locate_repository(thief).outside


async def test_borrowed_objects_need_a_permission(tmp_path: Path) -> None:
    """Objects of other repositories are read only from folders that may be read; a link to objects is refused."""
    path = make_repository(tmp_path / "secret", {"a": "secret\n"})
    run_git(tmp_path, "clone", "-q", "--shared", str(path), "borrower")
    workspaces = make_workspaces(tmp_path / "home")

    def refuse(folder: Path) -> None:
        raise RepositoryRefused(f"{folder} is closed")

    with pytest.raises(RepositoryRefused, match=r"secret/\.git/objects is closed"):
        await workspaces.copies.copy_local(tmp_path / "borrower", "HEAD", refuse)
    assert (await copy_repository(workspaces, tmp_path / "borrower")).entries

    thief = make_repository(tmp_path / "thief")
    for folder in (path / ".git" / "objects").iterdir():
        if len(folder.name) == 2:
            (thief / ".git" / "objects" / folder.name).symlink_to(folder)
    with pytest.raises(RepositoryRefused, match="is a link"):
        await workspaces.copies.copy_local(thief, run_git(path, "rev-parse", "HEAD"), refuse)
    (thief / ".git" / "objects").rename(thief / "objects")
    (thief / ".git" / "objects").symlink_to(path / ".git" / "objects")
    with pytest.raises(RepositoryRefused, match="is closed"):
        await workspaces.copies.copy_local(thief, run_git(path, "rev-parse", "HEAD"), refuse)


async def test_a_damaged_object_is_noticed(tmp_path: Path) -> None:
    """An object whose content does not fit its name, or that is missing, ends the copy."""
    path = make_repository(tmp_path / "repository", {"a": "one\n", "b": "two\n"})
    names = {name: run_git(path, "rev-parse", f"HEAD:{name}") for name in ("a", "b")}
    objects = {name: path / ".git" / "objects" / one[:2] / one[2:] for name, one in names.items()}
    objects["a"].chmod(0o600)
    objects["a"].write_bytes(objects["b"].read_bytes())
    with pytest.raises(RepositoryRefused, match=r"missing|cannot be copied|cannot be read"):
        await copy_repository(make_workspaces(tmp_path / "home"), path)
    objects["a"].unlink()
    with pytest.raises(RepositoryRefused, match=r"missing|cannot be copied|cannot be read"):
        await copy_repository(make_workspaces(tmp_path / "home"), path)


async def test_uncommitted_changes_are_noted(tmp_path: Path) -> None:
    """The note names changed and new files; a clean working copy has none."""
    path = make_repository(tmp_path / "repository", {"a": "1\n", "b": "1\n", ".gitignore": "ignored\n"})
    workspaces = make_workspaces(tmp_path / "home")
    (path / "ignored").write_text("")
    assert (await copy_repository(workspaces, path)).notes == ()
    (path / "a").write_text("2\n")
    (path / "new").write_text("")
    before = (path / ".git" / "index").read_bytes()
    notes = (await copy_repository(workspaces, path)).notes
    assert notes == ("changes that are not committed are not part of the work: a, new",)
    assert (path / ".git" / "index").read_bytes() == before
