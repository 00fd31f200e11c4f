"""Test how the options on a repository become the task of a run, and what bad input gets."""

from pathlib import Path

import pytest

from tenure.contracts.repository_task import RepositorySource, RepositoryTask
from tenure.runs.errors import InvalidRequest, Unreachable
from tenure.runs.programs.repository import upload_repository
from tenure.settings import Settings
from tests.runs.command_lines import build_run
from tests.support.repositories.git import CLOCK, make_repository, run_git


def test_a_folder_of_a_repository_is_its_top_folder(tmp_path: Path) -> None:
    """A task in a repository is no question; a folder inside stands for the repository."""
    top = make_repository(tmp_path / "clock", CLOCK)
    run = build_run(
        "Fix it", "--repo", str(top / "tests"), "--revision", "main", "--test", "make test", "--approve", "plan"
    )

    assert run.mode == "code" and run.corpora == ()
    assert run.repository == RepositoryTask(
        source=RepositorySource(path=str(top), revision="main"), test="make test", approve="plan"
    )


def test_bare_and_remote_repositories_are_taken(tmp_path: Path) -> None:
    """A bare repository has no files of a person; one of a server is read with the web, which is not searched."""
    run_git(make_repository(tmp_path / "clock", CLOCK), "clone", "--quiet", "--bare", ".", str(tmp_path / "bare"))
    bare = build_run("Fix it", "--repo", str(tmp_path / "bare"))
    remote = build_run("Fix it", "--repo", "https://git.example/a/b", "--web")

    assert bare.repository and bare.repository.source.path == str(tmp_path / "bare")
    assert remote.repository and remote.repository.web and remote.limits.web is None


def test_an_address_is_a_task_that_is_read_with_the_web(tmp_path: Path) -> None:
    """Without the web the run is refused; the page is read by the run itself. Other questions may be addresses."""
    top = str(make_repository(tmp_path / "clock", CLOCK))
    run = build_run("https://git.example/a/issues/1", "--repo", top, "--web")

    assert run.question == "https://git.example/a/issues/1" and run.repository and run.repository.web
    assert not run.repository.address and not build_run("https://git.example/a/issues/1", "--docs", top).repository
    with pytest.raises(InvalidRequest, match="question: the task is the address of a page, which is read only with"):
        build_run("https://git.example/a/issues/1", "--repo", top)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--repo", "{empty}"], "repo: there is no Git repository at {empty}"),
        (["--repo", "{empty}/none"], "{empty}/none does not exist"),
        (["--repo", "{clock}/README.md"], "repo: {clock}/README.md is a file"),
        (["--repo", "https://git.example/a/b"], "repo: a repository of a server is read only with --web"),
        (["--repo", "git@git.example:a/b"], "repo: a server is read by https only"),
        (["--repo", "ssh://git.example/a/b", "--web"], "repo: a server is read by https only"),
        (["--repo", "{clock}", "--files", "{clock}/README.md"], "files: the files are those of the repository"),
        (["--repo", "{clock}", "--mode", "research"], "mode: a task in a repository is no research"),
        (["--test", "make"], "test: it needs a repository"),
        (["--allow-setup"], "allow_setup: it needs a repository"),
        (["--approve", "patch"], "approve: it needs a repository"),
        (["--revision", "main"], "revision: it needs a repository"),
    ],
)
def test_bad_input_is_refused_at_once(tmp_path: Path, words: list[str], message: str) -> None:
    """Each gets one line that names the option and what to do."""
    (tmp_path / "empty").mkdir()
    places = {"empty": str(tmp_path / "empty"), "clock": str(make_repository(tmp_path / "clock", CLOCK))}
    with pytest.raises(InvalidRequest) as refused:
        build_run("Fix it", *(word.format(**places) for word in words))

    assert str(refused.value).startswith(message.format(**places))


def test_workers_elsewhere_need_the_commit_in_the_object_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a store the task keeps its path; with one, no run starts without the commit, whose reason is a line."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    top = make_repository(tmp_path / "clock", CLOCK)
    plain, store = Settings(_env_file=None), Settings(_env_file=None, files_uri="s3://bucket/files")

    def plan(*words: str) -> RepositoryTask:
        task = build_run("Fix it", "--repo", str(top), *words, settings=store).repository
        assert task
        return task

    assert upload_repository(plan(), plain) == plan()
    with pytest.raises(InvalidRequest, match=r"repo: .* has no revision 'none'"):
        upload_repository(plan("--revision", "none"), store)
    with pytest.raises(Unreachable, match="check TENURE_FILES_URI"):
        upload_repository(plan(), store)
