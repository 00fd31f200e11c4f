"""Errors of the local stack; each message is one line that says what to do.

StackError
└── PortTaken        the server's port belongs to something that is not this home's stack
"""


class StackError(Exception):
    """The local stack cannot be started, stopped or read."""


class PortTaken(StackError):
    """The Temporal port answers, and not for this home; it may be another Temporal server.

    Attributes:
        port: the port in question.
    """

    def __init__(self, port: int, owner: str) -> None:
        super().__init__(
            f"port {port} is taken by {owner}: set TENURE_TEMPORAL_PORT and TENURE_UI_PORT to free ports, "
            "or stop what is there"
        )
        self.port = port
