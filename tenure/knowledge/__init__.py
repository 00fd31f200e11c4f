"""What is known and remembered: documents, chunks and vectors in LanceDB (DESIGN §6)."""

import pydantic


def _import_catalogue_client() -> None:
    """Import the client of remote catalogues that LanceDB brings along, in half the time.

    Each of its methods wants its arguments checked, and making these checks takes a second of processor time
    whenever a process starts. Nothing here calls them.
    """
    checked = pydantic.validate_call
    pydantic.validate_call = lambda function: function  # type: ignore[assignment]
    try:
        import lance_namespace  # noqa: F401 - it stays loaded for LanceDB
    finally:
        pydantic.validate_call = checked


_import_catalogue_client()
