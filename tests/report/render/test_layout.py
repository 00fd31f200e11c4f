"""Test the layout of claims."""

from tenure.contracts.result.result import ResultCitation, ResultClaim, Synthesis
from tenure.report.render.layout import split_into_blocks, split_synthesis


def claim(text: str, begins: str | None = None, source: int = 0) -> ResultClaim:
    cited = [{"source": source, "start": 0, "end": 1, "quote": "q"}] if source else []
    return ResultClaim.model_validate({"text": text, "status": "supported", "citations": cited, "begins": begins})


def shape(*claims: ResultClaim) -> list[tuple[str, list[str]]]:
    return [
        (passage.kind, ["".join(claim.text for claim in run.claims) for run in passage.runs])
        for passage in split_into_blocks(claims)
    ]


def test_paragraphs_and_lists_end_at_the_next_block() -> None:
    """A paragraph ends where the next block begins, and a list at its last bullet."""
    claims = [claim("a", "paragraph"), claim("b"), claim("c", "paragraph"), claim("d", "bullet"), claim("e", "bullet")]

    assert shape(*claims, claim("f")) == [
        ("paragraph", ["ab"]),
        ("paragraph", ["c"]),
        ("bullets", ["d", "e"]),
        ("paragraph", ["f"]),
    ]


def test_claims_without_a_block_are_one_paragraph() -> None:
    """Claims of an older document, which lack the field, are one paragraph."""
    assert shape(claim("a"), claim("b")) == [("paragraph", ["ab"])]


def test_a_run_ends_where_the_sources_change() -> None:
    """Sentences share a mark as long as they rest on the same sources; bullets never do."""
    assert shape(claim("a", source=1), claim("b", source=1), claim("c", source=2), claim("d")) == [
        ("paragraph", ["ab", "c", "d"])
    ]
    assert shape(claim("a", "bullet", 1), claim("b", "bullet", 1)) == [("bullets", ["a", "b"])]


def test_a_run_names_each_source_once_in_order() -> None:
    """Several quotes of a source and sources in any order make one ascending list."""
    cited = tuple(ResultCitation(source=n, start=0, end=1, quote="q") for n in (3, 1, 3))
    ((passage,),) = (tuple(split_into_blocks([claim("a").model_copy(update={"citations": cited})])),)

    assert passage.runs[0].sources == (1, 3)


def test_the_parts_of_a_synthesis_have_their_sentences() -> None:
    """Sentences are dealt out by their numbers, parts without any are left out, and none is lost."""
    claims = tuple(claim(text) for text in "abc")
    synthesis = Synthesis(situation="a", complication="", resolution="b c", claims=claims, sentences=(1, 0, 2))

    assert {name: [c.text for c in part] for name, part in split_synthesis(synthesis).items()} == {
        "Situation": ["a"],
        "Resolution": ["b", "c"],
    }
    assert len(split_synthesis(synthesis.model_copy(update={"sentences": (0, 0, 0)}))["Resolution"]) == 3
