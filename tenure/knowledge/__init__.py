"""Store and retrieve documents, memories and web pages in LanceDB."""
