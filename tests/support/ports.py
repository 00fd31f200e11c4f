"""Ports for servers that a test starts after it has chosen their numbers."""

import os
import re
import socket
from itertools import cycle
from random import SystemRandom

# Linux gives outgoing connections ports from 32768 on (ip_local_port_range), and one of those took a chosen port
# before its server did. No well-known server of the tests listens in this range.
_PORTS = range(20000, 32768)
# Processes of one test run choose from ranges of their own: "gw1" of pytest-xdist is number 1.
_PORTS_OF_A_PROCESS = 1500
_PROCESS = int((re.findall(r"\d+", os.environ.get("PYTEST_XDIST_WORKER", "")) or [0])[0]) % 8
_START = _PORTS.start + _PROCESS * _PORTS_OF_A_PROCESS
# Another test run on the machine begins elsewhere in the range.
_OFFSET = SystemRandom().randrange(_PORTS_OF_A_PROCESS)
_candidates = cycle(_START + (_OFFSET + number) % _PORTS_OF_A_PROCESS for number in range(_PORTS_OF_A_PROCESS))


def free_ports(count: int) -> list[int]:
    """Return ports of 127.0.0.1 that no program uses and that no outgoing connection will be given."""
    ports: list[int] = []
    while len(ports) < count:
        port = next(_candidates)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        ports.append(port)
    return ports
