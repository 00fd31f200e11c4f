"""The phases of one report: outline, gather, reason, write, review, finalize."""
