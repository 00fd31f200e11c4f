"""What is known and remembered: documents, chunks and vectors in LanceDB (DESIGN §6)."""
