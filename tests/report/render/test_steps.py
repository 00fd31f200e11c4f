"""Steps of a task in words, on their own and within the story of a run."""

from tenure.contracts.evidence.react import ReactStep
from tenure.contracts.research.trace import TracedTask
from tenure.report.render.steps import MAX_STEP_CHARS, render_steps
from tenure.report.trace.markdown import render_trace
from tenure.report.trace.story import build_trace
from tests.report.traces import HEAD, STORY

STEPS = (
    ReactStep(
        n=1,
        thought="Look.",
        tool="hybrid_search",
        arguments='{"query":"bread"}',
        observation="[1] Bread\nrises.",
        reliability=0.5,
        passages=1,
    ),
    ReactStep(n=2, observation="The answer names no action.", corrected=True),
    ReactStep(n=3, tool="calculate", arguments='{"expression":"1+1"}', observation="2", reliability=1.0, passages=2),
    ReactStep(n=4, thought="Done.", tool="finish", observation="It rises [1].", confidence=0.8),
)
LINES = [
    '- step 1 Look. **hybrid_search {"query":"bread"}**, reliability 0.50, 1 new passage: [1] Bread rises.',
    "- step 2 **no action**, corrected: The answer names no action.",
    '- step 3 **calculate {"expression":"1+1"}**, reliability 1.00, 2 new passages: 2',
    "- step 4 Done. **finish, 80% sure**",
    "- answered: It rises.",
]


def unmarked(line: str) -> str:
    """Return a line without the marks that keep Markdown from reading it."""
    return line.replace("\\", "")


def test_each_step_is_a_line() -> None:
    """A step shows thought, action, outcome and confidence; a rejected step shows the reason, an end its confidence."""
    assert [unmarked(line) for line in render_steps(STEPS, "It rises [1].")] == LINES
    assert list(render_steps((), "")) == []


def test_long_and_hostile_words_are_cut_and_escaped() -> None:
    """A page's words in an observation are no Markdown, and do not fill the screen."""
    (line,) = render_steps([ReactStep(n=1, tool="lookup", observation="# Title <b> " + "x " * 999)], "")

    assert len(line) < 2 * MAX_STEP_CHARS and " <b>" not in line and "\n" not in line


def test_a_trace_lists_the_steps_of_a_task() -> None:
    """The recorded steps of a task are below it."""
    records = (
        one.model_copy(update={"steps": STEPS, "answer": "It rises [1]."}) if isinstance(one, TracedTask) else one
        for one in STORY.records
    )
    trace = build_trace(HEAD, STORY.model_copy(update={"records": tuple(records)}), None)

    assert all(f"  {line}" in unmarked(render_trace(trace)) for line in LINES)
