"""Tenure: a research and coding agent with durable runs.

The names of the Python interface are imported when they are first used, since the interface imports the Temporal SDK.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tenure.python_api import InvalidRequest, RunHandle, TenureError, open_run, research, research_sync, start

__version__ = "0.1.0"

__all__ = [
    "InvalidRequest",
    "RunHandle",
    "TenureError",
    "__version__",
    "open_run",
    "research",
    "research_sync",
    "start",
]


def __getattr__(name: str) -> Any:
    """Import a name of the Python interface at its first use."""
    if name not in __all__:
        raise AttributeError(f"module 'tenure' has no attribute {name!r}")
    from tenure.installation import ROOT, extend_import_path

    extend_import_path(ROOT)
    from tenure import python_api

    return getattr(python_api, name)
