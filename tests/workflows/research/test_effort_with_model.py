"""Runs with a model do what their effort is worth: no turn that rules make as well, and no wait without a need."""

import asyncio
import re
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import pytest

from tenure.contracts.choices import ReasoningChoice, RunMode
from tenure.contracts.research.dossier import Dossier, DossierRequest
from tenure.contracts.research.spiral import SpiralRequest
from tenure.contracts.result.result import Result, ResultClaim
from tenure.contracts.run.limits import EFFORT_COSTS
from tenure.contracts.run.run import RunLimits, RunRequest
from tenure.roles.report_markdown import GAPS_HEADING
from tenure.roles.writing.report_reviewer import LAST_TASK
from tenure.temporal.converter import DATA_CONVERTER
from tenure.temporal.histories import fetch_events
from tests.conftest import Serving
from tests.report.traces import trace_run
from tests.support.tiers import slow
from tests.support.worlds import (
    FINISH,
    KITCHEN,
    Held,
    MemoryKnowledge,
    Reply,
    Reticent,
    ScriptedChat,
    Source,
    build_report,
    in_turn,
    plans,
    says,
    search,
    story,
)
from tests.workflows.run.test_agent import until
from tests.workflows.test_budget import OneByOne, greedy
from workflows.research.report_phases.dossier import PASSAGES_PER_GAP
from workflows.research.search_session import PASSAGES_PER_SEARCH

pytestmark = slow

QUESTION = "How are bread and cheese made?"
PATIENCE = 100
MAX_EVENTS = 225
"""History events of a moderate run and its children without the archive: three runs had 193, 198 and 204."""
PASTRY = Source(uri="kitchen/pastry.md", title="Pastry", text="A proofing drawer holds exactly 26 degrees.")
WARMTH = "temperature of a proofing drawer in degrees"
PASSAGE = re.compile(r'<passage n="(\d+)"[^>]*>\n(.*?)\n</passage>', re.DOTALL)
ON_EVIDENCE = ("planner", "reasoner", "report_writer", "report_reviewer")
"""Roles that read the dossier."""
RESEARCH = (
    "router",
    "decomposer",
    "question_rewriter",
    "outliner",
    "hypothetical_document",
    "planner",
    "query_refiner",
    "topic_namer",
    "reasoner",
)


def build_request(**limits: Any) -> RunRequest:
    bounds = RunLimits(min_relevance=0.05, has_model=True)
    return RunRequest(question=QUESTION, corpora=("kitchen",), limits=bounds.model_copy(update=limits))


async def run_to_end(serving: Serving, chat: ScriptedChat, request: RunRequest) -> Result:
    async with serving(chat, Reticent({**KITCHEN, "pastry": PASTRY}, whole=QUESTION)) as stage:
        run = await stage.start(request)
        return await asyncio.wait_for(run.result(), PATIENCE)


def count_research_calls(chat: ScriptedChat) -> dict[str, int]:
    """Return the number of calls of every role that does not write or check text."""
    return dict(Counter(role for role, _ in chat.asked if role in RESEARCH))


async def test_a_simple_question_is_answered_directly(serving: Serving) -> None:
    """No model is asked before the text is written; the question is the only section and title."""
    chat = ScriptedChat(story())
    result = await run_to_end(serving, chat, build_request(effort="simple"))

    assert result.status == "done"
    assert count_research_calls(chat) == {}
    assert (chat.count("report_writer"), chat.count("report_reviewer"), len(result.sections)) == (1, 0, 1)
    assert 0 < result.usage.critical_path <= result.usage.model_calls
    assert result.fallbacks == ()


@pytest.mark.parametrize(
    ("question", "mode", "calls"),
    [("Bread and cheese, please", "auto", 1), ("Bread and cheese, please", "research", 0), (QUESTION, "auto", 0)],
)
async def test_a_direct_answer_is_routed_by_a_model_if_it_may_be_a_program(
    serving: Serving, question: str, mode: RunMode, calls: int
) -> None:
    """A request that is no plain question may ask for a program, which a person has not excluded."""
    chat = ScriptedChat(story())
    request = build_request(effort="simple").model_copy(update={"question": question, "mode": mode})
    result = await run_to_end(serving, chat, request)

    assert result.mode == "RESEARCH" and chat.count("router") == calls


@pytest.mark.parametrize(("passages", "is_repeated"), [(13, False), (40, True)])
async def test_a_direct_answer_repeats_no_search(serving: Serving, passages: int, is_repeated: bool) -> None:
    """Its section searches for the question again only if it may have more passages than the run has retrieved."""
    knowledge = MemoryKnowledge(KITCHEN)
    async with serving(ScriptedChat(story()), knowledge) as stage:
        request = build_request(effort="simple", passages_per_section=passages)
        await (await stage.start(request)).result()

    assert any(search.k == passages for search in knowledge.searches) is is_repeated


async def test_a_simple_report_says_its_answer_once(serving: Serving) -> None:
    """A direct answer needs no section, and no rule judges what is answered."""
    chat = ScriptedChat(story(report_writer=says("# Time\n\nBread and cheese both take time [1]. Both are old [1].")))
    result = await run_to_end(serving, chat, build_request(effort="simple"))

    assert [claim.text for claim in result.abstract_claims] == ["Bread and cheese both take time.", "Both are old."]
    assert (result.status, result.sections, result.evaluation) == ("done", (), None)


async def test_a_gap_is_searched_for_before_it_is_printed(serving: Serving) -> None:
    """The reviewer sees what a search for each gap has found, answers gaps and empty cells, and keeps other gaps."""
    table = "| Dough | Warmth |\n|---|---|\n| Bread | – |"
    gaps = f"- Whether warmth matters is open [?] (search: {WARMTH})\n- How cheese ages is open [?]"
    sections = {heading: f"{heading} is made with care [1]." for heading in ("Bread", "Cheese")}
    written = build_report(sections, f"Both take time [1].\n\n{table}", f"## {GAPS_HEADING}\n\n{gaps}")
    chat = ScriptedChat(story(report_writer=says(written), report_reviewer=answer_points))
    request = build_request(effort="moderate")
    async with serving(chat, MemoryKnowledge({**KITCHEN, "pastry": PASTRY})) as stage:
        result = await asyncio.wait_for((await stage.start(request)).result(), PATIENCE)

    prompts = {role: prompt for role, prompt in chat.asked}
    assert PASTRY.text in prompts["report_reviewer"] and PASTRY.text not in prompts["report_writer"]
    assert result.synthesis is not None
    assert "26 degrees" in join_texts(result.synthesis.comparison)
    gaps = join_texts(result.synthesis.gaps)
    assert "warmth" not in gaps and "How cheese ages is open" in gaps
    assert PASTRY.text in result.sections[0].markdown


async def test_a_simple_report_is_reviewed_once(serving: Serving) -> None:
    """A direct answer is reviewed for what its gaps' searches have found, and never twice."""
    written = f"# Time\n\nBoth take time [1].\n\n## {GAPS_HEADING}\n\n- Warmth is open [?] (search: {WARMTH})"
    butter = Source(uri="kitchen/butter.md", title="Butter", text="Butter is churned from cream.")
    chat = ScriptedChat(story(report_writer=says(written), report_reviewer=says("SEARCH: butter churned from cream")))
    async with serving(chat, MemoryKnowledge({**KITCHEN, "pastry": PASTRY, "butter": butter})) as stage:
        result = await asyncio.wait_for((await stage.start(build_request(effort="simple"))).result(), PATIENCE)

    assert result.status == "done"
    assert chat.count("report_writer") == chat.count("report_reviewer") == 1


async def test_a_refused_review_answers_no_gap(serving: Serving) -> None:
    """A gap whose passages only a review that was not followed has read is not printed as an absence."""
    sections = {heading: f"{heading} is made with care [1]." for heading in ("Bread", "Cheese")}
    gap = f"- Warmth is open [?] (search: {WARMTH})"
    written = build_report(sections, "Both take time [1].", f"## {GAPS_HEADING}\n\n{gap}")
    chat = ScriptedChat(story(report_writer=says(written), report_reviewer=says("DELETE 1, 2, 3")))
    async with serving(chat, MemoryKnowledge({**KITCHEN, "pastry": PASTRY})) as stage:
        result = await asyncio.wait_for((await stage.start(build_request(effort="moderate"))).result(), PATIENCE)

    assert "The report keeps an earlier draft, since the edits of a review made it worse." in result.notes
    assert result.synthesis is None or "Warmth is open" not in join_texts(result.synthesis.gaps)


def join_texts(claims: Iterable[ResultClaim]) -> str:
    """Return the words of sentences."""
    return " ".join(claim.text for claim in claims)


async def answer_points(prompt: str) -> Reply:
    """Answer a gap and an empty cell from the new passage, which is the last one."""
    passage = max(int(number) for number, _ in PASSAGE.findall(prompt))
    cell, bread, gap, other = (
        re.search(rf"^(\d+)\. {words}", prompt, re.MULTILINE)
        for words in ("Bread – Warmth", "Bread is made", "Whether warmth", "How cheese ages")
    )
    assert cell and bread and gap and other
    assert f"without passages {passage} to {passage}" in prompt and f"- sentence {gap[1]}: “{WARMTH}” found" in prompt
    said = PASTRY.text.rstrip(".")
    return (
        f"REPLACE {cell[1]}: 26 degrees [{passage}]\nADD {bread[1]}: {said} [{passage}].\nDELETE {gap[1]}\n"
        f"OPEN {other[1]}: nothing on age."
    )


async def test_a_moderate_question_has_one_plan_and_one_review(serving: Serving) -> None:
    """Rules plan the first cycle, the model the second, and the report is reviewed once."""
    chat = ScriptedChat(story(planner=says(plans(search("Which mould is in blue cheese?", "Cheese")))))
    result = await run_to_end(serving, chat, build_request(effort="moderate"))
    asked = count_research_calls(chat)

    assert asked.pop("query_refiner", 0) <= 3
    assert asked == {"router": 1, "outliner": 1, "hypothetical_document": 1, "planner": 1}
    planner = next(prompt for role, prompt in chat.asked if role == "planner")
    assert "Plan cycle 2 of at most 2" in planner and KITCHEN["bread"].text.split("\n")[0] in planner
    assert chat.count("report_writer") == chat.count("report_reviewer") == 1
    assert result.decisions[-1] == "Ended after 1 generation of the report: no critique was left."


async def test_a_moderate_run_has_few_events(serving: Serving) -> None:
    """Searches of one moment are one activity, and the research loop delivers the news of the report that starts it."""
    tasks = (search("Which mould is in blue cheese?", "Cheese"), search("How long does the dough rise?"))
    chat, knowledge = ScriptedChat(story(planner=says(plans(*tasks)))), MemoryKnowledge(KITCHEN)
    async with serving(chat, knowledge) as stage:
        run = await stage.start(build_request(effort="moderate"))
        await asyncio.wait_for(run.result(), PATIENCE)
        names = (run.id, f"{run.id}/research", f"{run.id}/spiral")
        main, research, spiral = [await fetch_events(stage.client, name) for name in names]
        calls = (await trace_run(stage.client, run.id)).calls
        started = await DATA_CONVERTER.decode(
            spiral[0].workflow_execution_started_event_attributes.input.payloads, [SpiralRequest]
        )

    assert len(main) + len(research) + len(spiral) <= MAX_EVENTS
    batches = [call for call in calls if call.kind == "search"]
    assert sum(call.count for call in batches) == len(knowledge.searches)
    assert Counter(call.part for call in batches) == {"run": 1, "report": 1, "research": 2}
    progress = started[0].progress
    assert (progress.reporter, progress.phase, progress.usage.calls) == (f"{run.id}/research", "research", 1)
    assert [record.record for record in progress.records] == ["call", "outline"]
    received = [event for event in main if event.HasField("workflow_execution_signaled_event_attributes")]
    assert len(received) <= 4, received


async def test_a_complex_question_is_decided_by_each_plan(serving: Serving) -> None:
    """One call a cycle judges what was found, decides and plans; no other role reads the findings meanwhile."""
    planner = in_turn(plans(search("Which mould is in blue cheese?", "Cheese")), {**FINISH, "critique": "All is told."})
    chat = ScriptedChat(story(planner=planner))
    result = await run_to_end(serving, chat, build_request(effort="complex"))
    roles = [role for role, _ in chat.asked]

    assert roles.count("planner") == 2
    assert set(roles[roles.index("planner") : roles.index("report_writer")]) <= {"planner", "topic_namer", "reasoner"}
    assert result.decisions[1] == "Ended after 2 cycles: All is told."


@pytest.mark.parametrize("reasoning", ["tree", "self_consistency", "multi_hop"])
async def test_roles_on_evidence_share_the_beginning_of_their_prompts(
    serving: Serving, reasoning: ReasoningChoice
) -> None:
    """Planner, reasoner, writer and reviewer read the same system text and question, and passages that only grow."""
    planner = in_turn(plans(search("Which mould is in blue cheese?", "Cheese")), FINISH)
    reasoned = "STEP 1 hop: Bread is made from flour [1].\nSEARCH: Who feeds a levain?"
    written = build_report(
        {"Bread": "Bread is made [1]."}, "Both [1].", f"## {GAPS_HEADING}\n\n- Heat [?] (search: {WARMTH})"
    )
    review = in_turn("ANSWERED no: Who sells rye?", "DONE")
    lines = {"planner": planner, "reasoner": says(reasoned), "report_writer": says(written), "report_reviewer": review}
    chat = ScriptedChat(story(**lines))
    levain = Source(uri="kitchen/levain.md", title="Levain", text="A baker feeds a levain.")
    market = Source(uri="kitchen/market.md", title="Market", text="A grocer sells rye.")
    knowledge = Reticent({**KITCHEN, "pastry": PASTRY, "levain": levain, "market": market}, whole=QUESTION)
    async with serving(chat, knowledge) as stage:
        run = await stage.start(build_request(effort="complex", reasoning=reasoning, passages_per_section=2))
        await asyncio.wait_for(run.result(), PATIENCE)

    prompts = [(role, prompt) for role, prompt in chat.asked if role in ON_EVIDENCE]
    assert {role for role, _ in prompts} == set(ON_EVIDENCE)
    assert len({chat.told[role] for role in ON_EVIDENCE}) == 1
    for role, prompt in prompts:
        assert prompt.index("<question>") == 0 and prompt.count("<task ") == 1 and f'<task name="{role}">' in prompt
        assert "<passage" not in prompt.partition("<outline>")[2]
    beginnings = [prompt.partition("\n\n<outline>")[0] for _, prompt in prompts]
    for before, after in pairwise(beginnings):
        assert after.startswith(before.removesuffix("\n</document>"))
    numbers = [int(number) for number, _ in PASSAGE.findall(beginnings[-1])]
    assert numbers == list(range(1, len(numbers) + 1)) and len(set(beginnings)) > 2


async def test_a_question_that_stands_alone_is_not_rewritten(serving: Serving) -> None:
    """Of two sub-questions that wait for a third, only the one with a reference is rewritten."""
    parts = {
        "sub_questions": ["Who makes cheese?", "What does that person sell?", "What is made of rye?"],
        "dependencies": [{"question": 2, "needs": [1]}, {"question": 3, "needs": [1]}],
    }
    chat = ScriptedChat(story(decomposer=says(parts)))
    await run_to_end(serving, chat, build_request(has_model=False, effort="simple"))

    rewritten = [prompt for role, prompt in chat.asked if role == "question_rewriter"]
    assert len(rewritten) == 1
    assert "<sub_question>\nWhat does that person sell?\n</sub_question>" in rewritten[0]


async def test_the_first_searches_do_not_wait_for_hypothetical_answers(serving: Serving) -> None:
    """While the hypothetical answers are written, the topics are searched."""
    imagined = Held({"texts": ["Dough rises.", "Milk curdles."]})
    knowledge = MemoryKnowledge(KITCHEN)
    async with serving(ScriptedChat(story(hypothetical_document=imagined)), knowledge) as stage:
        run = await stage.start(build_request(effort="moderate"))
        await asyncio.wait_for(imagined.reached.wait(), PATIENCE)
        topics = {"How is bread made?", "How is cheese made?"}
        await until(run, lambda _: topics <= {request.query for request in knowledge.searches})
        imagined.released.set()
        assert (await asyncio.wait_for(run.result(), PATIENCE)).status == "done"


OUTLINE = [
    {"heading": name, "question": f"How is {name.lower()} made?", "answer": f"{name} is made with care."}
    for name in ("Bread", "Cheese", "Rye")
]
SHELVES = {
    f"shelf-{n}": Source(uri=f"shelf-{n}.md", title=f"Shelf {n}", text=f"Shelf {n} holds drawer number {n}.")
    for n in range(30)
}


async def test_a_moderate_run_keeps_its_bounds_if_every_review_wants_a_search(serving: Serving) -> None:
    """Searches of a review lead to another one up to the limit of versions, with a few new passages."""
    numbers = iter(range(100))

    async def review(prompt: str) -> Reply:
        return "\n".join(f"SEARCH: drawer on shelf {next(numbers)}" for _ in OUTLINE)

    lines: dict[str, Any] = {
        "outliner": says({"topics": OUTLINE}),
        "planner": says(plans(search("Which mould is in blue cheese?", "Cheese"))),
        "report_reviewer": review,
    }
    chat = ScriptedChat(story(**lines))
    request = build_request(effort="moderate", passages_per_section=2)
    async with serving(chat, MemoryKnowledge({**KITCHEN, **SHELVES})) as stage:
        result = await asyncio.wait_for((await stage.start(request)).result(), PATIENCE)

    reviews = [prompt for role, prompt in chat.asked if role == "report_reviewer"]
    passages = [len(PASSAGE.findall(prompt)) for prompt in reviews]
    assert len(reviews) == request.limits.max_report_revisions
    assert 0 < passages[1] - passages[0] <= len(OUTLINE) * PASSAGES_PER_GAP
    assert LAST_TASK not in reviews[0] and LAST_TASK in reviews[-1]
    assert result.usage.model_calls <= EFFORT_COSTS["moderate"].max_calls and result.fallbacks == ()


async def test_hypothetical_answers_come_with_the_outline(serving: Serving) -> None:
    """Topics with an answer need no call for one, and the answer reaches their searches, also that for the section."""
    knowledge, chat = MemoryKnowledge(KITCHEN), ScriptedChat(story(outliner=says({"topics": OUTLINE[:2]})))
    request = build_request(effort="moderate", passages_per_section=40)
    async with serving(chat, knowledge) as stage:
        await asyncio.wait_for((await stage.start(request)).result(), PATIENCE)

    assert chat.count("hypothetical_document") == 0
    for is_for_section in (False, True):
        searches = [one for one in knowledge.searches if (one.k == 40) is is_for_section]
        imagined = {(one.query, one.hypothetical_answer) for one in searches if one.hypothetical_answer}
        assert imagined >= {(topic["question"], topic["answer"]) for topic in OUTLINE[:2]}


async def test_the_outline_names_the_first_searches(serving: Serving) -> None:
    """The first cycle searches for the questions of the topics and for what the outline names, and nothing else."""
    queries = [f"rye bread, step {n}" for n in range(8)]
    topics = [{**OUTLINE[0], "queries": queries}, OUTLINE[1]]
    knowledge, chat = MemoryKnowledge(KITCHEN), ScriptedChat(story(outliner=says({"topics": topics})))
    async with serving(chat, knowledge) as stage:
        request = build_request(effort="moderate", max_cycles=1)
        await asyncio.wait_for((await stage.start(request)).result(), PATIENCE)

    made = [one for one in knowledge.searches if one.k == PASSAGES_PER_SEARCH]
    assert {one.query for one in made} == {*queries, *(topic["question"] for topic in OUTLINE[:2])}
    assert not any(one.hypothetical_answer for one in made if one.query in queries)
    assert (chat.count("planner"), chat.count("query_refiner")) == (0, 0)


async def test_an_outliner_reads_what_was_found_for_each_clause(serving: Serving) -> None:
    """Each clause is searched for with the subject of the question, and each document shows a few passages first."""
    knowledge, chat = MemoryKnowledge(KITCHEN), ScriptedChat(story())
    question = "How is the bread of Zell made? We know its mill; what has to be bought for its oven?"
    request = build_request(effort="moderate").model_copy(update={"question": question})
    async with serving(chat, knowledge) as stage:
        await asyncio.wait_for((await stage.start(request)).result(), PATIENCE)

    assert {"How is the bread of Zell made?", "Zell: what has to be bought for its oven?"} <= {
        one.query for one in knowledge.searches
    }
    outliner = next(prompt for role, prompt in chat.asked if role == "outliner")
    assert "<sub_questions>" not in outliner and "At most 8 topics, and at most 12 searches in all." in outliner


@pytest.mark.parametrize(
    ("limits", "is_asked"), [({}, False), ({"strategy": "iterative"}, True), ({"max_cycles": 1}, True)]
)
async def test_a_refiner_is_asked_only_where_no_planner_reads_the_findings(
    serving: Serving, limits: dict[str, Any], is_asked: bool
) -> None:
    """Rules refine what a plan follows; a strategy of a person and a single cycle keep the refiner."""
    topics = [{"heading": "Ovens", "question": "How do I heat the oven of a Roman bakery for bread on cold days?"}]
    chat = ScriptedChat(story(outliner=says({"topics": topics})))
    async with serving(chat, MemoryKnowledge(KITCHEN)) as stage:
        await asyncio.wait_for((await stage.start(build_request(effort="moderate", **limits))).result(), PATIENCE)

    assert bool(chat.count("query_refiner")) == is_asked


async def test_an_effort_that_is_used_up_ends_the_run_well(serving: Serving) -> None:
    """A run that needs more than its effort keeps to the bounds, and ends with a report that says so."""
    async with serving(greedy(), OneByOne(KITCHEN)) as stage:
        run = await stage.start(build_request(effort="complex", max_cycles=50))
        result = await asyncio.wait_for(run.result(), PATIENCE)
    cost = EFFORT_COSTS["complex"]

    assert result.status == "finished_early" and result.sections
    assert result.usage.model_calls <= cost.max_calls
    assert result.usage.tokens_in + result.usage.tokens_out <= cost.max_tokens
    assert result.limits == {"tokens": cost.max_tokens, "calls": cost.max_calls}
    assert "was used up" in result.decisions[-1]
    assert not any("was used or reserved" in note for note in result.notes)


async def test_limits_of_people_replace_those_of_the_effort(serving: Serving) -> None:
    """A run with a limit of its own has no other."""
    result = await run_to_end(serving, ScriptedChat(story()), build_request(effort="simple", max_calls=500))

    assert result.status == "done"
    assert result.limits == {"calls": 500}


class RecordedDossiers(MemoryKnowledge):
    """Knowledge that records what dossiers were extended with."""

    extended: tuple[DossierRequest, ...] = ()

    def extend_dossier(self, request: DossierRequest) -> Dossier:
        """Record the request."""
        self.extended += (request,)
        return super().extend_dossier(request)


async def test_passages_of_the_outline_come_first_for_its_topics(serving: Serving) -> None:
    """A passage that a topic names is the first of its part for the planner and for the writer."""
    knowledge = RecordedDossiers({**KITCHEN, **SHELVES})
    shown: list[str] = []

    async def outline(prompt: str) -> Reply:
        shown.extend(text for _, text in PASSAGE.findall(prompt))
        return {"topics": [{**OUTLINE[0], "known": [len(shown)]}, OUTLINE[1]]}

    chat = ScriptedChat(story(outliner=outline))
    async with serving(chat, knowledge) as stage:
        await asyncio.wait_for((await stage.start(build_request(effort="moderate"))).result(), PATIENCE)

    parts = [part for request in knowledge.extended for part in request.found if part.heading == "Bread"]
    first = knowledge.load_passages([part.passages[0] for part in parts])
    assert len(first) > 1 and {passage.text for passage in first} == {shown[-1]}
