"""Workflow code analyzes only texts that are short enough for a workflow task.

A task that computes for eight seconds counts as a deadlock, and blocks the runs of its worker until then. An analysis
therefore belongs in the activity that brings its text. Without such an activity, as for a decision on the question of a
person, the text is bounded before, and `test_growth.py` shows that the time is proportional to its length.
"""

import ast
from typing import Final

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

from tenure.contracts.result.ask import AskRequest
from tenure.contracts.result.batch import BatchItem
from tenure.contracts.run.run import MAX_QUESTION_CHARACTERS, RunRequest
from tenure.mcp_server.messages import AskArguments, CodeArguments, ResearchArguments
from tenure.roles.registry import load_roles
from tenure.runs.messages import AskBody, StartRequest
from tests.architecture.test_layers import ROOT, imports, modules_of, parsed

ANALYSIS_LIBRARIES: Final = frozenset(("re", "difflib", "sentencex", "Stemmer"))
"""Libraries that read texts."""

_QUESTION = "question of a person: 20,000 characters, and 2,000 of an answer that makes it clear"
_PLAN = "plan of a model: 24 actions of 1,000 characters; earlier queries: 34,000 characters"
_REPORT = "sentences of a report: answers of a model, each of at most 100,000 characters"
_FEEDBACK = "feedback: 200 pieces, 64,000 bytes"
_QUOTES = "quotes: sentences of passages"

ANALYZING_MODULES: Final = {
    "calculator.questions": f"{_QUESTION}; beyond 2,000 characters no calculation is sought",
    "claims.absence": _REPORT,
    "claims.disputes": f"two {_QUOTES}",
    "claims.removal": _REPORT,
    "claims.report_changes": "none: parts of a report are selected for the activity that compares them",
    "claims.verification": f"{_REPORT}; 160 characters of those that are removed",
    "coding.attempts": "results of attempts; no free text is analysed",
    "coding.engineer_answer": "answer of a model: 100,000 characters",
    "coding.engineer_conversation": "results of actions: 12,000 characters each; thoughts of a model: 2,000",
    "coding.engineer_news": "results of tests and searches: 12,000 characters",
    "coding.programs": "programs: 60,000 characters; given files and tests: 200,000 each",
    "coding.project_repair": f"{_QUESTION}; ids of tests: 200 characters each",
    "control.feedback": f"{_FEEDBACK}; headings: 160 characters",
    "control.status_page": "headings and lines of progress",
    "control.steering": "commands: 4,000 characters of feedback, 12 topics of an outline; the server bounds a signal",
    "control.transitions": "critiques of reviews: 2,000 characters",
    "memory.experience": f"{_PLAN}; {_REPORT}; sentences of more than 4,000 characters are no facts",
    "memory.known_facts": "none: words on the origin of a fact",
    "memory.lessons": "reflections on programs: 2,000 characters",
    "reasoning.strategies": f"{_QUESTION}; thoughts of a model: 1,200 characters; {_REPORT}",
    "research.action_validation": "step of a model: 4,000 characters of an answer, 12,000 of arguments",
    "research.effort": _QUESTION,
    "research.observations": "answers of roles and quotes; 4,000 characters of them are kept",
    "research.open_parts": f"{_QUESTION}; topics of an outline",
    "research.planning": _PLAN,
    "research.research_state": f"{_PLAN}; {_FEEDBACK}",
    "research.tool_choice": _QUESTION,
    "research.transcript": "step of a model: 4,000 characters of an answer, and as many of an observation",
    "retrieval.query_type": f"{_QUESTION}, of which 2,000 are read",
    "retrieval.positions": f"{_QUESTION}, of which 2,000 are read; query of 1,000",
    "text.grammar.coreference": "sub-question: 1,000 characters",
    "text.grammar.subjects": _QUESTION,
    "text.known_urls": f"{_QUESTION}; assumption of a model: 200 characters",
    "text.questions": f"{_QUESTION}; other texts are shortened only",
    "text.urls": "none: the error for an invalid URL",
    "writing.trace_records": "none; it imports the words for a search of a review",
    "writing.manuscript": f"{_REPORT}; topics of an outline; {_FEEDBACK}",
}
"""Modules of text analysis that workflow code imports, each with the texts that it reads there and their bounds."""

DECIDING_ROLES: Final = {
    "decomposer": _QUESTION,
    "outliner": f"{_QUESTION}, or its sub-questions",
    "router": _QUESTION,
}
"""Roles whose rules decide in workflow code, each with the texts that they read."""

ROLE_FUNCTIONS: Final = frozenset(("is_certain_research", "render_results"))
"""Functions of role modules that workflow code calls: of the question of a person, and of the results of actions, which
have 12,000 characters at most."""

_REQUESTS: Final[tuple[type[BaseModel], ...]] = (
    *(RunRequest, AskRequest, BatchItem, StartRequest, AskBody),
    *(ResearchArguments, CodeArguments, AskArguments),
)
"""Models that bring the question of a person: of workflows, of the page and its API, and of the MCP server."""


def reads_texts(module: str) -> bool:
    """Return whether a module imports a library that reads texts, itself or by other modules of the library."""
    known, remaining = {module}, [module]
    while remaining:
        names = imports(remaining.pop())
        if not ANALYSIS_LIBRARIES.isdisjoint(name.split(".")[0] for name in names):
            return True
        new = {name for name in names if name.startswith("tenure.algorithms.")} - known
        known |= new
        remaining += new
    return False


def test_workflow_code_imports_only_known_text_analysis() -> None:
    """A workflow that imports another module of text analysis needs a bound for the text that it reads."""
    imported = {name for module in modules_of("workflows") for name in imports(module)}
    analyzing = {name for name in imported if name.startswith("tenure.algorithms.") and reads_texts(name)}

    assert {name.removeprefix("tenure.algorithms.") for name in analyzing} == ANALYZING_MODULES.keys()
    assert ANALYSIS_LIBRARIES.isdisjoint(name.split(".")[0] for name in imported)


def test_workflow_code_calls_roles_in_activities() -> None:
    """Workflow code takes the types of a role and the role itself, but none of the functions that read its texts."""
    used = set[str]()
    for path in (ROOT / "workflows").rglob("*.py"):
        tree = parsed(path)
        froms = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        roles = [node for node in froms if (node.module or "").startswith("tenure.roles")]
        modules = {name.asname or name.name for node in roles for name in node.names if name.name in load_roles()}
        used |= {name.name for node in roles for name in node.names} - load_roles().keys()
        used |= {
            node.attr
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules
        }

    assert {name for name in used if name[0].islower()} == ROLE_FUNCTIONS


def test_only_known_roles_decide_in_workflow_code() -> None:
    """The rule of a role runs in workflow code if it reads no passage; its texts are bounded then."""
    assert {name for name, role in load_roles().items() if not role.reads_evidence} == DECIDING_ROLES.keys()


@pytest.mark.parametrize("model", _REQUESTS, ids=lambda model: model.__name__)
def test_a_question_is_bounded_wherever_it_comes_from(model: type[BaseModel]) -> None:
    """Every request that brings a question refuses one of more than 20,000 characters, with the same limit."""
    field = model.model_fields["question"]
    question: TypeAdapter[str] = TypeAdapter(field.rebuild_annotation())
    question.validate_python("a" * MAX_QUESTION_CHARACTERS)

    with pytest.raises(ValidationError, match="at most 20000 characters"):
        question.validate_python("a" * (MAX_QUESTION_CHARACTERS + 1))
