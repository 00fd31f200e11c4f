"""Stub of the process that serves a local model: it is loaded immediately, or ends if its file says so."""

import argparse
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class Handler(BaseHTTPRequestHandler):
    """Answers every request with success."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--file", type=Path)
    parser.add_argument("--port", type=int)
    given, _ = parser.parse_known_args()
    if b"damaged" in given.file.read_bytes():
        print("0.00 E llama_model_load: error loading model: tensor 'a' is not within the file bounds")
        sys.exit("error: it cannot be served")
    ThreadingHTTPServer(("127.0.0.1", given.port), Handler).serve_forever()


if __name__ == "__main__":
    main()
