"""Remember the file that `start -o` named, so that `watch` writes it after the person has left the run."""

import json
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

from tenure.cli.delivery import Delivery
from tenure.cli.terminal import write_file

FOLDER = "outputs"
"""Folder of the home with a file for each run whose report is to be written."""

_MAX_NAME = 200


def remember_output(home: Path, run_id: str, delivery: Delivery) -> None:
    """Store the file and the form of a run's report, if it goes into a file."""
    if delivery.output is None:
        return
    form = {"format": delivery.format, "citations": delivery.citations, "proofs": delivery.proofs}
    path = _locate(home, run_id)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_file(path, json.dumps({"output": str(delivery.output.absolute()), **form}).encode(), private=True)


def recall_output(home: Path, run_id: str, delivery: Delivery) -> Delivery:
    """Return a delivery into the file that the start of a run has named, unless it names a file or a form itself."""
    path = _locate(home, run_id)
    if delivery.output or delivery.format or delivery.json or not path.is_file():
        return delivery
    stored = json.loads(path.read_text(encoding="utf-8"))
    return replace(delivery, **stored | {"output": Path(stored["output"])})


def forget_output(home: Path, run_id: str) -> None:
    """Remove what is stored for a run, whose report was delivered."""
    _locate(home, run_id).unlink(missing_ok=True)


def _locate(home: Path, run_id: str) -> Path:
    return home.absolute() / FOLDER / f"{quote(run_id, safe='~')[:_MAX_NAME]}.json"
