"""Test the switches of mechanisms and the table of their effects."""

import os
import re
from pathlib import Path
from unittest.mock import patch

import pytest

pytest.importorskip("inspect_ai", reason="the dependency group evals is not installed")

from evals.ablations import MECHANISMS, render_table, use_environment
from tenure.roles.registry import list_role_names
from tenure.settings import Settings

README = Path(__file__).parents[2] / "evals" / "README.md"


def test_every_mechanism_is_switched_off_by_settings() -> None:
    """Each row changes the settings, and names roles that exist."""
    with patch.dict(os.environ):
        for name in [name for name in os.environ if name.startswith(("TENURE_", "OPENAI_"))]:
            del os.environ[name]
        usual = Settings(_env_file=None)
        for settings in MECHANISMS.values():
            with use_environment(settings):
                changed = Settings(_env_file=None)
            assert changed != usual
            assert changed.offline_roles <= set(list_role_names())
        assert Settings(_env_file=None) == usual


def test_the_page_names_every_mechanism() -> None:
    """The list of the page is that of the program."""
    (listed,) = re.findall("<!-- mechanisms -->(.*)<!-- end of mechanisms -->", README.read_text(encoding="utf-8"))

    assert listed.split(", ") == list(MECHANISMS)


def test_a_table_has_a_row_for_each_mechanism() -> None:
    """Means have three digits, and every row has all columns of the first one."""
    table = render_table({"nothing": {"f1": 0.51234, "calls": 6.0}, "hyde": {"f1": 0.5, "calls": 5.0}})

    assert table.splitlines() == [
        "| without | f1 | calls |",
        "|---|---|---|",
        "| nothing | 0.512 | 6 |",
        "| hyde | 0.5 | 5 |",
    ]
