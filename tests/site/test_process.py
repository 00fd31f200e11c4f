"""Test the page of a local stack with its commands as processes and the real worker."""

from pathlib import Path

import httpx
import pytest

from tests.cli.conftest import no_stack
from tests.support.homes import Home
from tests.support.tiers import slow
from tests.temporal.stack.conftest import free_ports


@slow
@pytest.mark.timeout(280)
def test_up_serves_a_page_that_serve_links_to(tmp_path: Path) -> None:
    """`status` and `serve` print the link of the stack's page, which lists runs, and `down` ends it."""
    settings = no_stack(tmp_path / "home").settings.model_copy(update={"site_port": free_ports(1)[0]})
    home = Home(settings)
    try:
        up, served = home.json("up"), home.json("serve")
        with httpx.Client(trust_env=False, timeout=120) as visitor:
            visitor.get(served["url"]).raise_for_status()  # sets the cookie
            page = visitor.get(f"http://127.0.0.1:{settings.site_port}/")
            runs = visitor.get(f"http://127.0.0.1:{settings.site_port}/api/v1/runs")
        stopped = home.json("down")["done"]
    finally:
        home.run("down")

    assert served["port"] == up["site_port"] == settings.site_port
    assert "Question or task" in page.text
    assert runs.json() == {"runs": []}
    assert f"page stopped (process {up['site_pid']})" in stopped
