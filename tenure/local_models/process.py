"""Process that serves a model file with the server of llama.cpp: `python -m tenure.local_models.process`.

It is a process of its own, since the server writes to the standard streams and ends only with its process.
"""

import argparse
import sys
import threading
from pathlib import Path

from tenure.local_models.servers import HOST


def main() -> None:
    """Serve until the process is ended; end with code 1 if the model cannot be loaded."""
    parser = argparse.ArgumentParser(prog="python -m tenure.local_models.process", description=__doc__)
    parser.add_argument("--file", type=Path, required=True, metavar="FILE", help="model in the format GGUF")
    parser.add_argument("--name", required=True, metavar="NAME", help="name of the model for clients")
    parser.add_argument("--port", type=int, required=True, metavar="PORT", help="port on 127.0.0.1")
    parser.add_argument("--key-file", type=Path, metavar="FILE", help="file with the key of clients (default: no key)")
    parser.add_argument("--slots", type=int, default=1, metavar="N", help="concurrent requests (default: 1)")
    parser.add_argument("--context-tokens", type=int, default=4096, metavar="N", help="of each slot (default: 4096)")
    parser.add_argument("--threads", type=int, metavar="N", help="of the computation (default: one per core)")
    parser.add_argument("--embeddings", action="store_true", help="return embeddings instead of answers")
    arguments = parser.parse_args()

    # Imported when needed: it is an extra, and `--help` works without.
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(arguments.file)
    params.model_alias = {arguments.name}
    params.hostnames = [HOST]
    params.port = arguments.port
    if arguments.key_file:
        params.api_keys = [arguments.key_file.read_text(encoding="ascii")]
    params.n_parallel = arguments.slots
    params.n_ctx = arguments.slots * arguments.context_tokens
    if arguments.threads:
        params.cpuparams.n_threads = arguments.threads
        params.cpuparams_batch.n_threads = arguments.threads
    params.use_jinja = True
    params.warmup = False
    params.ui = False
    # No web page may ask it, and no cache of prompts grows beyond the memory that was checked.
    params.cors_origins = ""
    params.cache_ram_mib = 0
    params.embedding = arguments.embeddings
    if arguments.embeddings:
        params.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
    try:
        server = xllamacpp.Server(params)
    except RuntimeError as error:
        sys.exit(f"error: llama.cpp cannot serve {arguments.file}: {error}")
    print(server.listening_address, flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
