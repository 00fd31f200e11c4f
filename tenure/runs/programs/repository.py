"""Turn the options on a repository into the task of a run, after the checks that need no Git."""

from pathlib import Path

from tenure.algorithms.text.urls import find_lone_url
from tenure.contracts.repository_task import RepositorySource, RepositoryTask
from tenure.files.file_store import FileStore, FileStoreError
from tenure.runs.errors import InvalidRequest, Unreachable
from tenure.runs.messages import StartRequest
from tenure.runs.paths import resolve_paths
from tenure.settings.home import HomeSettings

_DEPENDENT = ("revision", "setup", "test", "allow_setup", "approve")
"""Options that need a repository."""

_OTHER_PROGRAMS = {
    "files": "the files are those of the repository: leave it out",
    "tests": "the tests are those of the repository: name them in the task, or their command with --test",
    "databases": "a task in a repository reads no database: leave it out",
    "mcp": "a task in a repository uses no MCP server: leave it out",
}
"""Options that make no sense with a repository, with the reason."""


def build_repository_task(request: StartRequest, *, reads_web: bool) -> RepositoryTask | None:
    """Return the task of a request in its repository; None if it names none.

    Raises:
        InvalidRequest: there is no repository at the path, or an option does not fit.
    """
    if request.repo is None:
        for name in _DEPENDENT:
            if getattr(request, name):
                raise InvalidRequest("it needs a repository: add --repo PATH", name)
        return None
    for name, reason in _OTHER_PROGRAMS.items():
        if getattr(request, name):
            raise InvalidRequest(reason, name)
    if request.mode == "research":
        raise InvalidRequest("a task in a repository is no research: leave it out", "mode")
    if find_lone_url(request.question) and not reads_web:
        raise InvalidRequest("the task is the address of a page, which is read only with --web", "question")
    if request.approve and (request.candidates or 1) > 1:
        raise InvalidRequest("it asks about one plan and one change: leave out --candidates", "approve")
    return RepositoryTask(
        source=RepositorySource(path=_resolve(str(request.repo), reads_web), revision=request.revision or "HEAD"),
        setup=request.setup,
        test=request.test,
        allow_network=request.allow_setup,
        web=reads_web,
        approve=request.approve,
    )


def is_uploaded(source: RepositorySource, settings: HomeSettings) -> bool:
    """Return whether the commit of a repository has to be stored for workers on other machines."""
    return bool(settings.files_uri) and not source.packed and not is_server_url(source.path)


def upload_repository(task: RepositoryTask, settings: HomeSettings) -> RepositoryTask:
    """Store the commit of a local repository in the object store of the settings, if there is one.

    Raises:
        InvalidRequest: there is no such commit, or it cannot be worked on.
        Unreachable: the object store does not answer, or Git takes too long.
    """
    if not is_uploaded(task.source, settings):
        return task
    # Imported for this case only: other commands start faster.
    from tenure.repositories.errors import RepositoryRefused, RepositoryUnavailable
    from tenure.repositories.opening import pack_source

    store = FileStore(settings.files_uri, settings.owner)
    try:
        source = pack_source(Path(task.source.path), task.source.revision, store)
    except RepositoryRefused as error:
        raise InvalidRequest(str(error), "repo") from error
    except RepositoryUnavailable as error:
        raise Unreachable(str(error)) from error
    except FileStoreError as error:
        raise Unreachable(f"{error}: check TENURE_FILES_URI and the AWS_… variables") from error
    return task.model_copy(update={"source": source})


def _resolve(given: str, reads_web: bool) -> str:
    """Return the path of a repository's top folder, or its URL.

    Raises:
        InvalidRequest: no repository exists there, or the URL may not be read.
    """
    if is_server_url(given):
        if not reads_web:
            raise InvalidRequest("a repository of a server is read only with --web", "repo")
        return given
    # "ssh://host/a.git", "git@host:a.git"
    if "://" in given or (":" in given.split("/")[0] and not Path(given).exists()):
        raise InvalidRequest("a server is read by https only: give such a URL, or clone it and give the folder", "repo")
    (path,) = resolve_paths([given])
    if path.is_file():
        raise InvalidRequest(f"{given} is a file: give the folder of a Git repository", "repo")
    for folder in (path, *path.parents):
        if (folder / ".git").exists() or _is_bare(folder):
            return str(folder)
    raise InvalidRequest(f"there is no Git repository at {given}: `git init` and a commit make one", "repo")


def is_server_url(path: str) -> bool:
    """Return whether a repository is on a server."""
    return path.startswith("https://")


def _is_bare(folder: Path) -> bool:
    return all((folder / name).exists() for name in ("HEAD", "objects", "refs"))
