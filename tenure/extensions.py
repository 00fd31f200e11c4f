"""Find extension modules: search providers and document formats.

An extension is one module in an extension package, named after the provider or format. Folders in the environment
variable `TENURE_PLUGINS` (separated as in `PATH`) add modules: `FOLDER/search_providers/*.py` and
`FOLDER/document_formats/*.py`. Names come from the names of files, so listing them imports no extension.
"""

import os
import pkgutil
from importlib import import_module
from pathlib import Path
from typing import Final

PLUGINS_VARIABLE: Final = "TENURE_PLUGINS"
"""Environment variable with the folders of plugins."""

SEARCH_PROVIDERS: Final = "tenure.sources.search.providers"
"""Package of the search providers."""

DOCUMENT_FORMATS: Final = "tenure.sources.parsers.formats"
"""Package of the document formats."""


def get_plugin_paths(kind: str) -> list[str]:
    """Return the folders of plugins with extensions of a kind, such as `search_providers`."""
    folders = os.environ.get(PLUGINS_VARIABLE, "").split(os.pathsep)
    return [str(path) for folder in folders if folder and (path := Path(folder, kind)).is_dir()]


def list_extensions(package: str) -> tuple[str, ...]:
    """Return the sorted names of the public modules of an extension package, without importing them."""
    modules = pkgutil.iter_modules(import_module(package).__path__)
    return tuple(sorted({module.name for module in modules if not module.name.startswith("_")}))
