"""Telling people outside that a run waits, or has ended."""

from typing import Literal

from tenure.contracts.base import Contract

Occasion = Literal["waiting", "finished", "failed"]
"""What is worth telling."""


class Notices(Contract):
    """That a run is to tell people outside, which its request says."""

    ui: str = ""
    """Beginning of the address of its page in the web UI, up to its id; empty where that is not known."""


class Notice(Contract):
    """What people outside are told; no text of a report."""

    delivery: str
    """The same for every attempt to deliver it, and for no other notice."""
    id: str
    """The run."""
    occasion: Occasion
    """Why they are told."""
    status: str
    """How the run stands."""
    question: str
    """What was asked."""
    at: str
    """When it came to that, ISO 8601 in UTC."""
    ui: str = ""
    """Beginning of the address of the run's page, up to its id."""
