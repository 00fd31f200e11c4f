"""Name the task queues, one per resource; a worker serves all of them or some."""

TENURE_QUEUE = "tenure"
"""Workflows and cheap activities."""

MODEL_QUEUE = "tenure-model"
"""Chat model calls; rate-limited by the server."""

EMBED_QUEUE = "tenure-embed"
"""Ingestion and search: activities that need the CPU and the knowledge base."""

SANDBOX_QUEUE = "tenure-sandbox"
"""Programs to run and test; its workers need no API keys or passwords."""

WEB_QUEUE = "tenure-web"
"""Web search, web pages and MCP servers: activities that wait for foreign servers."""

BROWSER_QUEUE = "tenure-browser"
"""Web pages whose scripts have to run: activities that need a browser and its memory."""

ALL_QUEUES = (TENURE_QUEUE, MODEL_QUEUE, EMBED_QUEUE, SANDBOX_QUEUE, WEB_QUEUE, BROWSER_QUEUE)
"""All queues, in the order in which a worker starts them."""
