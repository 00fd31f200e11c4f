"""Requests and replies for follow-up questions about a run, asked while or after it writes its report.

A thread is the short-term memory of a conversation. It travels from answer to answer, so that no process has to live
between two questions.
"""

from typing import Literal

from tenure.contracts.base import Contract, RunId, SourceId
from tenure.contracts.evidence.passages import PassageRef
from tenure.contracts.result.result import ResultClaim, SourceEntry
from tenure.contracts.run.run import FallbackRecord, Question, RunLimits, Usage

MAX_THREAD_EXCHANGES = 6
"""Maximum number of exchanges in a thread; older ones are dropped."""


class Exchange(Contract):
    """A question and its answer."""

    question: str
    """Question as asked."""
    standalone_question: str
    """Question rewritten to be understandable without the thread, as searched."""
    answer: str = ""
    """Text of the answer without citation marks, shortened; empty if nothing was found."""
    passages: tuple[PassageRef, ...] = ()
    """Passages cited by the answer."""


class Thread(Contract):
    """Memory of a conversation about a run."""

    report: str = ""
    """Answer of the report without citation marks, shortened; empty if there is none."""
    exchanges: tuple[Exchange, ...] = ()
    """Latest exchanges, oldest first."""
    sources: tuple[SourceId, ...] = ()
    """Numbered sources in order: those of the report, then those of the answers."""
    read_web: bool = False
    """Whether web pages were read for it, so that they are searched, too."""


class ResultText(Contract):
    """A text on the result of a run, which an answer can cite."""

    title: str
    text: str
    """The text in Markdown."""


def get_change_corpus(run: str) -> str:
    """Return the corpus of the texts on the result of a run; no corpus of a person has such a name."""
    return f"change/{run}"


class ResultTextsRequest(Contract):
    """Texts on the result of a run to be stored, and a question about them."""

    run: RunId
    question: str
    texts: tuple[ResultText, ...]


class AskRequest(Contract):
    """A follow-up question."""

    run: RunId
    """Run that the question is about."""
    topic: str
    """Question of the run."""
    question: Question
    corpora: tuple[str, ...] = ()
    databases: tuple[str, ...] = ()
    texts: tuple[ResultText, ...] = ()
    """Texts on the result of a coding run, all of which are read; empty for research."""
    limits: RunLimits = RunLimits()
    """Limits of the answer; contain a web scope only if the web may be read now."""
    search: bool = False
    """Whether a second search may look for what the first did not find."""
    thread: Thread = Thread()


class AskReply(Contract):
    """Answer to a follow-up question."""

    run: RunId
    """Run that the question is about."""
    question: str
    """Question as asked."""
    standalone_question: str
    """Question rewritten to be understandable without the thread, as searched."""
    status: Literal["answered", "no_evidence"]
    """Whether evidence for an answer was found."""
    has_documents: bool = True
    """Whether documents can be searched again, and not only the texts on the result of the run."""
    markdown: str = ""
    """Answer with numeric citation marks."""
    claims: tuple[ResultClaim, ...] = ()
    sources: tuple[SourceEntry, ...] = ()
    """Cited sources; those of the report keep their numbers."""
    usage: Usage = Usage()
    fallbacks: tuple[FallbackRecord, ...] = ()
    notes: tuple[str, ...] = ()
    """Notes for readers on how the answer was made."""
    thread: Thread = Thread()
    """Conversation including this answer."""
