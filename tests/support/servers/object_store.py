"""Run an S3-compatible object store on loopback for a test, as a process of its own."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


@contextmanager
def object_store(bucket: str) -> Iterator[dict[str, str]]:
    """Serve a bucket; yield the variables by which every S3 client finds it."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.knowledge.object_store", bucket]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as server:
        try:
            assert server.stdout is not None
            port = int(server.stdout.readline())
            yield {
                "AWS_ACCESS_KEY_ID": "key",
                "AWS_SECRET_ACCESS_KEY": "secret",
                "AWS_DEFAULT_REGION": "eu-central-1",
                "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
            }
        finally:
            server.kill()
