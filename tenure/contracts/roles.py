"""The names of the roles, for those who may not import the roles themselves."""

from typing import Final, Literal, get_args

RoleName = Literal[
    "router",
    "clarifier",
    "decomposer",
    "question_rewriter",
    "sql_writer",
    "analyst",
    "outliner",
    "planner",
    "query_refiner",
    "react",
    "stance_judge",
    "reranker",
    "relation_extractor",
    "hypothetical_document",
    "topic_namer",
    "synthesizer",
    "synthesis_reflector",
    "decider",
    "reasoner",
    "thought_proposer",
    "thought_evaluator",
    "hop_reasoner",
    "section_writer",
    "section_reviewer",
    "section_rewriter",
    "claim_checker",
    "claim_rewriter",
    "contradiction_finder",
    "fact_extractor",
    "document_comparer",
    "self_evaluator",
    "report_reflector",
    "title_writer",
    "abstract_writer",
    "answerer",
    "test_writer",
    "coder",
    "code_reflector",
]
"""A role; also the name of its module, of its schema and of its Temporal activity."""

ROLE_NAMES: Final[tuple[RoleName, ...]] = get_args(RoleName)
"""Every role."""
