"""Test the search for what a report calls unknown, by exact names and rare words."""

import pytest

from tenure.contracts.evidence.corpora import IngestRequest
from tenure.contracts.evidence.passages import PassageRef, SearchRequest
from tenure.contracts.research.dossier import Dossier, DossierRequest, Gap, PartPassages
from tenure.knowledge.base import KnowledgeBase
from tests.knowledge.word_vectors import WordVectors


def write_page(subject: str, *lines: str) -> str:
    """Return a page with sections on a subject, each a passage of its own, and lines in the last one."""
    filler = [
        f"## Section {n}\n\n" + " ".join(f"{subject} has word{n}x{word} and more." for word in range(40))
        for n in range(6)
    ]
    table = "\n".join(lines)
    return "\n\n".join((f"# {subject}", *filler, f"## Last\n\nAn introduction comes first.\n\n{table}")) + "\n"


DOCUMENTS = {
    "streams": write_page("streams", "| Feature | AMQP |", "|---|---|", "| Offset tracking | Use external store |"),
    "options": write_page("options", "- `auth-url`: only headers are copied.", "- `auth-realm`: it is ignored."),
    "classic": write_page("classic", "Nothing else is here."),
}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    """Knowledge base with the pages, which the tests of this module only read."""
    folder = tmp_path_factory.mktemp("gaps")
    (folder / "docs").mkdir()
    for name, text in DOCUMENTS.items():
        (folder / "docs" / f"{name}.md").write_text(text, encoding="utf-8")
    knowledge = KnowledgeBase(str(folder / "knowledge"), WordVectors())
    knowledge.corpora.ingest(IngestRequest(corpus="c", paths=(str(folder / "docs"),)), lambda progress: None)
    return knowledge


def extend(base: KnowledgeBase, gap: Gap, dossier: Dossier | None = None, corpora: tuple[str, ...] = ("c",)) -> Dossier:
    part = PartPassages(heading="Rye", passages=(), gap=gap)
    request = DossierRequest(dossier=dossier or Dossier(), found=(part,), corpora=corpora, max_tokens=2_000)
    return base.retrieval.extend_dossier(request)


def read_last_lines(base: KnowledgeBase, dossier: Dossier, gap: Gap) -> list[str]:
    """Return the last lines of the passages that were found for a gap, best first."""
    refs = [dossier.passages[number - 1] for number in dossier.searches[gap.query]]
    return [passage.text.splitlines()[-1] for passage in base.corpora.load_passages(refs)]


OFFSETS = Gap(statement="How readers of the stream keep their offsets.", query="external store of an offset")
LIMITS = Gap(statement="Which limits apply to `auth-url` and `auth-realm`.", query="limits of annotations")


def test_a_row_of_a_table_is_found(base: KnowledgeBase) -> None:
    """The passage whose row has the rare words comes first, whatever the rest of it is about."""
    found = extend(base, OFFSETS)

    assert read_last_lines(base, found, OFFSETS)[0] == "| Offset tracking | Use external store |"
    assert found.get_part("Rye")[0].chunk == found.passages[found.searches[OFFSETS.query][0] - 1].chunk


def test_every_name_is_found(base: KnowledgeBase) -> None:
    """A passage with the exact name of an option is found although the words of the search are not in it."""
    assert "- auth-realm: it is ignored." in read_last_lines(base, extend(base, LIMITS), LIMITS)


def test_the_rest_of_a_read_document_is_searched(base: KnowledgeBase) -> None:
    """Passages of the dossier's documents are candidates even if their corpus is not searched."""
    (first,) = base.retrieval.search(SearchRequest(query="options word0x3", corpora=("c",), k=1)).passages
    dossier = Dossier(passages=(first,))

    assert extend(base, LIMITS, corpora=()).searches == {LIMITS.query: ()}
    assert "- auth-realm: it is ignored." in read_last_lines(base, extend(base, LIMITS, dossier, ()), LIMITS)


def test_known_passages_are_named_again(base: KnowledgeBase) -> None:
    """A passage that the dossier has keeps its number and is a result of the search; unrelated ones are none."""
    known = extend(base, OFFSETS)
    again = extend(base, Gap(query="external store"), known)

    assert again.passages == known.passages and again.searches.keys() == {OFFSETS.query, "external store"}
    assert again.searches["external store"][0] == known.searches[OFFSETS.query][0]
    assert extend(base, Gap(query="volcanoes of Iceland")).passages == ()


def test_a_gap_has_few_passages_although_all_are_known(base: KnowledgeBase) -> None:
    """In a small corpus, most of which the dossier has, a search names twice its room at most."""
    gap = Gap(query="streams options classic has more", max_passages=2)
    found = base.retrieval.search(SearchRequest(query=gap.query, corpora=("c",), k=30)).passages
    known = Dossier(passages=found)

    assert len(found) > 10
    assert len(extend(base, gap, known).searches[gap.query]) == 4


def test_what_one_ranking_puts_first_is_not_crowded_out(base: KnowledgeBase) -> None:
    """The best passage by words is named although many passages are near by meaning and share some of the words."""
    gap = OFFSETS.model_copy(update={"max_passages": 2})
    near = base.retrieval.search(SearchRequest(query="streams options classic has more", corpora=("c",), k=30)).passages
    part = PartPassages(heading="Rye", passages=near, gap=gap)
    request = DossierRequest(dossier=Dossier(), found=(part,), corpora=("c",), max_tokens=2_000)
    found = base.retrieval.extend_dossier(request)

    assert read_last_lines(base, found, gap)[0] == "| Offset tracking | Use external store |"
    assert near[0].chunk in {found.passages[number - 1].chunk for number in found.searches[gap.query]}


def test_other_searches_get_no_more_passages(base: KnowledgeBase) -> None:
    """Only gaps are searched by their words here; another part keeps what its search has found."""
    (first,) = base.retrieval.search(SearchRequest(query="options word0x3", corpora=("c",), k=1)).passages
    reference = PassageRef(chunk=first.chunk, source=first.source, score=0.0, relevance=0.0)
    part = PartPassages(heading="auth-url", passages=(reference,))
    request = DossierRequest(dossier=Dossier(), found=(part,), corpora=("c",), max_tokens=1_000)

    assert base.retrieval.extend_dossier(request).searches == {}
