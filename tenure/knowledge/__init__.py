"""Store and retrieve documents, memories and web pages in LanceDB."""

import pydantic


def _import_catalogue_client() -> None:
    """Import LanceDB's client of remote catalogues in half the time.

    pydantic builds a validator for each of its methods, which takes a second of CPU time per process. Tenure never
    calls
    these methods, so the validators are not built.
    """
    checked = pydantic.validate_call
    pydantic.validate_call = lambda function: function  # type: ignore[assignment]
    try:
        import lance_namespace  # noqa: F401 - it stays loaded for LanceDB
    finally:
        pydantic.validate_call = checked


_import_catalogue_client()
