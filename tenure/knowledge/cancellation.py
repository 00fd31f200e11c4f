"""Provide the default of `cancelled` parameters."""


def is_never_cancelled() -> bool:
    """Return False: the operation cannot be cancelled."""
    return False
