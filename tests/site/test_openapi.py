"""Test the description of the API."""

from openapi_spec_validator import validate

from tenure.site.api import OPERATIONS
from tenure.site.openapi import build_description


def test_the_description_is_valid_and_complete() -> None:
    """It follows the specification, and names every operation once with its body and its reply."""
    described = build_description("http://127.0.0.1:8235")
    validate(described)
    names = [operation["operationId"] for path in described["paths"].values() for operation in path.values()]

    assert sorted(names) == sorted(one.name for one in OPERATIONS)
    assert len(set(names)) == len(names)
    start = described["paths"]["/api/v1/runs"]["post"]
    assert start["requestBody"]["content"]["application/json"]["schema"]["$ref"].endswith("StartRequest")
    assert {"201", "404", "409", "422", "503"} <= start["responses"].keys()


def test_ranges_of_limits_are_described() -> None:
    """The limits of a run have the ranges and the meanings that the manual gives them."""
    fields = build_description("http://127.0.0.1:1")["components"]["schemas"]["StartRequest"]["properties"]

    assert fields["max_sections"].items() >= {"type": "integer", "minimum": 1, "maximum": 12}.items()
    assert fields["max_cycles"]["anyOf"][0] == {"type": "integer", "minimum": 1, "maximum": 100}
    assert fields["max_tokens"]["description"]
