"""Import LanceDB in half the time.

Its client of remote catalogues has hundreds of methods, and pydantic builds a validator for each of them at import,
which takes a second of CPU time per process. Tenure never calls these methods.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import pydantic


@contextmanager
def skip_call_validators() -> Iterator[None]:
    """Import modules without building validators of functions."""
    checked = pydantic.validate_call
    pydantic.validate_call = lambda function: function  # type: ignore[assignment]
    try:
        yield
    finally:
        pydantic.validate_call = checked
