"""Errors of the local stack; each message is one line that says what to do.

StackError
└── PortTaken        another program uses the server's port
"""


class StackError(Exception):
    """The local stack cannot be started, stopped or read."""


class PortTaken(StackError):
    """Another program answers on the Temporal port; it may be another Temporal server.

    Attributes:
        port: the port in question.
    """

    def __init__(self, port: int, owner: str) -> None:
        super().__init__(
            f"port {port} is taken by {owner}: set TENURE_TEMPORAL_PORT and TENURE_UI_PORT to free ports, "
            "or stop the other program"
        )
        self.port = port
