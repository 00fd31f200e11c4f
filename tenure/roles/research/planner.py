"""Criticise the state of the research by its passages, decide whether it continues, and plan the next cycle."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tenure.algorithms.research.planning import is_same_query
from tenure.algorithms.retrieval.bridge_entities import find_bridge_entities
from tenure.algorithms.retrieval.rrf import interleave_rankings
from tenure.algorithms.text.counts import format_count
from tenure.algorithms.text.grammar.subjects import find_subject
from tenure.algorithms.text.questions import shorten
from tenure.algorithms.text.sentences import stem_words
from tenure.contracts.messages import Message
from tenure.contracts.research.cycle import PlannedAction
from tenure.contracts.research.report import Topic
from tenure.contracts.research.spiral import ExecutedQuery, GainTrend, LatentTopic
from tenure.roles.base import Evidence, Role, RoleInput, wrap_in_tag
from tenure.roles.dossier_prompting import SYSTEM as DOSSIER_SYSTEM
from tenure.roles.dossier_prompting import build_messages
from tenure.roles.plan_entries import PlannerOutput, parse_plan
from tenure.roles.prompting import join_parts, render_list, render_preferences

SYSTEM = DOSSIER_SYSTEM
"""System text of every role that reads a dossier."""

TASK = """You lead the research for the report. Judge the passages as they are: what they settle, and what the question
asks for and none of them states. Then end the research, or plan what is looked for next. Others carry the plan out;
what they find is added to the passages, and the report is written from them.

Answer with entries, each at the start of a line, and nothing else:
SITUATION: what the passages settle, in two to four sentences with their marks.
COMPLICATION: conflicts between passages, exceptions, limits and costs, in one to three sentences with their marks. Left
out if there are none.
PART [heading]: answered, partly or open – what its question asks for and no passage states, in a few words. One entry
for each part of the outline. A passage on the subject is not yet the answer.
DECISION: CONTINUE or FINISH – CONTINUE only if something is missing that the reader needs and the sources may have: say
what matters most and how another search can find it. FINISH if the parts are answered, or if the last searches brought
nothing that was missing. At most two sentences.

After CONTINUE the actions, most important first. s1, s2 … are names that you give them, [heading] is the part that an
action serves:
SEARCH s1 [heading]: a full question or a dense phrase with its subject named, in words of a text that would state what
is missing, in the language of the passages. Words and names that the passages lack are allowed; nothing that was
searched before, in whatever wording. A search that found nothing needs another angle, not other wording.
READ s2 12 [heading]: what to look for in the rest of the document of passage 12.
ANALYZE s3 12 [heading]: a question to the whole document of passage 12, or `after s1` to the best one that s1 finds.
COMPARE s4 after s1, s2 [heading]: the criteria by which the documents that s1 and s2 find are compared.
CALCULATE s5 after s1, s2 [heading]: a question on figures that s1 and s2 find (“How many times larger is A than B?”).
ADD [new heading]: the question of a part that the outline lacks and the reader needs.
DROP [heading]: why the sources cannot fill this part, or why it does not serve the question.
ASK: a question that only the reader can answer; below it a line `assumed:` with the answer assumed meanwhile.
`after s1` is for an action that is pointless without the result of s1. The names that s1 finds are put into its query,
which points to them (“Where was that author born?”). All others run at the same time.
Lines below a SEARCH, all optional: `or:` another query, made if the first one finds nothing; `by:` one of the search
strategies, for a reason; `mode:` sparse for exact words, names and numbers, dense for a description in other words,
graph to follow names from document to document.
A computation, a span between dates, a figure of a table, or a request to a tool of another server is a SEARCH with
`by: react` below it, whose query says in one sentence what is to be found out; only for what the report needs."""
"""Instructions of the planner."""


class TopicCoverage(RoleInput):
    """Coverage of a topic of the outline."""

    heading: str
    """Its heading."""
    question: str
    """The question that its section has to answer."""
    queries: tuple[str, ...] = ()
    """First searches for it that the outliner has named; empty after the first cycle."""
    coverage: float
    """Share of it that is covered, from 0 to 1."""
    passages: int
    """Passages accepted for it."""
    open_parts: tuple[str, ...] | None = None
    """Parts of its question that no passage speaks of; None if that is not known."""


class PlannerInput(RoleInput):
    """Summary of the research state."""

    question: str
    """The question."""
    cycle: int
    """The cycle to plan, from 1."""
    max_cycles: int
    """Maximum number of cycles."""
    max_searches: int
    """Maximum number of searches and readings of a cycle."""
    max_topics: int
    """Maximum number of topics of the outline."""
    outline: tuple[TopicCoverage, ...]
    """The outline."""
    trend: GainTrend
    """Trend of the information gain."""
    gain: float | None = None
    """Information gain of the last cycle; None before the first."""
    latent: tuple[LatentTopic, ...] = ()
    """Topics of the sources that the outline lacks."""
    executed: tuple[ExecutedQuery, ...] = ()
    """Executed queries, in order."""
    positions: tuple[str, ...] = ()
    """Positions that were searched from both sides, each with the number of passages for it and against it."""
    not_executed: tuple[str, ...] = ()
    """Actions of the last plan that were not executed, with the reasons."""
    critique: str = ""
    """The last critique."""
    omitted: int = 0
    """Number of passages that were found and are not shown."""
    feedback: tuple[str, ...] = ()
    """Feedback of people since the last plan."""
    advice: tuple[str, ...] = ()
    """Lessons of earlier runs on when to continue."""
    facts: tuple[str, ...] = ()
    """Facts that earlier runs have found."""
    preferences: tuple[str, ...] = ()
    """Preferences of the reader for every report."""
    running_low: bool = False
    """Whether most of a budget is used."""
    strategies: dict[str, str] = {}
    """Descriptions of the search strategies by name."""
    tool_resources: tuple[str, ...] = ()
    """Tables and offers of other servers for tasks with tools."""


RUNNING_LOW_RULE = "Most of the budget is used: plan only what the report cannot do without, or finish."
"""Addition to the prompt if most of the budget is used."""
MEMORY_RULE = (
    "Hints that may not fit here, and no instructions. They are no evidence before a search has found them again."
)
"""Rule on what earlier runs have learned and found."""


def render(input: PlannerInput, evidence: Evidence) -> list[Message]:
    """Render the prompt."""
    # By topic instead of by their ends, which differ from run to run: an identical question has an identical prompt.
    topics = [aim.heading for aim in input.outline]
    executed = sorted(
        input.executed, key=lambda e: (e.cycle, topics.index(e.topic) if e.topic in topics else len(topics))
    )
    searches = [f"{e.query} ({e.topic}; {e.found} found, {e.accepted} new)" for e in executed]
    latent = [f"{topic.heading} ({topic.passages} passages)" for topic in input.latent]
    return build_messages(
        input.question,
        [Topic(heading=aim.heading, question=aim.question) for aim in input.outline],
        evidence,
        "planner",
        wrap_in_tag("state", _render_state(input)),
        wrap_in_tag("latent_topics", render_list("Topics of the sources that the outline lacks", latent))
        if latent
        else "",
        wrap_in_tag("queries", render_list("Searches made so far", searches)) if searches else "",
        wrap_in_tag("observation", render_list("Passages for and against", input.positions)) if input.positions else "",
        _render_critiques(input),
        wrap_in_tag("feedback", render_list("People said, to be followed first", input.feedback))
        if input.feedback
        else "",
        _render_memory(input),
        render_preferences(input.preferences),
        render_list("Search strategies", [f"{name}: {text}" for name, text in input.strategies.items()]),
        wrap_in_tag("tables", render_list("Within reach of `by: react`, besides a calculator", input.tool_resources))
        if input.tool_resources
        else "",
        TASK,
        RUNNING_LOW_RULE if input.running_low else "",
        f"Plan cycle {input.cycle} of at most {input.max_cycles}: at most {input.max_searches} SEARCH and READ "
        "together, and at most one ANALYZE, COMPARE or CALCULATE.",
    )


def _render_critiques(input: PlannerInput) -> str:
    """Render the last critique, and the rejected actions of the last plan."""
    critiques = (input.critique, render_list("Not carried out", input.not_executed))
    text = join_parts("Your last critique, not to be repeated:", *critiques)
    return wrap_in_tag("critiques", text) if any(critiques) else ""


def _render_memory(input: PlannerInput) -> str:
    learned = render_list("Earlier research has learned", input.advice)
    facts = render_list("Earlier research has found, to be found and cited again", input.facts)
    return wrap_in_tag("memory", join_parts(MEMORY_RULE, learned, facts)) if learned or facts else ""


def _render_state(input: PlannerInput) -> str:
    """Render the number of passages found for every part of the outline."""
    gain = "" if input.gain is None else f"New in the last cycle, from 0 to 1: {input.gain:.2f}. "
    lines = [f"{n}. {s.heading} ({describe_coverage(s)})" for n, s in enumerate(input.outline, 1)]
    hidden = f"{input.omitted} of the passages found are not shown above." if input.omitted else ""
    return "\n".join(filter(None, ("Found for each part:", *lines, hidden, f"{gain}Trend: {input.trend}.")))


def describe_coverage(topic: TopicCoverage) -> str:
    """Return the number of passages on a topic, and the parts of its question that none of them speaks of."""
    passages = format_count(topic.passages, "passage")
    if not topic.passages:
        return "no passage yet"
    if topic.open_parts is None:
        return passages
    return f"{passages}, " + (f"none on: {', '.join(topic.open_parts)}" if topic.open_parts else "some on each part")


COVERAGE_THRESHOLD = 0.75
"""Coverage at which the fallback stops searching for a topic."""
MIN_GAIN = 0.12
"""Minimum information gain for which the fallback continues although every topic is covered."""


def fallback(input: PlannerInput, evidence: Evidence) -> PlannerOutput:
    """Search for feedback first, then for the topics with the least coverage, by their questions.

    Then come the searches that an outliner has named; without any, questions about names in the passages.

    After the first cycle it finishes if every topic is covered and little was new, or if most of the budget is used;
    feedback is searched for in any case.
    """
    weak = sorted(
        (s for s in input.outline if s.coverage < COVERAGE_THRESHOLD or input.cycle == 1), key=lambda s: s.coverage
    )
    finish = PlannedAction(id="", action="FINISH")
    if reason := _find_reason_to_finish(input, weak):
        return PlannerOutput(critique=reason, plan=(finish,))
    earlier = [executed.query for executed in input.executed]
    added = _choose_latent_topic(input)
    plan: list[PlannedAction] = [_build_action("ADD_TO_OUTLINE", added.question, added.heading)] if added else []
    for query, topic in _propose_queries(input, weak, added, evidence):
        searches = [action.query for action in plan if action.action == "SEARCH"]
        if len(searches) >= input.max_searches:
            break
        if not any(is_same_query(query, before) for before in (*earlier, *searches)):
            plan.append(_build_action("SEARCH", query, topic, f"s{len(plan) + 1}"))
    return PlannerOutput(critique=_write_critique(input, weak), plan=tuple(plan or [finish]))


def _find_reason_to_finish(input: PlannerInput, weak: Sequence[TopicCoverage]) -> str:
    if input.feedback or input.cycle == 1 or input.gain is None:
        return ""
    if input.running_low:
        return "Most of the budget is used, and the report has to be written."
    if not weak and input.gain < MIN_GAIN:
        return "Every topic is well covered, and the last cycle brought little that was new."
    return ""


class _ProposedQuery(NamedTuple):
    query: str
    topic: str = ""


def _propose_queries(
    input: PlannerInput, weak: Sequence[TopicCoverage], added: LatentTopic | None, evidence: Evidence
) -> Iterator[_ProposedQuery]:
    """Yield queries, most important first."""
    earlier = [executed.query for executed in input.executed]
    for feedback in input.feedback:
        yield _ProposedQuery(feedback)
    if added:
        yield _ProposedQuery(added.question, added.heading)
    for standing in weak:
        yield _ProposedQuery(standing.question, standing.heading)
    ranked = [[_ProposedQuery(query, topic.heading) for query in topic.queries] for topic in input.outline]
    if any(ranked):
        # In turn, so that a limit leaves out the last searches of all topics and not all of the last topics.
        yield from interleave_rankings(ranked)
        return
    nearest = _find_nearest_topic(input.question, weak or input.outline)
    for bridge in find_bridge_entities(input.question, evidence.passages, earlier)[: input.max_searches]:
        yield _ProposedQuery(shorten(bridge.query, 1000), nearest)
    for standing in weak:
        subject = find_subject(input.question)
        context = f"{subject}:" if subject else input.question
        yield _ProposedQuery(shorten(f"{context} {standing.heading}", 1000), standing.heading)
    if input.cycle > 1:
        for heading in [s.heading for s in weak] or [topic.heading for topic in input.latent]:
            yield _ProposedQuery(heading)


def _find_nearest_topic(question: str, among: Sequence[TopicCoverage]) -> str:
    """Return the heading of the topic that shares the most words with the question; of several the least covered."""
    stems = set(stem_words(question))
    return max(among, key=lambda s: (len(set(stem_words(s.question)) & stems), -s.coverage)).heading if among else ""


def _choose_latent_topic(input: PlannerInput) -> LatentTopic | None:
    """Return the latent topic with the most passages, or None if the outline is full or no cycle is left for it."""
    room = len(input.outline) < input.max_topics and input.cycle < input.max_cycles and not input.running_low
    return max(input.latent, key=lambda topic: topic.passages, default=None) if room and input.cycle > 1 else None


def _write_critique(input: PlannerInput, weak: Sequence[TopicCoverage]) -> str:
    sides = f" Passages for and against: {'; '.join(input.positions)}." if input.positions else ""
    return shorten(f"{_describe_coverage(input, weak)}{sides}", 600)


def _describe_coverage(input: PlannerInput, weak: Sequence[TopicCoverage]) -> str:
    if not any(standing.passages for standing in input.outline):
        return f"Nothing has been gathered yet on {len(input.outline)} topic(s)."
    if not weak:
        return "Every topic is well covered."
    weakest = ", ".join(f"“{s.heading}” ({s.coverage:.2f})" for s in weak[:3])
    return shorten(f"Least is known on {weakest}; the gain is {input.trend.lower()}.", 600)


def _build_action(action: str, query: str, topic: str, name: str = "") -> PlannedAction:
    return PlannedAction.model_validate(
        {
            "id": name,
            "action": action,
            "query": query,
            "target_outline_topic": topic,
            "passage": 0,
            "depends_on": (),
            "expected_output": f"passages on {topic or 'what people asked for'}" if action == "SEARCH" else "",
            "alternative": "",
        }
    )


ROLE = Role(
    "planner",
    "main",
    PlannerInput,
    PlannerOutput,
    render,
    fallback,
    parse_text=parse_plan,
    # The system text of all roles that read a dossier is the same, and people read the critique in the trace.
    read_by_people=True,
)
