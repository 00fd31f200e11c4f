"""Task queues, one per resource (DESIGN §9); a worker serves all of them or some."""

TENURE_QUEUE = "tenure"
"""Workflows and cheap activities."""

MODEL_QUEUE = "tenure-model"
"""Chat model calls; rate-limited by the server."""

EMBED_QUEUE = "tenure-embed"
"""Ingestion and search: what needs the CPU and the knowledge base."""

SANDBOX_QUEUE = "tenure-sandbox"
"""Programs that are run and tested; its workers need no key and no password."""

WEB_QUEUE = "tenure-web"
"""Search engines and pages of the web: what waits for other people's servers."""

BROWSER_QUEUE = "tenure-browser"
"""Pages whose scripts have to run: what needs a browser, and memory for it."""

ALL_QUEUES = (TENURE_QUEUE, MODEL_QUEUE, EMBED_QUEUE, SANDBOX_QUEUE, WEB_QUEUE, BROWSER_QUEUE)
"""Every queue, in the order a worker starts them."""
