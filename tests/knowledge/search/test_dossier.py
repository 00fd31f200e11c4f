"""Test the dossier of a report: budget, duplicates, what surrounds strong passages, and numbers that never change."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.algorithms.control.budget import estimate_tokens
from tenure.contracts.base import ChunkId
from tenure.contracts.evidence.corpora import IngestRequest
from tenure.contracts.evidence.passages import PassageRef, SearchRequest
from tenure.contracts.research.dossier import Dossier, DossierRequest, PartPassages
from tenure.knowledge.base import KnowledgeBase
from tests.knowledge.word_vectors import WordVectors

Names = tuple[str, ...]
Extend = Callable[..., Dossier]

ROOM = 100_000
"""Tokens that all documents together do not need."""
CHUNK_TOKENS = 420
"""Estimated tokens of each passage of the book, of the notes and of the copy."""


def write_paragraphs(name: str, count: int) -> str:
    """Return paragraphs without a common word, three of which fill a passage."""
    return "\n\n".join(f"Rye {name}{n} " + " ".join(f"{name}{n}w{word}" for word in range(60)) for n in range(count))


DOCUMENTS = {
    "book": "# Book\n\n" + "\n\n".join(f"## Part {n}\n\n{write_paragraphs(f'b{n}', 6)}" for n in range(3)),
    "page": "# Page\n\n" + "\n\n".join(f"## Sub {n}\n\n{write_paragraphs(f'p{n}', 1)}" for n in range(3)),
    "copy": f"# Copy\n\n## Part 0\n\n{write_paragraphs('b0', 3)}",
    **{f"note{n}": f"# Note {n}\n\n{write_paragraphs(f'n{n}', 3)}" for n in range(6)},
}
"""A book of three parts of two passages, a short page of three, a copy of the book's first one, and six notes."""


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    """Knowledge base with the documents, which the tests of this module only read."""
    folder = tmp_path_factory.mktemp("dossier")
    (folder / "docs").mkdir()
    for name, text in DOCUMENTS.items():
        (folder / "docs" / f"{name}.md").write_text(f"{text}\n", encoding="utf-8")
    knowledge = KnowledgeBase(str(folder / "knowledge"), WordVectors())
    knowledge.corpora.ingest(IngestRequest(corpus="c", paths=(str(folder / "docs"),)), lambda progress: None)
    return knowledge


@pytest.fixture(scope="module")
def refs(base: KnowledgeBase) -> dict[str, PassageRef]:
    """All passages by document and number: `book0` to `book5`, `page0` to `page2`, `copy0`, `note00` to `note50`."""
    found = base.retrieval.search(SearchRequest(query="rye", corpora=("c",), k=100)).passages
    passages = sorted(zip(base.corpora.load_passages(found), found, strict=True), key=lambda one: one[0].start)
    numbered: dict[str, PassageRef] = {}
    for passage, ref in passages:
        name = passage.uri.rpartition("/")[2].removesuffix(".md")
        numbered[f"{name}{sum(known.startswith(name) for known in numbered)}"] = ref
    return numbered


@pytest.fixture
def extend(base: KnowledgeBase, refs: dict[str, PassageRef]) -> Extend:
    """Extend a dossier by named passages of parts."""

    def run(dossier: Dossier | None = None, max_tokens: int = ROOM, **found: Names) -> Dossier:
        parts = (
            PartPassages(heading=part, passages=tuple(refs[name] for name in names)) for part, names in found.items()
        )
        request = DossierRequest(dossier=dossier or Dossier(), found=tuple(parts), max_tokens=max_tokens)
        return base.retrieval.extend_dossier(request)

    return run


def name_passages(dossier: Dossier, refs: dict[str, PassageRef]) -> list[str]:
    names = {ref.chunk: name for name, ref in refs.items()}
    return [names[ref.chunk] for ref in dossier.passages]


def test_the_documents_have_the_expected_passages(base: KnowledgeBase, refs: dict[str, PassageRef]) -> None:
    """The tests of this module rely on the number and the size of the passages."""
    texts = {name: base.corpora.load_passages([ref])[0].text for name, ref in refs.items()}

    assert sorted(texts) == sorted(
        [*(f"book{n}" for n in range(6)), *(f"page{n}" for n in range(3)), "copy0", *(f"note{n}0" for n in range(6))]
    )
    sizes = {name: estimate_tokens(text) for name, text in texts.items()}
    assert {abs(size - CHUNK_TOKENS) < 10 for name, size in sizes.items() if "page" not in name} == {True}
    assert sum(sizes.values()) < ROOM


def test_passages_are_in_reading_order_by_document(extend: Extend, refs: dict[str, PassageRef]) -> None:
    """The document of the best passage comes first, each in its own order; parts name their numbers, best first."""
    dossier = extend(bread=("note00", "book4"), rye=("book2", "note10", "note00"))

    assert name_passages(dossier, refs) == ["note00", "book2", "book3", "book4", "book5", "note10"]
    assert dossier.parts == {"bread": (1, 4, 5), "rye": (2, 6, 1, 3)}
    assert [ref.chunk for ref in dossier.get_part("rye")] == [
        refs[name].chunk for name in ("book2", "note10", "note00", "book3")
    ]


def test_numbers_never_change(extend: Extend, refs: dict[str, PassageRef]) -> None:
    """Later passages are appended, known ones keep their numbers, and a part is extended behind its first ones."""
    before = extend(bread=("note00", "page1"))
    after = extend(before, bread=("note10", "note00"), rye=("page1",))

    assert after.passages[: len(before.passages)] == before.passages and name_passages(after, refs)[-1] == "note10"
    assert (before.parts, after.parts) == ({"bread": (1, 2)}, {"bread": (1, 2, 3), "rye": (2,)})
    assert extend(after) == after


def test_near_duplicates_are_rejected(extend: Extend, refs: dict[str, PassageRef]) -> None:
    """A copy is neither added nor counted as left out; its part names the passage that says the same."""
    at_once = extend(bread=("book0",), rye=("copy0", "note00"))
    later = extend(extend(bread=("book0",)), rye=("copy0",))

    assert "copy0" not in name_passages(at_once, refs) + name_passages(later, refs)
    assert (at_once.omitted, later.omitted) == ((), ())
    assert at_once.parts["rye"][0] == later.parts["rye"][0] == 1
    assert name_passages(at_once, refs)[0] == "book0"


def test_the_budget_is_respected(base: KnowledgeBase, extend: Extend, refs: dict[str, PassageRef]) -> None:
    """Passages that do not fit are listed once, however often they are found; a full dossier takes nothing more."""
    notes = tuple(f"note{n}0" for n in range(6))
    dossier = extend(max_tokens=3 * CHUNK_TOKENS + 50, bread=notes)
    full = extend(dossier, max_tokens=dossier.tokens, rye=("book0", "note00"))
    again = extend(full, max_tokens=full.tokens, rye=("book0", "note30"))
    larger = extend(full, max_tokens=full.tokens + CHUNK_TOKENS + 50, rye=("book0",))

    missed = tuple(refs[name].chunk for name in notes[3:])
    assert (name_passages(dossier, refs), dossier.omitted) == (list(notes[:3]), missed)
    texts = [passage.text for passage in base.corpora.load_passages(dossier.passages)]
    assert dossier.tokens == sum(map(estimate_tokens, texts)) <= 3 * CHUNK_TOKENS + 50
    assert (full.passages, full.tokens, full.omitted) == (
        dossier.passages,
        dossier.tokens,
        (*missed, refs["book0"].chunk),
    )
    assert (again.omitted, larger.omitted) == (full.omitted, missed)
    assert full.parts == {"bread": (1, 2, 3), "rye": (1,)}


def test_neighbours_come_before_weak_results(extend: Extend, refs: dict[str, PassageRef]) -> None:
    """The passage next to a strong one, under the same heading, takes the place of the last search results."""
    notes = tuple(f"note{n}0" for n in range(5))
    dossier = extend(max_tokens=4 * CHUNK_TOKENS + 50, bread=("book0", *notes))

    assert name_passages(dossier, refs) == ["book0", "book1", "note00", "note10"]
    assert (dossier.parts["bread"], len(dossier.omitted)) == ((1, 3, 4, 2), 3)


@pytest.mark.parametrize(("strong", "read"), [("book2", ["book2", "book3"]), ("book3", ["book2", "book3"])])
def test_only_passages_under_the_same_heading_are_neighbours(
    extend: Extend, refs: dict[str, PassageRef], strong: str, read: list[str]
) -> None:
    """The next passage and the one before are read, but none of another section."""
    assert name_passages(extend(bread=(strong,)), refs) == read


def test_nothing_is_read_around_weak_passages(extend: Extend, refs: dict[str, PassageRef]) -> None:
    """Only the first passages of a part are strong."""
    dossier = extend(bread=("note00", "note10", "note20", "book0"))

    assert name_passages(dossier, refs) == ["note00", "note10", "note20", "book0"]


def test_a_short_page_is_taken_whole(extend: Extend, refs: dict[str, PassageRef]) -> None:
    """Two passages of a short page bring the rest of it, one alone does not; passages of earlier searches count."""
    assert name_passages(extend(bread=("page2", "page0")), refs) == ["page0", "page1", "page2"]
    first = extend(bread=("page0",))
    assert name_passages(first, refs) == ["page0"]
    assert name_passages(extend(first, rye=("page2",)), refs) == ["page0", "page1", "page2"]


def test_passages_that_are_gone_are_skipped(base: KnowledgeBase, refs: dict[str, PassageRef]) -> None:
    """A file that was read again loses passages: new ones are left out, and known ones keep their numbers."""
    gone = refs["note00"].model_copy(update={"chunk": ChunkId("gone")})
    known = Dossier(passages=(gone, refs["note10"]), parts={"bread": (1, 2)}, tokens=2 * CHUNK_TOKENS)
    lost = gone.model_copy(update={"chunk": ChunkId("lost")})
    found = (PartPassages(heading="rye", passages=(lost, refs["note20"])),)
    dossier = base.retrieval.extend_dossier(DossierRequest(dossier=known, found=found, max_tokens=ROOM))

    assert dossier.passages == (gone, refs["note10"], refs["note20"])
    assert (dossier.parts, dossier.omitted) == ({"bread": (1, 2), "rye": (3,)}, ())
    nothing = (PartPassages(heading="rye", passages=(lost,)),)
    assert base.retrieval.extend_dossier(
        DossierRequest(dossier=known, found=nothing, max_tokens=ROOM)
    ) == known.model_copy(update={"parts": {"bread": (1, 2), "rye": ()}})


@pytest.mark.parametrize(("better", "read"), [(0, range(60)), (3, None)], ids=["strong", "weak"])
def test_a_table_is_completed(tmp_path: Path, better: int, read: range | None) -> None:
    """A strong part of a table brings all others, although they name their columns; a weak one those next to it."""
    rows = "\n".join(f"| feature{n} | {' '.join(f'w{n}x{word}' for word in range(12))} |" for n in range(60))
    (tmp_path / "docs").mkdir()
    text = f"# Queues\n\n## Matrix\n\n| Feature | Quorum |\n|---|---|\n{rows}\n\n## Other\n\nWords."
    (tmp_path / "docs" / "matrix.md").write_text(text, encoding="utf-8")
    for n in range(better):
        (tmp_path / "docs" / f"note{n}.md").write_text(f"# Note {n}\n\nWords of note{n}.", encoding="utf-8")
    knowledge = KnowledgeBase(str(tmp_path / "knowledge"), WordVectors())
    knowledge.corpora.ingest(IngestRequest(corpus="c", paths=(str(tmp_path / "docs"),)), lambda progress: None)
    queries = (*(f"words of note{n}" for n in range(better)), "feature30 w30x1")
    found = [knowledge.retrieval.search(SearchRequest(query=q, corpora=("c",), k=1)).passages[0] for q in queries]
    parts = (PartPassages(heading="queues", passages=tuple(found)),)
    dossier = knowledge.retrieval.extend_dossier(DossierRequest(dossier=Dossier(), found=parts, max_tokens=ROOM))
    texts = [passage.text for passage in knowledge.corpora.load_passages(dossier.passages)]
    shown = [n for n in range(60) if f"| feature{n} |" in "\n".join(texts)]

    assert "Words." not in texts
    if read:
        assert shown == list(read) and len(texts) > 3
    else:
        assert len(texts) == better + 3 and 30 in shown and shown == list(range(shown[0], shown[-1] + 1))


NAMES = st.lists(
    st.sampled_from(["book0", "book1", "book3", "page0", "page2", "copy0", "note00", "note10"]), max_size=6
)


@given(st.lists(st.tuples(NAMES, NAMES, st.integers(100, 5_000)), min_size=1, max_size=3))
@settings(deadline=None, max_examples=25)
def test_every_extension_keeps_the_rules(
    base: KnowledgeBase, refs: dict[str, PassageRef], additions: list[tuple[list[str], list[str], int]]
) -> None:
    """Passages are unique, old ones stay first, the budget holds, and parts name existing numbers, each once."""
    dossier = Dossier()
    for bread, rye, tokens in additions:
        parts = (("bread", bread), ("rye", rye))
        found = tuple(PartPassages(heading=part, passages=tuple(refs[n] for n in names)) for part, names in parts)
        limit = max(tokens, dossier.tokens, 1)
        after = base.retrieval.extend_dossier(DossierRequest(dossier=dossier, found=found, max_tokens=limit))

        assert after.passages[: len(dossier.passages)] == dossier.passages and after.tokens <= limit
        assert len({ref.chunk for ref in after.passages}) == len(after.passages)
        assert all(1 <= number <= len(after.passages) for numbers in after.parts.values() for number in numbers)
        assert all(len(set(numbers)) == len(numbers) for numbers in after.parts.values())
        dossier = after


def test_decisive_passages_precede_others_of_all_parts(base: KnowledgeBase, refs: dict[str, PassageRef]) -> None:
    """A dossier without room for all passages has the decisive ones of a part before the best of another one."""
    decisive = PartPassages(heading="rye", passages=tuple(refs[f"note{n}0"] for n in range(4)), decisive=3)
    other = PartPassages(heading="bread", passages=(refs["note40"], refs["note50"]))
    request = DossierRequest(dossier=Dossier(), found=(other, decisive), max_tokens=3 * (CHUNK_TOKENS + 10))

    dossier = base.retrieval.extend_dossier(request)
    assert name_passages(dossier, refs) == ["note00", "note10", "note20"]
