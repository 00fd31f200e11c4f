"""Test tasks from real fixes on a repository that the test makes: they are found, verified, solved and evaluated."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks import swebench
from benchmarks.repositories import __main__ as repositories
from benchmarks.repositories import first_action, offline, seeding
from benchmarks.repositories.__main__ import Mine, Source
from benchmarks.repositories.candidates import (
    is_fix,
    is_test_file,
    iterate_candidates,
    list_issues,
    select_files,
    write_statement,
)
from benchmarks.repositories.clones import Commit, FileChange, PatchRefused, apply_patch, find_clone, make_base, run_git
from benchmarks.repositories.conversations import Usage, count_usage
from benchmarks.repositories.evaluation import evaluate
from benchmarks.repositories.instances import (
    InstallConfig,
    Instance,
    Prediction,
    append_prediction,
    read_instances,
    read_predictions,
    write_instances,
)
from benchmarks.repositories.seeding import Seeder, iterate_faults, read_modules
from benchmarks.repositories.systems import Attempt, build_test_command
from benchmarks.repositories.test_runs import parse_tap, read_jest_report
from benchmarks.repositories.verification import NotVerified, compare_outcomes
from evals.by_hand.folder import RequestFolder, RequestInbox
from tenure.algorithms.coding.engineer_answer import parse_engineer_answer
from tenure.algorithms.coding.mutation import normalize_source
from tenure.algorithms.text.code_blocks import parse_python

CODE = "def halve(number):\n    return number // 2\n\n\ndef double(number):\n    return number * 2\n"
TESTS = "from numbers_lib import double, halve\n\n\ndef test_double():\n    assert double(2) == 4\n"
FIXED_CODE = CODE.replace("number // 2", "number / 2")
FIXED_TESTS = TESTS + "\n\ndef test_halve():\n    assert halve(3) == 1.5\n"
MESSAGE = "Fix the half of odd numbers (#7)\n\nhalve(3) returned 1, which is wrong. The fix is to divide.\n"

needs_box = pytest.mark.skipif(os.geteuid() != 0, reason="the box runs as another user, which only root can start")


def commit(folder: Path, files: dict[str, str], message: str) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")
    names = {
        f"GIT_{who}_{what}": value
        for who in ("AUTHOR", "COMMITTER")
        for what, value in {"NAME": "a", "EMAIL": "a@b"}.items()
    }
    run_git("add", "--all", folder=folder)
    run_git("commit", "--quiet", f"--message={message}", folder=folder, stdin=None, **names)


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """Return a folder that every user of the machine can read, as the box has to."""
    with tempfile.TemporaryDirectory(prefix="test-repositories-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture
def clones(tmp_path: Path) -> Path:
    """Return a folder of clones with one repository: a commit, its fix, and a commit of documentation."""
    folder = tmp_path / "clones" / "owner+numbers"
    folder.mkdir(parents=True)
    run_git("init", "--quiet", "--initial-branch=main", folder=folder)
    commit(folder, {"numbers_lib.py": CODE, "tests/test_numbers.py": TESTS}, "Begin")
    commit(folder, {"numbers_lib.py": FIXED_CODE, "tests/test_numbers.py": FIXED_TESTS}, MESSAGE)
    commit(folder, {"README.md": "Fixed."}, "Fix a word of the documentation")
    return tmp_path / "clones"


CONFIG = InstallConfig(environment="owner+numbers", tests=("tests",))


def build_instance(clones: Path, **changes: Any) -> Instance:
    """Return the instance that the fix of the repository gives."""
    (candidate,) = iterate_candidates(find_clone(clones, "owner/numbers"), "python")
    clone = clones / "owner+numbers"
    patch, test_patch = (
        run_git("diff", candidate.parent, candidate.commit.hash, "--", path, folder=clone).decode()
        for path in ("numbers_lib.py", "tests")
    )
    instance = Instance(
        instance_id=f"owner__numbers-{candidate.commit.hash[:10]}",
        repo="owner/numbers",
        base_commit=candidate.parent,
        problem_statement="halve(3) returns 1.",
        patch=patch,
        test_patch=test_patch,
        FAIL_TO_PASS=("tests/test_numbers.py::test_halve",),
        PASS_TO_PASS=("tests/test_numbers.py::test_double",),
        install_config=CONFIG,
    )
    return replace(instance, **changes)


def make_environment(folder: Path) -> Path:
    """Make an environment whose `python` is the one of the tests, as far as another user can read it."""
    target = folder / "environments" / CONFIG.environment
    subprocess.run(["uv", "venv", "--quiet", "--python", repositories_python(), str(target)], check=True)
    site = next((target / "lib").glob("python*/site-packages"))
    own = Path(pytest.__file__).parents[1]
    for name in ("pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments"):
        shutil.copytree(own / name, site / name)
    shutil.copy2(own / "py.py", site)
    (target / "installed.json").write_text("{}")
    return target


def repositories_python() -> str:
    return "/usr/bin/python3" if Path("/usr/bin/python3").exists() else sys.executable


# Choice of commits


@pytest.mark.parametrize(
    ("path", "is_test"),
    [
        ("tests/data/a.txt", True),
        ("src/test_a.py", True),
        ("conftest.py", True),
        ("lib/a.test.js", True),
        ("src/latest.py", False),
        ("testing.py", False),
    ],
)
def test_files_of_tests_are_known(path: str, is_test: bool) -> None:
    """Folders and names of tests decide, in Python and JavaScript."""
    assert is_test_file(path) == is_test


def build_commit(message: str, parents: int = 1, author: str = "a <a@b>") -> Commit:
    return Commit("1" * 40, ("2" * 40,) * parents, author, "2026-01-01", message)


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (build_commit("Fix a crash"), True),
        (build_commit("Add a prefix"), False),
        (build_commit("Fix a crash", parents=0), False),
        (build_commit("Merge branch 'fix'", parents=2), False),
        (build_commit("Merge pull request #3 from a/b\n\nFix a crash", parents=2), True),
        (build_commit("Fix a crash", author="renovate[bot] <a@b>"), False),
    ],
)
def test_fixes_are_told_by_their_messages(made: Commit, expected: bool) -> None:
    """A fix has a word of a fix as a whole word, and a person as its author."""
    assert is_fix(made) == expected


@pytest.mark.parametrize(
    "changes",
    [
        {"a.py": 3},
        {"tests/test_a.py": 3},
        {"a.py": 151, "tests/test_a.py": 3},
        {"a.py": 3, "setup.cfg": 1, "tests/test_a.py": 3},
        {"a.py": 1, "b.py": 1, "c.py": 1, "d.py": 1, "tests/test_a.py": 3},
        {"a.py": 3, "tests/data.txt": 3},
    ],
)
def test_commits_of_another_kind_are_no_candidates(changes: dict[str, int]) -> None:
    """Without tests, with too many files or lines, or with files of another kind a commit is left out."""
    files = tuple(FileChange(path, lines, 0) for path, lines in changes.items())

    assert select_files(build_commit("Fix it"), files, "python") is None


def test_a_statement_has_no_solution() -> None:
    """Trailers and what was done are left out; the text of an issue goes before the message."""
    fix = build_commit(
        "Fix the crash of empty files (#12)\n\nAn empty file has no lines. Add a check.\n\nSigned-off-by: A"
    )

    assert write_statement(fix) == "Fix the crash of empty files (#12)\n\nAn empty file has no lines."
    assert write_statement(fix, "An empty file crashes the reader, always.\n\n## Proposed fix\n\nCheck it.") == (
        "An empty file crashes the reader, always."
    )
    assert write_statement(build_commit("Fix it")) == ""
    assert list_issues("Fix #3 and https://example.org/issues/4, see #3") == ("3", "4")


# Outcomes


def test_outcomes_are_compared() -> None:
    """Unstable tests are in neither list, and a fix that breaks a test is refused."""
    before = [{"a": "failed", "b": "passed", "c": "failed"}, {"a": "failed", "b": "passed", "c": "passed"}]
    after = [{"a": "passed", "b": "passed", "c": "passed"}] * 2

    assert compare_outcomes(before, after) == (("a",), ("b",))  # type: ignore[arg-type]
    with pytest.raises(NotVerified, match="breaks b"):
        compare_outcomes(before, [{"a": "passed", "b": "failed"}] * 2)  # type: ignore[arg-type]


def test_reports_of_other_runners_are_read() -> None:
    """Nested TAP tests have the names around them, and files that Jest cannot load are errors."""
    tap = "# File: a.js\n# Subtest: parse\n    ok 1 - reads\n    not ok 2 - writes\nnot ok 1 - parse # time=1ms\n"
    report = {
        "testResults": [
            {"name": "/testbed/a.js", "status": "failed", "assertionResults": []},
            {"name": "/testbed/b.js", "status": "passed", "assertionResults": [{"fullName": "x", "status": "passed"}]},
        ]
    }

    assert parse_tap(tap) == {
        "a.js > parse > reads": "passed",
        "a.js > parse > writes": "failed",
        "a.js > parse": "failed",
    }
    assert read_jest_report(report) == {"a.js": "error", "b.js > x": "passed"}


# Instances and predictions


def test_instances_have_the_official_format(clones: Path, tmp_path: Path) -> None:
    """Lists of tests are JSON in a string, unknown columns are ignored, and rows are read back as they were."""
    instance = build_instance(clones)
    write_instances(tmp_path / "a.jsonl", [instance])
    row = json.loads((tmp_path / "a.jsonl").read_text())
    (tmp_path / "b.json").write_text(json.dumps([{**row, "difficulty": "easy", "install_config": None}]))

    assert json.loads(row["FAIL_TO_PASS"]) == list(instance.FAIL_TO_PASS)
    assert read_instances(tmp_path / "a.jsonl") == (instance,)
    assert read_instances(tmp_path / "b.json") == (replace(instance, install_config=None),)
    with pytest.raises(KeyError):
        read_instances(tmp_path / "a.jsonl", ["another"])


def test_predictions_of_both_formats_are_read(tmp_path: Path) -> None:
    """Lines and an object by ids are read."""
    prediction = Prediction("a", "m", "diff")
    append_prediction(tmp_path / "a.jsonl", prediction)
    append_prediction(tmp_path / "a.jsonl", replace(prediction, instance_id="b"))
    (tmp_path / "b.json").write_text(
        json.dumps({"a": {"instance_id": "a", "model_name_or_path": "m", "model_patch": None}})
    )

    assert [one.instance_id for one in read_predictions(tmp_path / "a.jsonl")] == ["a", "b"]
    assert read_predictions(tmp_path / "b.json") == (replace(prediction, model_patch=""),)


def test_a_base_has_no_history(clones: Path, tmp_path: Path) -> None:
    """The base has the files of the parent, and no other commit."""
    instance = build_instance(clones)
    made = make_base(find_clone(clones, "owner/numbers"), instance.base_commit, tmp_path / "one")
    again = make_base(find_clone(clones, "owner/numbers"), instance.base_commit, tmp_path / "two")

    assert made == again
    assert run_git("rev-list", "--all", folder=tmp_path / "one").decode().split() == [made]
    assert (tmp_path / "one" / "numbers_lib.py").read_text() == CODE
    with pytest.raises(PatchRefused):
        apply_patch(tmp_path / "one", "no patch")


# Counting


def test_usage_is_counted_from_the_requests(tmp_path: Path) -> None:
    """A request that continues another one has it in the cache; a second request of the same content is repeated."""
    inbox = RequestInbox(RequestFolder(tmp_path))
    messages = [
        {"role": role, "content": text} for role, text in (("user", "a" * 400), ("assistant", "b"), ("user", "c"))
    ]
    first, second = {"model": "m", "messages": messages[:1]}, {"model": "m", "messages": messages}
    for body in (first, second, {**first, "temperature": 1}):
        with inbox.receive(body) as request:
            request.save_answer("answer")

    usage = count_usage(RequestFolder(tmp_path).load_all())

    assert (usage.calls, usage.repeated) == (3, 1)
    assert usage.cached_tokens < usage.prompt_tokens
    assert usage.new_tokens == usage.prompt_tokens - usage.cached_tokens
    assert count_usage([]) == Usage()


@pytest.mark.parametrize(
    ("config", "command"),
    [
        (replace(CONFIG, paths=("src",)), "PYTHONPATH=src python -m pytest -o addopts= -p no:cacheprovider -q tests"),
        (InstallConfig("a", "node", "jest", tests=("tests",)), "npx jest tests"),
        (InstallConfig("a", "node", "node", before="node build.js"), "node build.js && node --test"),
    ],
)
def test_test_commands_are_those_of_a_person(config: InstallConfig, command: str) -> None:
    """A system gets a command that a person would write."""
    assert build_test_command(config) == command


# In the box


@needs_box
def test_a_fix_becomes_a_task_and_is_evaluated(clones: Path, tmp_path: Path) -> None:
    """The fix is found and verified; its patch resolves the task, a wrong one and one of the tests do not."""
    environment = make_environment(tmp_path)
    config = json.dumps({"environment": CONFIG.environment})
    (environment / "installed.json").write_text(config)
    source = Source("owner/numbers", "mathematics", CONFIG)
    mine = Mine(clones, tmp_path, tmp_path / "issues")
    mine._environments = FixedEnvironments(environment)  # type: ignore[assignment]  # installing needs an index
    mine.dig(source)
    (task,) = read_instances(tmp_path / "tasks" / "owner+numbers.jsonl")

    assert (task.FAIL_TO_PASS, task.PASS_TO_PASS) == (
        ("tests/test_numbers.py::test_halve",),
        ("tests/test_numbers.py::test_double",),
    )
    assert task.problem_statement == "Fix the half of odd numbers (#7)\n\nhalve(3) returned 1, which is wrong."
    clone, work = find_clone(clones, "owner/numbers"), tmp_path / "work" / "evaluation"
    good = evaluate(task, task.patch, clone, environment, work)
    assert (good.resolved, good.kept) == (True, 1)
    broken = evaluate(task, task.patch.replace("number / 2", "str(number)"), clone, environment, work)
    assert (broken.resolved, broken.applied, broken.unfixed) == (False, True, task.FAIL_TO_PASS)
    assert evaluate(task, "", clone, environment, work).reason == "the patch is empty"
    assert not evaluate(task, "diff --git a/x b/x\n", clone, environment, work).applied
    # A patch of the tests changes nothing: the hidden ones are put in its place.
    cheat = task.test_patch.replace("== 1.5", "== 1")
    assert not evaluate(task, cheat, clone, environment, work).resolved


class FixedEnvironments:
    """Environments of which one exists."""

    def __init__(self, environment: Path) -> None:
        self._environment = environment

    def install(self, config: InstallConfig) -> Path:
        """Return the environment."""
        return self._environment


@needs_box
def test_a_command_sees_no_network_and_writes_only_its_folder(tmp_path: Path) -> None:
    """A command in the box reaches neither a server of this machine nor files outside of its folder."""
    work, environment = tmp_path / "work", tmp_path / "environment"
    work.mkdir()
    environment.mkdir()
    offline.hand_over(work)
    program = "import socket; s = socket.socket(); s.settimeout(1); s.connect(('127.0.0.1', 1))"
    command = f'id -u; touch here /usr/there /environment/there; ls {tmp_path}; python3 -c "{program}"'

    ran = offline.run_offline(command, work, environment, 30)

    assert ran.exit_code == 1
    assert ran.output.startswith("65534\n")
    assert "cannot touch '/usr/there'" in ran.output
    assert "cannot touch '/environment/there'" in ran.output
    assert "cannot access" in ran.output
    assert [path.name for path in work.iterdir()] == ["here"]
    assert offline.run_offline("sleep 60", work, environment, 0.5).exit_code is None


# The adapter


class StubSystem:
    """A system that returns the patch of the fix, or fails."""

    name = "tenure"

    def __init__(self, patch: str, status: str = "done") -> None:
        self._attempt = Attempt(patch, status, 1.0)
        self.bases: list[str] = []

    def solve(self, instance: Instance, base: Path, environment: Path, folder: Path, base_url: str) -> Attempt:
        """Return the patch."""
        self.bases.append((base / "numbers_lib.py").read_text())
        return self._attempt


@needs_box
def test_predictions_are_written_and_judged(clones: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A system works on the base; its patch is a prediction, is evaluated, and is a column of the table."""
    make_environment(tmp_path)
    instance = build_instance(clones)
    file = tmp_path / "instances.jsonl"
    write_instances(file, [instance])
    bench = swebench.Bench(file, tmp_path)
    failing, system = StubSystem("", "failed"), StubSystem(instance.patch)

    bench.run(failing, clones, (), by_hand=True)
    assert not (tmp_path / "tenure" / "predictions.jsonl").exists()
    bench.run(system, clones, (), by_hand=True)
    bench.run(system, clones, (), by_hand=True)

    assert system.bases == [CODE]
    predictions = tmp_path / "tenure" / "predictions.jsonl"
    assert read_predictions(predictions) == (Prediction(instance.instance_id, "tenure", instance.patch),)
    arguments = [str(file), str(predictions), "--clones", str(clones), "--into", str(tmp_path)]
    assert swebench.main(["evaluate", *arguments]) == 0
    assert swebench.main(["table", str(file), "--into", str(tmp_path)]) == 0
    output = capsys.readouterr().out
    assert "resolved: 0 not fixed, 0 broken, 1 kept" in output
    assert "solved" in output


def test_tasks_are_listed(clones: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The list has a line for each task."""
    write_instances(tmp_path / "a.jsonl", [build_instance(clones)])

    assert repositories.main(["list", str(tmp_path / "a.jsonl")]) == 0
    assert "2 lines,    19 characters, 1 to fix, 1 to keep" in capsys.readouterr().out


def test_sources_are_of_different_kinds() -> None:
    """The selection has repositories of at least eight kinds, and others than Python."""
    sources = repositories.read_sources()

    assert len({source.kind for source in sources}) >= 8
    assert {source.config.ecosystem for source in sources} == {"python", "node"}


# Seeded faults


def test_faults_change_the_program_and_take_the_modules_in_turn() -> None:
    """Every fault is another program, and the order depends on the sources only."""
    files = {"a.py": "def f(x):\n    return x + 1\n", "b.py": "def g(x):\n    return x - 1\n"}

    faults = list(iterate_faults(files))

    assert [path for path, _ in faults[:3]] == ["a.py", "b.py", "a.py"]
    assert all(normalize_source(source) != normalize_source(files[path]) for path, source in faults)
    assert faults == list(iterate_faults(files))


@needs_box
def test_a_test_that_fails_by_chance_shows_no_fault(
    clones: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault is left out if its only failing test passes when it is run again."""
    passing = dict.fromkeys((f"test_{n}" for n in range(12)), "passed")
    by_chance, lasting = {**passing, "test_3": "failed"}, {**passing, "test_7": "failed"}
    runs = iter([passing, by_chance, passing, lasting, lasting])
    monkeypatch.setattr(seeding, "run_tests", lambda *arguments: SimpleNamespace(outcomes=next(runs)))
    commit(clones / "owner+numbers", {"numbers_lib.py": "def f(x):\n    return x + 1\n"}, "More")
    seeder = Seeder("owner/numbers", CONFIG, tmp_path, tmp_path / "work" / "seed")

    (fault,) = seeder.seed(find_clone(clones, "owner/numbers"), "HEAD", tmp_path / "seeds" / "owner+numbers", 1)

    assert fault.FAIL_TO_PASS == ("test_7",)


def test_the_repository_of_a_first_action_is_large_and_new() -> None:
    """It has 5,000 modules that another one has not, and the model reads a file of it before the end."""
    first, second = first_action.make_files(1), first_action.make_files(2)

    modules = [path for path, content in first.items() if second[path] != content]
    assert len(modules) == 5_000
    assert all(parse_python(str(first[path])) for path in modules[:3])
    started = {"messages": [{"role": "user", "content": first_action.TASK}]}
    answered = {"messages": [*started["messages"], {"role": "assistant", "content": first_action.FIRST_ANSWER}]}
    kinds = [
        [one.kind for one in parse_engineer_answer(first_action.answer(one)).actions] for one in (started, answered)
    ]
    assert kinds == [["read"], ["done"]]


@needs_box
def test_a_seeded_fault_is_a_task(clones: Path, tmp_path: Path) -> None:
    """The base has one fault, its statement names the failing tests, and the original code resolves it."""
    code = "".join(f"def f{n}(x):\n    return x + {n}\n\n\n" for n in range(12))
    tests = "import numbers_lib\n\n\n" + "".join(
        f"def test_{n}():\n    assert numbers_lib.f{n}(1) == {n + 1}\n\n\n" for n in range(12)
    )
    commit(clones / "owner+numbers", {"numbers_lib.py": code, "tests/test_numbers.py": tests}, "More")
    environment = make_environment(tmp_path)
    seeder = Seeder("owner/numbers", CONFIG, environment, tmp_path / "work" / "seed")
    clone = find_clone(clones, "owner/numbers")
    seeds = tmp_path / "seeds" / "owner+numbers"

    (fault,) = seeder.seed(clone, "HEAD", seeds, 1)

    assert len(fault.FAIL_TO_PASS) == 1
    assert len(fault.PASS_TO_PASS) == 11
    assert fault.FAIL_TO_PASS[0] in fault.problem_statement
    work, base = tmp_path / "work" / "evaluation", find_clone(tmp_path / "seeds", "owner/numbers")
    assert evaluate(fault, fault.patch, base, environment, work).resolved
    assert read_modules(seeds) == {"numbers_lib.py": code}
