"""Build the source distribution and the wheel, install the wheel into an empty environment, and run it elsewhere."""

import json
import os
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
import urllib.request
import zipfile
from contextlib import ExitStack
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

TOP_LEVEL = {"tenure", "tenure_minilm"}
"""Names that a wheel may add to an environment."""

WANTED = (
    "tenure/_app/worker.py",
    "tenure/_app/pyproject.toml",
    "tenure/_app/docs/cli.md",
    "tenure/_app/workflows/__init__.py",
    "tenure/_app/activities/__init__.py",
    "tenure/report/render/templates/report.typ",
    "tenure/sandbox/requirements.txt",
    "tenure/sandbox/inside/pytest.ini",
    "tenure_minilm/model/tokenizer.json",
    "tenure_minilm/model/all-MiniLM-L6-v2-ct2-int8-1/model.bin",
)
"""Files that a wheel must have."""

MAX_MEGABYTES = 30
"""Maximum size of a wheel, most of which is the embedding model."""

SENTENCE = "The lamp of the lighthouse is seen from twenty miles away."
"""The only document of the run."""

SCRIPT = "from tenure import research_sync; print(research_sync('How far is the lamp seen?', docs=['notes']).status)"
"""Program of a user of the Python interface."""


def build(folder: Path) -> Path:
    """Build both distributions, the wheel from the source distribution, check their files, and return the wheel."""
    subprocess.run(["uv", "build", "--quiet", "--out-dir", folder, ROOT], check=True)
    (source,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    with tarfile.open(source) as archive:
        sources = {name.partition("/")[2] for name in archive.getnames()}
    expect("the source distribution has the client", "client.py" in sources)
    with zipfile.ZipFile(wheel) as package:
        names = package.namelist()
    top = {name.split("/")[0] for name in names if ".dist-info/" not in name}
    expect(f"the wheel adds no general name: {sorted(top)}", top == TOP_LEVEL)
    missing = set(WANTED) - set(names)
    expect(f"the wheel is complete: {sorted(missing)} missing", not missing)
    megabytes = wheel.stat().st_size / 1e6
    expect(f"the wheel has at most {MAX_MEGABYTES} MB: {megabytes:.1f}", megabytes <= MAX_MEGABYTES)
    return wheel


def install(wheel: Path, folder: Path) -> Path:
    """Install a wheel into a new environment, and return the command `tenure`."""
    subprocess.run(["uv", "venv", "--quiet", "--python", sys.executable, folder], check=True)
    command = ["uv", "pip", "install", "--quiet", "--python", folder / "bin" / "python", wheel]
    subprocess.run(command, check=True)
    return folder / "bin" / "tenure"


def run(tenure: Path, folder: Path) -> None:
    """Answer a question from a document with the installed command, in another folder and without a model."""
    (folder / "notes").mkdir(parents=True)
    (folder / "notes" / "lamp.md").write_text(f"# Lighthouses\n\n{SENTENCE}\n", encoding="utf-8")
    environment = make_environment(folder)

    def call(*arguments: str, program: Path = tenure) -> str:
        command = [program, *arguments]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
        expect(f"{program.name} {' '.join(arguments)}: {done.stderr[-2000:]}", done.returncode == 0)
        return done.stdout

    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    expect("the version is printed", call("--version") == f"tenure {version}\n")
    expect("the help names the command", call("--help").startswith("usage: tenure "))
    try:
        call("start", "How far is the lamp of the lighthouse seen?", "--docs", "notes", "-o", "report.md")
        link = json.loads(call("serve", "--json"))["url"]
        # Without the proxies of the environment; the first visit sets a cookie.
        visitor = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor())
        visitor.open(link, timeout=120).close()
        with visitor.open(link.partition("?")[0], timeout=120) as page:
            expect("the stack serves the page", "How far is the lamp" in page.read().decode())
        status = call("-c", SCRIPT, program=tenure.with_name("python"))
    finally:
        call("down")
    expect("the report quotes the document", SENTENCE in (folder / "report.md").read_text(encoding="utf-8"))
    expect(f"a script gets a result: {status}", status == "done\n")
    expect("the state is in the home of the user", (folder / "data" / "tenure" / "temporal.db").is_file())


def make_environment(folder: Path) -> dict[str, str]:
    """Return the environment of a user without settings, and with ports that are free."""
    settings = ("TENURE_", "TEMPORAL_", "OPENAI_", "PYTHON", "VIRTUAL_ENV", "UV_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(settings)}
    names = ("TENURE_TEMPORAL_PORT", "TENURE_UI_PORT", "TENURE_SITE_PORT")
    with ExitStack() as held:
        # All are open at the same time, so that they differ.
        servers = [held.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in names]
        ports = [str(server.getsockname()[1]) for server in servers]
    return kept | {"XDG_DATA_HOME": str(folder / "data"), **dict(zip(names, ports, strict=True))}


def expect(what: str, holds: bool) -> None:
    """End the check with a message unless a condition holds."""
    if not holds:
        sys.exit(f"the package is broken: {what}")


def main() -> None:
    """Run the check and print the seconds of each step."""
    folder = Path(tempfile.mkdtemp(prefix="tenure-package-"))
    try:
        begun = time.monotonic()
        wheel = build(folder / "dist")
        built = time.monotonic()
        tenure = install(wheel, folder / "environment")
        installed = time.monotonic()
        run(tenure, folder / "elsewhere")
        ended = time.monotonic()
    finally:
        shutil.rmtree(folder)
    print(f"built in {built - begun:.0f} s, installed in {installed - built:.0f} s, run in {ended - installed:.0f} s")


if __name__ == "__main__":
    main()
