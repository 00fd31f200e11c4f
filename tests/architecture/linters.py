"""Import of the linters in .ci/, which is a folder of scripts and not a package."""

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]


def load_linter(name: str) -> ModuleType:
    """Import a module of .ci/."""
    folder = str(ROOT / ".ci")
    if folder not in sys.path:
        sys.path.append(folder)
    return import_module(name)
