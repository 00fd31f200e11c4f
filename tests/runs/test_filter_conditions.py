"""Test filter conditions of the command line."""

import pytest

from tenure.contracts.evidence.filters import Filter
from tenure.runs.errors import InvalidRequest
from tenure.runs.filter_conditions import parse_filters


@pytest.mark.parametrize(
    ("written", "filter_"),
    [
        ("kind=prose", Filter(field="kind", equals="prose")),
        (" suffix = .md, .rst ", Filter(field="suffix", any_of=(".md", ".rst"))),
        ("published>=2020", Filter(field="published", min="2020")),
        ("published<=2021-03-12", Filter(field="published", max="2021-03-12")),
        ("published=2001-03", Filter(field="published", equals="2001-03")),
        ("ordinal<=3", Filter(field="ordinal", max=3)),
        ("title=a=b", Filter(field="title", equals="a=b")),
    ],
)
def test_a_condition_becomes_a_filter(written: str, filter_: Filter) -> None:
    """Each form of a condition is read, with spaces wherever a person puts them."""
    assert parse_filters([written]) == (filter_,)


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("recent", "write FIELD=VALUE"),
        ("kind!=prose", "write FIELD=VALUE"),
        ("colour=red", "there is no field 'colour' to filter by; there are source, uri"),
        ("kind=,", "names no value"),
        ("ordinal=first", "whole number"),
        ("published>=yesterday", "is a date such as"),
        ("published>=2020-13", "is a date such as"),
        ("published=2020,03/04/2021", "is a date such as"),
    ],
)
def test_an_invalid_condition_is_a_usage_error(written: str, told: str) -> None:
    """An error is reported in one line before anything starts."""
    with pytest.raises(InvalidRequest, match=told):
        parse_filters([written])


def test_many_conditions_are_refused() -> None:
    """A condition is looked at by every search, so their number is bounded; the same one twice is one."""
    assert len(parse_filters(["kind=prose"] * 20)) == 1
    with pytest.raises(InvalidRequest, match="at most 20"):
        parse_filters(["kind=prose"] * 21)


@pytest.mark.parametrize(
    ("filter_", "told"),
    [
        (Filter(field="kind", equals="prose"), "kind = prose"),
        (Filter(field="suffix", any_of=(".md", ".rst")), "suffix is one of .md, .rst"),
        (Filter(field="published", min="2020", max="2021"), "published >= 2020 and published <= 2021"),
    ],
)
def test_a_filter_is_told_in_words(filter_: Filter, told: str) -> None:
    """The run's page and its report say which passages were read."""
    assert str(filter_) == told
