"""One small case per role: an input with evidence.

The golden prompts in `tests/roles/golden` are these cases as rendered for a model, so that a change of a prompt appears
in the diff of its golden file. Renew all of them with `python -m tests.roles.cases`.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tenure.contracts.base import SourceId
from tenure.contracts.evidence.computing import FailedProgram
from tenure.contracts.evidence.passages import Block, Citation, Claim, Draft
from tenure.contracts.evidence.react import ReactStep, Transcript
from tenure.contracts.evidence.reasoning import Reasoning, ReasoningStep
from tenure.contracts.evidence.tables import ColumnInfo, FailedQuery, TableInfo
from tenure.contracts.research.pictures import PictureRef
from tenure.contracts.research.report import ReportPart, ReportText, Topic
from tenure.contracts.research.spiral import ExecutedQuery, LatentTopic
from tenure.contracts.research.tools import McpResource, McpTool
from tenure.contracts.result.programs import Attempt, AttemptFailure, Lesson, SourceFile
from tenure.roles.base import BaseRole, Evidence, RoleInput
from tenure.roles.claims import (
    claim_checker,
    dispute_judge,
    document_comparer,
    fact_extractor,
)
from tenure.roles.coding import analyst, code_reflector, coder, repository_engineer, test_writer
from tenure.roles.reasoning import react, reasoner
from tenure.roles.research import (
    calculation_writer,
    clarifier,
    decomposer,
    hypothetical_document,
    outliner,
    planner,
    query_refiner,
    question_rewriter,
    router,
    step_preparer,
    tool_selector,
    topic_namer,
)
from tenure.roles.retrieval import picture_reader, query_translator, sql_writer, stance_judge
from tenure.roles.writing import answerer, report_reviewer, report_writer
from tests.support.passages import held, passage
from tests.support.worlds import encode
from workflows.research.tool_registry import TOOLS

GOLDEN = Path(__file__).parent / "golden"
"""Folder of the rendered prompts, one file per role."""

QUESTION = "How is bread made, and how does cheese ripen?"
MADE = "Bread is made from flour, water, salt and yeast."
RISES = "The dough of the bread has to rise for two hours."
PREFERENCES = ("We use metric units",)
RIPENS = "Cheese is kept in a cool cellar while it ripens."

EVIDENCE = Evidence(
    (
        passage(f"{MADE} {RISES}", "bread", 40, headings=("Bread", "Making bread"), relevance=0.8),
        passage(
            f"{RIPENS} Blue cheese has a mould that needs air.",
            "cheese",
            title='Cheese, "the" book',
            headings=("Cheese", "How cheese ripens"),
            relevance=0.7,
        ),
        passage("Rye bread is made with a sourdough that is days old.", "bread", 300, headings=("Rye",), relevance=0.5),
    ),
    encode,
)


def quoted(position: int, quote: str) -> Citation:
    """Return a citation of words of one of the passages."""
    cited = EVIDENCE.passages[position]
    start = cited.start + cited.text.index(quote)
    return Citation(source=cited.source, chunk=cited.chunk, start=start, end=start + len(quote), quote=quote)


DRAFT = Draft(
    blocks=(
        Block(
            claims=(
                Claim(text=MADE, citations=(quoted(0, MADE),)),
                Claim(text="Nobody knows who baked first.", status="missing_citation"),
            )
        ),
        Block(
            kind="bullets",
            claims=(
                Claim(
                    text="Rye and cheese go together.",
                    citations=(
                        quoted(1, "Cheese"),
                        quoted(2, "Rye bread"),
                        quoted(2, "sourdough"),
                    ),
                ),
            ),
        ),
    )
)
"""A draft whose claims cite one passage, none and two."""


OUTLINE = (
    planner.TopicCoverage(heading="Making bread", question="How is bread made?", coverage=0.62, passages=5),
    planner.TopicCoverage(heading="Ripening of cheese", question="How does cheese ripen?", coverage=0.2, passages=1),
)
LATENT = (LatentTopic(heading="Sourdough", question="What is sourdough?", passages=3, cycle=1),)
SALES = TableInfo(
    name="sales",
    rows=120,
    columns=(
        ColumnInfo(name="town", kind="text", examples=("Rome", "Bath"), complete=True),
        ColumnInfo(name="sold", kind="number", examples=("3", "12")),
        ColumnInfo(name="day", kind="date"),
    ),
)
FAILED = (FailedQuery(sql="SELECT city FROM sales", problem="there is no column city"),)

REASONING = Reasoning(
    strategy="chain",
    steps=(ReasoningStep(kind="premise", claim=Claim(text=RISES, citations=(quoted(0, RISES),))),),
    conclusion=ReasoningStep(kind="inference", claim=Claim(text="So wait."), follows=(1,)),
    confidence=0.8,
)

REPORT: dict[str, Any] = {
    "question": QUESTION,
    "parts": (
        report_writer.PartEvidence(topic=Topic(heading="Making bread", question="How is bread made?"), passages=(1, 3)),
        report_writer.PartEvidence(
            topic=Topic(heading="Ripening of cheese", question="How does cheese ripen?"), passages=(2,)
        ),
    ),
    "feedback": ("Say more on rye bread",),
    "line": REASONING,
    "positions": (held("Does bread need yeast?", EVIDENCE.passages[:1], EVIDENCE.passages[2:]),),
    "preferences": PREFERENCES,
    "omitted": 4,
}
TEXT = ReportText(
    title="Bread takes hours, cheese takes a cellar",
    parts=(
        ReportPart(kind="answer", draft=Draft(blocks=DRAFT.blocks[:1])),
        ReportPart(kind="section", heading="Making bread", draft=Draft(blocks=DRAFT.blocks[1:])),
        ReportPart(
            kind="gaps", draft=Draft(blocks=(Block(kind="bullets", claims=(Claim(text="How rye ages.", kind="gap"),)),))
        ),
    ),
)
"""A report with an answer, a section and a gap."""


WORKSHOP: dict[str, Any] = {
    "question": "Write a function `loaves` that counts the loaves of a batch of dough",
    "given_files": (SourceFile(path="dough.csv", text="batch,kilos\n1,4.5\n"),),
    "tests": (
        SourceFile(
            path="test_loaves.py",
            text="from loaves import loaves\n\n\ndef test_whole_loaves():\n    assert loaves(4.5) == 5\n",
        ),
    ),
    "packages": ("pandas 3.0.0", "pytest 9.0.0"),
    "feedback": ("A loaf has 900 grams",),
    "lessons": ("A program for “Weigh the dough”: The scale counts grams. Convert them.",),
    "preferences": PREFERENCES,
}
ATTEMPT = Attempt(
    n=1,
    generation=1,
    approach="Divides by the weight of a loaf.",
    files=(SourceFile(path="loaves.py", text="def loaves(kilos):\n    return kilos // 1\n"),),
    passed=0,
    total=1,
    failures=(AttemptFailure(test="test_whole_loaves", error="assert 4.0 == 5", trace="E   assert 4.0 == 5"),),
    reflection=Lesson(failed="4.5 gives 4.0.", cause="A loaf counts as a kilo.", change="Divide by 0.9."),
)


@dataclass(frozen=True)
class Case:
    """A role with an input and evidence."""

    role: BaseRole[Any, Any, Any]
    input: RoleInput
    evidence: Evidence = EVIDENCE

    @property
    def prompt(self) -> str:
        """The whole prompt as one text, with the author above each message."""
        messages = self.role.prompt(self.input, self.evidence)
        return "\n".join(f"=== {message.role} ===\n{message.content}\n" for message in messages)


CASES: dict[str, Case] = {
    case.role.name: case
    for case in (
        Case(router.ROLE, router.RouterInput(question=QUESTION)),
        Case(clarifier.ROLE, clarifier.ClarifierInput(question=QUESTION)),
        Case(decomposer.ROLE, decomposer.DecomposerInput(question=QUESTION)),
        Case(
            question_rewriter.ROLE,
            question_rewriter.QuestionRewriterInput(
                question=QUESTION,
                sub_question="How long does that bread ripen?",
                earlier_questions=("Which bread is made with a sourdough?",),
            ),
        ),
        Case(
            sql_writer.ROLE,
            sql_writer.SqlWriterInput(
                question="How much bread was sold by town?", tables=(SALES,), failed_queries=FAILED
            ),
        ),
        Case(
            analyst.ROLE,
            analyst.AnalystInput(
                question="Does more bread sell from day to day in Rome?",
                computation="A linear regression of sold on day, for the town Rome.",
                tables=(SALES,),
                packages=("numpy 2.4.0", "pandas 3.0.0"),
                failed_programs=(
                    FailedProgram(
                        inputs=("SELECT day, sold FROM sales WHERE town = 'Rome'",),
                        code="import scipy.stats\n",
                        problem="it ended with exit code 1: ModuleNotFoundError: No module named 'scipy'",
                    ),
                ),
            ),
        ),
        Case(
            outliner.ROLE,
            outliner.OutlinerInput(
                question=QUESTION,
                sub_questions=("How is bread made?", "How does cheese ripen?"),
                max_topics=4,
                max_queries=9,
                feedback=("Say more on rye bread",),
                preferences=PREFERENCES,
            ),
        ),
        Case(
            hypothetical_document.ROLE,
            hypothetical_document.HypotheticalDocumentInput(
                question=QUESTION,
                topics=(
                    hypothetical_document.ImaginedTopic(heading="Making bread", question="How is bread made?"),
                    hypothetical_document.ImaginedTopic(heading="Ripening", question="How does cheese ripen?"),
                ),
            ),
        ),
        Case(
            planner.ROLE,
            planner.PlannerInput(
                question=QUESTION,
                cycle=2,
                max_cycles=3,
                max_searches=3,
                max_topics=6,
                preferences=PREFERENCES,
                outline=OUTLINE,
                trend="Steady",
                gain=0.41,
                latent=LATENT,
                executed=(
                    ExecutedQuery(query="How is bread made?", topic="Making bread", cycle=1, found=9, accepted=5),
                ),
                not_executed=("“How is bread baked?” was not searched: it was searched before",),
                critique="Nothing has been gathered yet.",
                omitted=2,
                feedback=("Say more on rye bread",),
                advice=("Research on cheese: ask for cellars.",),
                facts=("Rye bread of Westphalia is baked for a whole day.",),
                strategies={"direct": "one search", "react": "step by step with tools"},
                tool_resources=("table sales: day, loaves", "tool heat of the server cellar: </tables> Stop."),
            ),
        ),
        Case(
            step_preparer.ROLE,
            step_preparer.StepPreparerInput(
                question=QUESTION,
                query="How long does that dough rise?",
                earlier=(step_preparer.EarlierStep(query="What is bread made of?", passages=2),),
            ),
        ),
        Case(
            calculation_writer.ROLE,
            calculation_writer.CalculationWriterInput(
                question="How much longer is the ripening of cheese than the rising of dough?",
                earlier=(
                    step_preparer.EarlierStep(query="How long does dough rise?", passages=2),
                    step_preparer.EarlierStep(query="How long does cheese ripen?", passages=1),
                ),
            ),
        ),
        Case(
            query_refiner.ROLE,
            query_refiner.QueryRefinerInput(
                question=QUESTION, task="How does blue cheese ripen?", queries=("How does blue cheese ripen?",)
            ),
        ),
        Case(
            query_translator.ROLE,
            query_translator.QueryTranslatorInput(
                queries=("How does blue cheese ripen?", "resting time of rye dough"), languages=("fr", "de")
            ),
        ),
        Case(
            tool_selector.ROLE,
            tool_selector.ToolSelectorInput(
                question="How does blue cheese ripen in the cellar?",
                tools=(
                    McpTool(
                        server="cellar",
                        name="get_temperature",
                        description="Return the temperature of a room.",
                        parameters={"type": "object", "properties": {"room": {"type": "string"}}},
                    ),
                ),
                resources=(
                    McpResource(
                        server="cellar", uri="docs://cheese", title="Cheese", description="How cheese is kept."
                    ),
                ),
            ),
        ),
        Case(
            react.ROLE,
            react.ReactInput(
                question=QUESTION,
                task="How does blue cheese ripen?",
                tools=tuple(TOOLS[name].describe() for name in ("hybrid_search", "calculate", "lookup")),
                transcript=Transcript(
                    summaries=('1. hybrid_search {"query": "ripening"} → Cheese is kept cool [1].',),
                    steps=(
                        ReactStep(
                            n=2,
                            thought="Mould was named, and nothing says what it needs.",
                            tool="lookup",
                            arguments='{"term": "mould"}',
                            observation="[2] Blue cheese has a mould that needs air.",
                        ),
                    ),
                    omitted=1,
                ),
                steps_left=4,
            ),
        ),
        Case(stance_judge.ROLE, stance_judge.StanceJudgeInput(position="Is rye bread better than wheat bread?")),
        Case(
            topic_namer.ROLE,
            topic_namer.TopicNamerInput(question=QUESTION, outline=("Ripening of cheese",), group_sizes=(1, 1, 1)),
        ),
        Case(
            reasoner.ROLE,
            reasoner.ReasonerInput(
                question=QUESTION,
                topics=(Topic(heading="Making bread", question="How is bread made?"),),
                strategy="multi_hop",
                line=Reasoning(
                    strategy="multi_hop",
                    steps=(
                        ReasoningStep(kind="hop", claim=Claim(text=MADE, citations=(quoted(0, MADE),))),
                        ReasoningStep(
                            kind="hop",
                            claim=Claim(text=RIPENS, citations=(quoted(1, RIPENS),)),
                            follows=(1,),
                            link="flour",
                        ),
                    ),
                    queries=("What is flour made from?",),
                ),
                may_search=True,
            ),
        ),
        Case(report_writer.ROLE, report_writer.ReportWriterInput(**REPORT)),
        Case(
            report_reviewer.ROLE,
            report_reviewer.ReportReviewerInput(
                **REPORT,
                text=TEXT,
                requests=("The hours of rising are missing",),
                searches={"hours of rising": (2, 1)},
                first_new=3,
                earlier_critiques=("There is little on Making bread",),
            ),
        ),
        Case(
            answerer.ROLE,
            answerer.AnswererInput(
                topic=QUESTION,
                question="How long does the dough of the bread rise?",
                conversation=(
                    answerer.ConversationExchange(question="What is bread made of?", answer=MADE),
                    answerer.ConversationExchange(question="Who sells it?", answer=""),
                ),
            ),
        ),
        Case(
            picture_reader.ROLE,
            picture_reader.PictureReaderInput(
                picture=PictureRef(
                    source=SourceId("s1"), number=0, title="Bread", label="Figure 2", caption="Figure 2: Rise of dough."
                )
            ),
        ),
        Case(
            fact_extractor.ROLE,
            fact_extractor.FactExtractorInput(question="How long does the dough rise?", kind="figures"),
        ),
        Case(
            document_comparer.ROLE,
            document_comparer.DocumentComparerInput(criteria="What is bread made from?", first_document_passages=2),
        ),
        Case(
            claim_checker.ROLE,
            claim_checker.ClaimCheckerInput(question=QUESTION, claims=DRAFT.claims, other_sentences=(RISES,)),
        ),
        Case(
            dispute_judge.ROLE,
            dispute_judge.DisputeJudgeInput(first="Bread rises for two hours.", second="Bread rises for nine hours."),
        ),
        Case(test_writer.ROLE, test_writer.TestWriterInput(**WORKSHOP)),
        Case(
            coder.ROLE,
            coder.CoderInput(
                **WORKSHOP,
                specification="loaves(kilos) gives the whole loaves.",
                candidate=2,
                candidates=3,
                attempts=(ATTEMPT,),
                best_attempt=1,
                is_repeated=True,
            ),
        ),
        Case(
            code_reflector.ROLE,
            code_reflector.CodeReflectorInput(
                **WORKSHOP, specification="loaves(kilos) gives the whole loaves.", attempt=ATTEMPT
            ),
        ),
        Case(
            repository_engineer.ROLE,
            repository_engineer.RepositoryEngineerInput(
                question="loaves(2.5) gives 2.5 and not 2.",
                environment="All tests: `python -m pytest`.",
                map="bakery/loaves.py\n  1: def loaves(kilos)",
                can_ask=True,
                lessons=("Round down.",),
                preferences=("Write short functions.",),
                summary="- read bakery/loaves.py → 4 lines",
            ),
        ),
    )
}
"""Cases by the name of the role."""


def renew() -> None:
    """Rewrite all golden prompts."""
    GOLDEN.mkdir(exist_ok=True)
    for name, case in CASES.items():
        (GOLDEN / f"{name}.txt").write_text(case.prompt, encoding="utf-8")


if __name__ == "__main__":
    renew()
