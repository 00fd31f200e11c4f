"""Find extension modules: roles, tools, retrieval strategies, search providers and document formats.

An extension is one module in an extension package, named after what it adds. Folders in the environment variable
`TENURE_PLUGINS` (separated as in `PATH`) add modules: `FOLDER/KIND/*.py`, with the kinds `roles`, `tools`,
`strategies`, `search_providers` and `document_formats`. The `__init__` of each extension package adds these folders to
its `__path__`. Names come from the names of files, so listing them imports no extension.

The variable is read once in a process: the workflow sandbox imports the packages of tools and strategies again for
every run, and all runs of a process must find the same folders.
"""

import os
import pkgutil
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Final

PLUGINS_VARIABLE: Final = "TENURE_PLUGINS"
"""Environment variable with the folders of plugins."""

SEARCH_PROVIDERS: Final = "tenure.sources.search.providers"
"""Package of the search providers."""

DOCUMENT_FORMATS: Final = "tenure.sources.parsers.formats"
"""Package of the document formats."""


@cache
def get_plugin_folders() -> tuple[Path, ...]:
    """Return the absolute paths of the folders of plugins."""
    folders = os.environ.get(PLUGINS_VARIABLE, "").split(os.pathsep)
    return tuple(Path(folder).absolute() for folder in folders if folder)


@cache
def get_plugin_paths(kind: str) -> tuple[str, ...]:
    """Return the folders of plugins with extensions of a kind, such as `search_providers`."""
    return tuple(str(path) for folder in get_plugin_folders() if (path := folder / kind).is_dir())


def list_extensions(package: str) -> tuple[str, ...]:
    """Return the sorted names of the public modules of an extension package, without importing them."""
    modules = pkgutil.iter_modules(import_module(package).__path__)
    return tuple(sorted({module.name for module in modules if not module.name.startswith("_")}))
