"""An OpenAI-compatible server on loopback: real HTTP, scripted answers, scripted faults, a ledger.

It speaks Chat Completions (streamed and not), Responses (background and not), Embeddings and Models. Without
a script it answers every role, since it makes an instance of the JSON schema that came with the request. It
runs in threads of the test's process and serves other processes just as well:

    with ModelServer() as server:
        server.on("router", {"mode": "RESEARCH"})
        server.fail(Fault(429, {"retry-after": "2"}), schema="outliner")
        with server.hold("report_writer") as gate:
            ...                       # start something
            gate.arrived.wait(30)     # a call is in flight, and stays so until the block ends
"""

from tests.model_server.faults import TRANSIENT_FAULTS, UNUSUAL_ANSWERS, Fault, RandomFaults
from tests.model_server.ledger import BilledRequest
from tests.model_server.recording import Recording
from tests.model_server.request import Request
from tests.model_server.server import Gate, ModelServer

__all__ = [
    "TRANSIENT_FAULTS",
    "UNUSUAL_ANSWERS",
    "BilledRequest",
    "Fault",
    "Gate",
    "ModelServer",
    "RandomFaults",
    "Recording",
    "Request",
]
