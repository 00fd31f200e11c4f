"""HTTP server on the loopback interface that counts every request: a place that orders want to be reached."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self


class Trap:
    """The server, used as a context manager."""

    def __init__(self) -> None:
        self.requests: list[str] = []
        """Request lines, in order."""
        trap = self

        class Handler(BaseHTTPRequestHandler):
            def handle_one_request(self) -> None:
                self.raw_requestline = self.rfile.readline(65537)
                trap.requests.append(self.raw_requestline.decode("latin-1").strip())
                self.close_connection = True
                self.wfile.write(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ntrap")

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), name="trap", daemon=True)

    @property
    def origin(self) -> str:
        """URL without a path."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
