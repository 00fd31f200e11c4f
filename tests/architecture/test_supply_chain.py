"""Test the packages that Tenure depends on: pinned versions, hashes and licences."""

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
CONSTRAINTS = "deploy/constraints.txt"
SANDBOX_REQUIREMENTS = "tenure/sandbox/requirements.txt"
EXPORTS = {
    CONSTRAINTS: (
        "uv export --no-dev --all-extras --no-emit-project --no-header --no-annotate --prune sentence-transformers "
        f"--format requirements-txt -o {CONSTRAINTS}"
    ),
    SANDBOX_REQUIREMENTS: (
        f"uv export --only-group sandbox --no-header --no-annotate --format requirements-txt -o {SANDBOX_REQUIREMENTS}"
    ),
}
"""Commands that make the files with the hashes of packages."""
OVERRIDDEN = {"sentence-transformers", "llm", "llama-cpp-python"}
"""Packages that are declared and never installed, as `override-dependencies` says."""

ALLOWED = re.compile(
    r"\b(?:MIT|Apache|BSD|0BSD|ISC|PSF|PSFL|PSF-2\.0|Python Software Foundation|MPL|MPL-2\.0|Mozilla Public"
    r"|LGPL|Lesser General Public|Public Domain|CC0-1\.0|Zlib|Unlicense|CNRI-Python|HPND)\b",
    re.IGNORECASE,
)
"""Licences that allow the use in a program under the Apache licence."""
FORBIDDEN = re.compile(r"(?<![A-Za-z])A?GPL|(?<!Lesser )General Public License|Affero|SSPL|BUSL|Commons Clause", re.I)
LICENCES_FROM_ELSEWHERE = {
    # The metadata names no licence; the licence file of the project does.
    "agent-client-protocol": "Apache-2.0",
    "axe-playwright-python": "MIT",
    "promql-parser": "MIT",
    # Most files are in the public domain; a mode for an editor, which no Python code imports, is under the GPL.
    "docutils": "Public Domain AND BSD-2-Clause AND PSF-2.0",
}
"""Licences of packages whose metadata are incomplete, with the reason."""


def normalize(name: str) -> str:
    """Return a package name in its normal form."""
    return re.sub(r"[-_.]+", "-", name).lower()


@cache
def project() -> dict[str, Any]:
    """Return the content of `pyproject.toml`."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def declared(*, for_users: bool) -> list[Requirement]:
    """Return the direct dependencies; those of users only, or all."""
    settings = project()["project"]
    texts = [
        *settings["dependencies"],
        *(text for group in settings["optional-dependencies"].values() for text in group),
    ]
    groups = project()["dependency-groups"]
    # A wheel contains the files of the package in the group `weights`.
    texts += [text for name, group in groups.items() if name == "weights" or not for_users for text in group]
    return [Requirement(text) for text in texts]


def read_hashes(file: str) -> dict[str, tuple[str, list[str]]]:
    """Return version and hashes of each package of an exported file."""
    found = {}
    for entry in re.split(r"\n(?=\S)", (ROOT / file).read_text().strip()):
        name, version = re.match(r"([A-Za-z0-9_.-]+)==(\S+)", entry).groups()  # type: ignore[union-attr]
        found[normalize(name)] = (version, re.findall(r"--hash=sha256:([0-9a-f]{64})", entry))
    return found


def declared_in(file: str) -> list[Requirement]:
    """Return the direct dependencies that an exported file contains."""
    if file == CONSTRAINTS:
        return declared(for_users=True)
    return [Requirement(text) for text in project()["dependency-groups"]["sandbox"]]


def list_installed() -> Iterator[metadata.Distribution]:
    """Yield the installed direct and transitive dependencies."""
    waiting = [(requirement, "") for requirement in declared(for_users=False)]
    known: set[str] = set()
    while waiting:
        requirement, extra = waiting.pop()
        name = normalize(requirement.name)
        if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
            continue
        for wanted in ("", *requirement.extras):
            if (key := f"{name}[{wanted}]") in known or name in OVERRIDDEN:
                continue
            known.add(key)
            try:
                found = metadata.distribution(name)
            except metadata.PackageNotFoundError:
                assert requirement in optional_packages(), f"{name} is required and not installed"
                continue
            if not wanted:
                yield found
            waiting += [(Requirement(text), wanted) for text in found.requires or ()]


def optional_packages() -> list[Requirement]:
    """Return the packages of the environment for programs, and those of the other optional groups."""
    groups = project()["dependency-groups"]
    names = ("sandbox", "real-model", "manual", "evals")
    return [Requirement(text) for name in names for text in groups[name]]


def read_licence(package: metadata.Distribution) -> str:
    """Return the licence that the metadata of a package declare; empty for none."""
    told = package.metadata
    if known := LICENCES_FROM_ELSEWHERE.get(normalize(told["Name"])):
        return known
    classifiers = [text.split(" :: ")[-1] for text in told.get_all("Classifier") or () if text.startswith("License")]
    first_line = (told.get_all("License") or [""])[0].strip().partition("\n")[0]
    (expression,) = told.get_all("License-Expression") or [""]
    return expression or " AND ".join([*classifiers, *([first_line] if first_line else [])])


def find_licence_fault(licence: str) -> str:
    """Return the reason for which a licence is refused; empty if one of its alternatives is accepted."""
    if not licence:
        return "it is unknown"
    alternatives = re.split(r"\s+OR\s+", licence)
    if all(FORBIDDEN.search(choice) for choice in alternatives):
        return f"{licence!r} is not compatible"
    if not any(ALLOWED.search(choice) for choice in alternatives if not FORBIDDEN.search(choice)):
        return f"{licence!r} is not known"
    return ""


def test_direct_dependencies_are_pinned() -> None:
    """Every direct dependency names exactly one version, and none is fetched from an address."""
    loose = [
        str(requirement)
        for requirement in declared(for_users=False)
        if requirement.url or [pin.operator for pin in requirement.specifier] != ["=="]
    ]

    assert not loose


@pytest.mark.parametrize("file", EXPORTS)
def test_exports_belong_to_the_declared_versions(file: str) -> None:
    """An exported file names the pinned version of each direct dependency."""
    known = read_hashes(file)
    stale = [
        str(requirement)
        for requirement in declared_in(file)
        if known.get(normalize(requirement.name), ("", []))[0] != next(iter(requirement.specifier)).version
    ]

    assert not stale, f"renew the file: {EXPORTS[file]}"


@pytest.mark.parametrize("file", EXPORTS)
def test_every_exported_package_has_hashes_and_no_address(file: str) -> None:
    """Every package of an exported file has a hash, and no line names a registry."""
    known = read_hashes(file)

    assert len(known) > len(declared_in(file))
    assert not [name for name, (_, hashes) in known.items() if not hashes]
    assert not re.search(r"://|--(?:extra-)?index|--find-links|@", (ROOT / file).read_text())


@pytest.mark.parametrize("file", EXPORTS)
def test_the_manual_names_the_command_that_exports(file: str) -> None:
    """The commands are in the manual as this test prints them."""
    assert EXPORTS[file] in (ROOT / "docs" / "security.md").read_text()


def test_licences_of_all_packages_are_compatible() -> None:
    """Every installed direct and transitive dependency has a known licence that is neither GPL nor AGPL."""
    packages = {normalize(package.metadata["Name"]): read_licence(package) for package in list_installed()}
    faults = {name: fault for name, licence in packages.items() if (fault := find_licence_fault(licence))}

    assert len(packages) > 100
    assert not faults


@pytest.mark.parametrize(
    ("licence", "accepted"),
    [
        ("MIT", True),
        ("GPL-3.0-only", False),
        ("AGPL-3.0-or-later", False),
        ("GNU General Public License v3 (GPLv3)", False),
        ("GNU Affero General Public License v3", False),
        ("MIT OR GPL-2.0-only", True),
        ("GNU Library or Lesser General Public License (LGPL)", True),
        ("LGPL-2.1-or-later", True),
        ("Commercial", False),
        ("", False),
    ],
)
def test_licences_are_told_apart(licence: str, accepted: bool) -> None:
    """One acceptable alternative suffices; unknown licences are not accepted."""
    assert (find_licence_fault(licence) == "") == accepted
