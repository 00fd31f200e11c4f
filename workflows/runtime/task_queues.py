"""Name the task queues, one per resource and latency class; a worker serves all of them or some.

Each queue has slots of its own, so that work of hours never delays a search.
"""

TENURE_QUEUE = "tenure"
"""Workflows and cheap activities."""

MODEL_QUEUE = "tenure-model"
"""Chat model calls; rate-limited by the server."""

SEARCH_QUEUE = "tenure-search"
"""Searches and other steps of seconds on the knowledge base that a run waits for."""

INGEST_QUEUE = "tenure-ingest"
"""Reading of documents and tables, and copies of corpora: work of minutes that a run or a command waits for."""

EMBED_QUEUE = "tenure-embed"
"""Embedding in the background and maintenance of the knowledge base: work of hours."""

SANDBOX_QUEUE = "tenure-sandbox"
"""Programs to run and test; its workers need no API keys or passwords."""

WEB_QUEUE = "tenure-web"
"""Web search, web pages and MCP servers: activities that wait for foreign servers."""

BROWSER_QUEUE = "tenure-browser"
"""Web pages whose scripts have to run: activities that need a browser and its memory."""

ALL_QUEUES = (
    TENURE_QUEUE,
    MODEL_QUEUE,
    SEARCH_QUEUE,
    INGEST_QUEUE,
    EMBED_QUEUE,
    SANDBOX_QUEUE,
    WEB_QUEUE,
    BROWSER_QUEUE,
)
"""All queues, in the order in which a worker starts them."""
