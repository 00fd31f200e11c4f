"""The Tenure library: everything the agent knows and computes, with nothing of Temporal in it."""

__version__ = "0.1.0"
