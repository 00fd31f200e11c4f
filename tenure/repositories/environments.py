"""Install what the commands of a project need, once for each set of declarations.

An environment is a folder that commands see at one constant path, so that a project that is installed in place finds
its files in every workspace. It is made under another name and renamed when it is complete: the rest of a killed or
failed setup is never used. A setup runs in the sandbox, in a copy of the files that is thrown away; files that it
generates there, such as compiled modules, are kept and lent to later commands.
"""

import hashlib
import json
import os
import platform
import shlex
import time
import uuid
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final, Protocol

from tenure.algorithms.coding.project_files import (
    ProjectFacts,
    find_project,
    list_manifests,
    normalize_name,
)
from tenure.algorithms.coding.test_commands import read_assignments
from tenure.contracts.coding.repositories import (
    ActionResult,
    Environment,
    EnvironmentRequest,
    SetupProgress,
    SetupReply,
    Workspace,
)
from tenure.contracts.sandbox import SandboxLimits
from tenure.repositories.locks import lock_file, run_to_end
from tenure.repositories.observations import NETWORK_ERROR, show_end, show_outcome
from tenure.sandbox.base import ENVIRONMENT, CommandOutcome, FolderCommand, FolderSandbox, NetworkAccess
from tenure.sandbox.folders import delete_file, list_files, place_file, read_file, remove_folder
from tenure.sandbox.network import read_hosts, read_paths
from tenure.sandbox.runtime import Runtime

SETUP_LIMITS: Final = SandboxLimits(
    wall_seconds=1800,
    cpu_seconds=1800,
    memory_mib=4096,
    processes=512,
    open_files=4096,
    file_mib=4096,
    scratch_mib=512,
    growth_mib=10_240,
    growth_files=400_000,
    output_kib=256,
)
"""Limits of a setup: PyTorch with its libraries has 5 GiB and takes ten minutes on a slow line."""

MAX_ENVIRONMENT_AGE_SECONDS: Final = 30 * 86_400
"""Time without use after which an environment is removed."""
MAX_MANIFEST_BYTES: Final = 4_000_000
"""Size up to which a declaration is read; large lock files have 2 MB."""
MAX_GENERATED_FILES: Final = 2_000
MAX_GENERATED_BYTES: Final = 256 << 20
"""Generated files that are kept; a scientific package in Cython has 100 compiled modules of 60 MB."""

_FORMAT: Final = 1
"""Number that is raised if the same declarations give another environment."""
# Folders that every build leaves and no later command needs
_NOT_GENERATED: Final = ("build", ".eggs", ".tox", ".nox", "node_modules", "__pycache__", ".pytest_cache", "dist")
_OFFLINE: Final = {"PIP_RETRIES": "0", "UV_OFFLINE": "1", "npm_config_offline": "true"}
"""Variables of a setup without a network, which then fails immediately."""
# Debian and Ubuntu; Fedora and RHEL
_AUTHORITIES: Final = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt")
_TRASH: Final = f"{ENVIRONMENT}/.tmp"


class Copier(Protocol):
    """Source of the files of a state."""

    def open(self, workspace: Workspace, *, read_only: bool = False) -> AbstractAsyncContextManager[Path]:
        """Yield the folder with the files of a state."""

    def copy(self, workspace: Workspace) -> AbstractAsyncContextManager[Path]:
        """Yield a folder with the files of a state that is thrown away afterwards."""


class CommandSandbox(FolderSandbox, Protocol):
    """Sandbox with the description of its interpreter."""

    runtime: Runtime

    async def prepare(self) -> None:
        """Create the environment of programs if it does not exist, so that `runtime` is the one that they have."""


class Environments:
    """Environments of one home.

    Args:
        home: folder of the owner.
        sandbox: sandbox of commands.
        files: files of the states of workspaces.
        variables: environment variables of setups that a person has set, such as the address of an index. Hosts that
            they name can be reached with a network, and paths that they name are visible in any case.
    """

    def __init__(self, home: Path, sandbox: CommandSandbox, files: Copier, variables: Mapping[str, str]) -> None:
        self._folder, self._sandbox, self._files = home.absolute() / "environments", sandbox, files
        self._variables = dict(variables)
        self._hosts = read_hosts(tuple(variables.values()))
        self._visible = read_paths(tuple(variables.values()))

    async def set_up(
        self, request: EnvironmentRequest, report: Callable[[SetupProgress], None] = lambda progress: None
    ) -> SetupReply:
        """Find out how a project is installed and tested, and install it if that has not been done.

        `report` is called when the command of the set-up is known.

        Raises:
            SetupFailed: the sandbox could not be set up.
            RepositoryError: the files of the state are not available.
        """
        await self._sandbox.prepare()
        async with self._files.open(request.workspace, read_only=True) as folder:
            project, texts = await run_to_end(partial(_read_project, folder))
        test = project.test if request.test is None else request.test
        # A variable that the tests need is needed as well by commands that try the code.
        variables = self._build_variables(project) | read_assignments(test)
        environment = Environment(
            ecosystem=project.ecosystem,
            test=test,
            checks=project.checks,
            reason=project.reason if request.test is None else f"test command given; {project.reason}",
            given_setup=request.setup,
            allow_network=request.allow_network,
            variables=tuple(variables.items()),
        )
        steps, needs_network = self._choose_steps(request, project)
        if needs_network:
            return self._refuse(environment, project)
        if not steps:
            text = f"Nothing has to be installed ({project.reason})."
            return _reply(environment, True, text, "environment: nothing to install")
        await run_to_end(self.remove_stale)
        setup = " && ".join(steps)
        environment = environment.model_copy(update={"setup": setup, "key": self._build_key(setup, project, texts)})
        report(SetupProgress(command=setup, max_seconds=SETUP_LIMITS.wall_seconds))
        return await self._install(request.workspace, environment)

    @asynccontextmanager
    async def use(self, workspace: Workspace, environment: Environment, folder: Path) -> AsyncIterator[Path | None]:
        """Yield the folder of an environment, with its generated files in a folder of files; remove them afterwards.

        An environment that this machine does not have is installed again.

        Raises:
            EnvironmentLost: that fails.
        """
        if not environment.key:
            yield None
            return
        installed = self._folder / environment.key
        if not _is_complete(installed):
            base = workspace.model_copy(update={"patch": ""})
            reply = await self._install(base, environment)
            if not reply.ready:
                raise EnvironmentLost(reply.observation.summary)
        with suppress(OSError):
            os.utime(installed)
        lent = await run_to_end(partial(_lend_files, installed / "generated", folder))
        try:
            yield installed / "files"
        finally:
            await run_to_end(partial(_take_back, folder, lent))

    def remove_stale(self) -> None:
        """Remove environments that have not been used for a long time."""
        for folder in self._folder.glob("*"):
            with suppress(OSError):
                if folder.is_dir() and time.time() - folder.stat().st_mtime > MAX_ENVIRONMENT_AGE_SECONDS:
                    remove_folder(folder)

    def _choose_steps(self, request: EnvironmentRequest, project: ProjectFacts) -> tuple[tuple[str, ...], bool]:
        """Return the commands of a setup, and whether they wait for a person to allow the network."""
        if request.setup is not None:
            is_python = project.ecosystem == "python" and request.setup.strip()
            start = ('"$TENURE_PYTHON" -m venv /environment',) if is_python else ()
            return (*start, *([request.setup] if request.setup.strip() else [])), False
        if not project.steps or request.allow_network:
            return project.steps, False
        installed = {normalize_name(name) for name, _ in self._sandbox.runtime.packages}
        if project.ecosystem == "python" and project.is_linkable and set(project.requirements) <= installed:
            return _list_link_steps(project), False
        return project.steps, not self._visible or bool(self._hosts)

    def _refuse(self, environment: Environment, project: ProjectFacts) -> SetupReply:
        """Return the reply for a setup that waits for a person."""
        installed = {normalize_name(name) for name, _ in self._sandbox.runtime.packages}
        missing = [name for name in project.requirements if name not in installed] or list(project.requirements)
        text = (
            f"The project needs packages that are not here: {', '.join(missing[:20])}. Its setup needs the network, "
            f"which a person has to allow:\n{' && '.join(project.steps)}"
        )
        summary = f"setup waits: the network is needed for {len(missing)} packages"
        return _reply(environment, False, text, summary).model_copy(update={"needs_network": True})

    def _build_variables(self, project: ProjectFacts) -> dict[str, str]:
        versions = {
            # Builds that ask Git for their version have no repository here.
            **{"SETUPTOOLS_SCM_PRETEND_VERSION": project.version, "PBR_VERSION": project.version},
            **{"PDM_BUILD_SCM_VERSION": project.version, "POETRY_DYNAMIC_VERSIONING_BYPASS": project.version},
            "UV_DYNAMIC_VERSIONING_BYPASS": project.version,
        }
        if project.ecosystem == "python":
            return {name: value for name, value in versions.items() if value}
        if project.ecosystem == "go":
            return {
                **{"GOPATH": f"{ENVIRONMENT}/go", "GOCACHE": "/box/tmp/go", "GOFLAGS": "-buildvcs=false"},
                **{"GOPROXY": "off", "GOTOOLCHAIN": "local"},
            }
        if project.ecosystem == "node":
            # From version 11 on, pnpm installs packages before it runs a script, which needs a network.
            return {"pnpm_config_verify_deps_before_run": "false"}
        if project.ecosystem == "rust":
            return {"CARGO_HOME": f"{ENVIRONMENT}/cargo", "CARGO_NET_OFFLINE": "true"}
        return {}

    def _build_key(self, setup: str, project: ProjectFacts, texts: Mapping[str, str]) -> str:
        runtime = self._sandbox.runtime
        facts = [
            *(_FORMAT, setup, sorted((name, texts[name]) for name in project.manifests if name in texts)),
            *(str(runtime.python), runtime.packages, platform.machine(), sorted(self._variables.items())),
        ]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:32]

    async def _install(self, workspace: Workspace, environment: Environment) -> SetupReply:
        """Install an environment unless that was done; concurrent setups of a key wait for each other."""
        target = self._folder / environment.key
        async with lock_file(self._folder / f"{environment.key}.lock"):
            if _is_complete(target):
                with suppress(OSError):
                    os.utime(target)
                text = f"The environment was installed before with: {environment.setup}"
                return _reply(environment, True, text, "environment: installed before")
            for leftover in self._folder.glob(f"{environment.key}*.new"):
                await run_to_end(partial(remove_folder, leftover))
            draft = self._folder / f"{environment.key}-{uuid.uuid4().hex[:8]}.new"
            try:
                (draft / "files").mkdir(parents=True)
                reply = await self._run_setup(workspace, environment, draft)
                if reply.ready:
                    await run_to_end(partial(_complete, draft, target, environment))
                return reply
            finally:
                await run_to_end(partial(remove_folder, draft))

    async def _run_setup(self, workspace: Workspace, environment: Environment, draft: Path) -> SetupReply:
        async with self._files.copy(workspace) as copy:
            before = await run_to_end(partial(list_files, copy))
            outcome = await self._sandbox.run_command(
                FolderCommand(
                    f"mkdir -p {_TRASH} && {{ {environment.setup}\n}} && rm -rf {_TRASH}",
                    copy,
                    draft / "files",
                    is_setup=True,
                    variables=self._build_setup_variables(environment),
                    visible=self._visible,
                    network=NetworkAccess(True, self._hosts) if environment.allow_network else None,
                    limits=SETUP_LIMITS,
                )
            )
            if outcome.exit_code != 0 or outcome.limits_hit:
                return _describe_failure(environment, outcome)
            left_out = await run_to_end(partial(_keep_generated, copy, before, draft))
        text = f"The environment was installed in {outcome.seconds:.0f} s with: {environment.setup}{left_out}"
        return _reply(environment, True, text, f"environment: installed in {outcome.seconds:.0f} s")

    def _build_setup_variables(self, environment: Environment) -> dict[str, str]:
        # Without these two, Go and Cargo use their own defaults.
        closed = ("GOPROXY", "CARGO_NET_OFFLINE") if environment.allow_network else ()
        return {
            **{name: value for name, value in environment.variables if name not in closed},
            **{"TENURE_PYTHON": str(self._sandbox.runtime.python), "TMPDIR": _TRASH, "VIRTUAL_ENV": ENVIRONMENT},
            **{"PIP_NO_INPUT": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_CACHE_DIR": "1"},
            **{"PIP_PROGRESS_BAR": "off", "UV_NO_CACHE": "1", "npm_config_cache": f"{_TRASH}/npm"},
            **(_trust_system() if environment.allow_network else _OFFLINE),
            **self._variables,
        }


class EnvironmentLost(Exception):
    """The environment of a run cannot be installed again on this machine; the message is one line."""


def _trust_system() -> dict[str, str]:
    """Return the variables by which package managers trust the authorities of the system, as its own programs do."""
    bundle = next((path for path in _AUTHORITIES if Path(path).is_file()), None)
    names = ("SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "CURL_CA_BUNDLE")
    return dict.fromkeys(names, bundle) if bundle else {}


def _read_project(folder: Path) -> tuple[ProjectFacts, dict[str, str]]:
    """Return the facts of a project, and the contents of its declarations."""
    paths = sorted(list_files(folder))
    texts = {}
    for name in list_manifests(paths):
        content = read_file(folder, name, MAX_MANIFEST_BYTES)
        if content is not None:
            texts[name] = content.decode(errors="replace")
    return find_project(texts, paths), texts


def _list_link_steps(project: ProjectFacts) -> tuple[str, ...]:
    facts = {"name": project.name, "version": project.version, "entry_points": project.entry_points}
    script = "/in/tenure/sandbox/inside/link_project.py"
    return (
        '"$TENURE_PYTHON" -m venv --without-pip /environment',
        f'"$TENURE_PYTHON" -I {script} {shlex.quote(json.dumps(facts, sort_keys=True))}',
    )


def _is_complete(folder: Path) -> bool:
    return (folder / "setup.json").is_file()


def _complete(draft: Path, target: Path, environment: Environment) -> None:
    """Give a finished environment its name."""
    (draft / "setup.json").write_text(environment.model_dump_json())
    remove_folder(target)
    draft.rename(target)


def _keep_generated(copy: Path, before: Mapping[str, int], draft: Path) -> str:
    """Keep the files that a setup has generated; return a remark on what is not kept."""
    modules = copy / "node_modules"
    environment_modules = draft / "files" / "node_modules"
    if modules.is_dir() and not modules.is_symlink() and not environment_modules.exists():
        modules.rename(environment_modules)
    new = {name: size for name, size in list_files(copy).items() if name not in before and not _is_by_product(name)}
    if len(new) > MAX_GENERATED_FILES or sum(new.values()) > MAX_GENERATED_BYTES:
        return f"\nIt also left {len(new):,} files in the project, which are too many to be kept."
    for name in new:
        content = read_file(copy, name, MAX_GENERATED_BYTES)
        if content is not None:
            (draft / "generated").mkdir(exist_ok=True)
            place_file(draft / "generated", name, content, mode=(copy / name).stat().st_mode & 0o755)
    return ""


def _is_by_product(name: str) -> bool:
    parts = name.split("/")
    return any(part in _NOT_GENERATED or part.endswith(".egg-info") for part in parts)


def _lend_files(generated: Path, folder: Path) -> tuple[str, ...]:
    """Copy generated files into a folder in which they are not; return their names."""
    if not generated.is_dir():
        return ()
    lent = []
    for name in list_files(generated):
        content = (generated / name).read_bytes()
        mode = (generated / name).stat().st_mode
        if place_file(folder, name, content, replaces=False, mode=mode & 0o777):
            lent.append(name)
    return tuple(lent)


def _take_back(folder: Path, lent: Sequence[str]) -> None:
    """Remove lent files, also those that a command has generated again."""
    for name in lent:
        delete_file(folder, name)


def _describe_failure(environment: Environment, outcome: CommandOutcome) -> SetupReply:
    reason = show_outcome(outcome)
    end = show_end(f"{outcome.stdout}\n{outcome.stderr}")
    text = f"The setup failed ({reason}): {environment.setup}\n{end}"
    if not environment.allow_network and NETWORK_ERROR.search(end):
        text += "\nIt looks as if the setup needs the network, which was not allowed."
    return _reply(environment.model_copy(update={"key": ""}), False, text, f"setup failed: {reason}")


def _reply(environment: Environment, ready: bool, text: str, summary: str) -> SetupReply:
    observation = ActionResult(text=text, summary=summary, failed=not ready)
    return SetupReply(environment=environment, ready=ready, observation=observation)
