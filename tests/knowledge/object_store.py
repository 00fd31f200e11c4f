"""Serve an S3-compatible object store on loopback; `python -m tests.knowledge.object_store BUCKET` prints its port.

It handles one request at a time, so that conditional writes are as atomic as LanceDB needs.
"""

import sys

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server
from werkzeug.test import Client


class Silent(WSGIRequestHandler):
    """Request handler that logs nothing."""

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Log nothing."""


def main() -> None:
    """Serve until killed."""
    application = DomainDispatcherApplication(create_backend_app)
    Client(application).put(f"/{sys.argv[1]}", base_url="http://127.0.0.1")
    server = make_server("127.0.0.1", 0, application, threaded=False, request_handler=Silent)
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
