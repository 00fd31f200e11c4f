"""Test the server of a team as people use it: a browser, a provider of identities, and nginx with TLS in between."""

import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from playwright.async_api import Page

from tenure.temporal.loopback import request_status
from tests.cli.conftest import ROOT, CommandLine
from tests.site.paint import open_browser
from tests.site.test_browser import PATIENT_MILLISECONDS, check_page
from tests.support.chromium import needs_chromium
from tests.support.ports import free_ports
from tests.support.servers.identity_provider import IdentityProvider
from tests.support.tiers import slow
from tests.support.waiting import block_until
from tests.team.conftest import ANN, BOB, Team, in_one_task, make_settings, serve_settings

NGINX = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/bin")

pytestmark = [
    needs_chromium,
    slow,
    pytest.mark.skipif(NGINX is None, reason="no nginx on this machine: `apt-get install nginx-light` installs it"),
]


def write_certificate(folder: Path) -> None:
    """Write a certificate for the loopback address, signed with its own key."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "tenure")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    form = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    (folder / "tls.key").write_bytes(key.private_bytes(serialization.Encoding.PEM, *form))
    (folder / "tls.crt").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))


@contextmanager
def run_proxy(folder: Path, port: int, server_port: int) -> Iterator[None]:
    """Run nginx with the configuration of Docker Compose, on other ports and in a folder of its own."""
    write_certificate(folder)
    text = (ROOT / "deploy" / "team-proxy.conf").read_text(encoding="utf-8")
    for before, after in {
        "listen 8443": f"listen 127.0.0.1:{port}",
        "team:8235": f"127.0.0.1:{server_port}",
        "/etc/tenure": str(folder),
        "/run/proxy": str(folder),
    }.items():
        assert before in text
        text = text.replace(before, after)
    configuration = folder / "nginx.conf"
    configuration.write_text(text, encoding="utf-8")
    assert NGINX is not None
    with subprocess.Popen([NGINX, "-c", str(configuration), "-g", "daemon off;"]) as process:
        try:
            # It answers plain requests on a port with TLS by 400.
            block_until("answer of nginx", lambda: request_status(port, "/", 2) is not None)
            yield
        finally:
            process.terminate()


@pytest.fixture
async def proxied(tmp_path: Path, team_stack: CommandLine, provider: IdentityProvider) -> AsyncIterator[Team]:
    """Server of a team with a stack, behind TLS."""
    (port,) = free_ports(1)
    stack = team_stack.settings
    shared = {"temporal_port": stack.temporal_port, "ui_port": stack.ui_port}
    settings = make_settings(stack.home, provider, **shared, team_url=f"https://127.0.0.1:{port}")
    async with in_one_task(serve_settings(settings, provider)) as team:
        with run_proxy(tmp_path, port, settings.site_port):
            yield team


async def sign_in(page: Page, name: str, url: str) -> None:
    """Visit a page, which leads to the provider and back."""
    await page.goto(url)
    await page.get_by_label("Address").fill(name)
    await page.get_by_role("button", name="Continue").click()
    await page.get_by_role("link", name="Account").wait_for()


@pytest.mark.parametrize("width", [1200, 390])
async def test_two_people_ask_steer_and_read(proxied: Team, width: int) -> None:
    """Ann asks, steers and reads; Bob finds none of it, with a desktop and a phone; each signs out."""
    question = f"wait here at {width}"
    async with open_browser(width, checks_certificates=False) as context:
        context.set_default_timeout(PATIENT_MILLISECONDS)
        page = await context.new_page()
        await sign_in(page, ANN, f"{proxied.origin}/account")
        assert page.url == f"{proxied.origin}/account"
        await check_page(page, width)
        await page.get_by_label("Name of the program").fill("assistant")
        await page.get_by_role("button", name="New token").click()
        await page.get_by_role("status").wait_for()
        await page.goto(proxied.origin)
        await page.get_by_label("Question or task").fill(question)
        await page.get_by_role("button", name="Start").click()
        await page.get_by_text("the stub waits").wait_for()
        run = page.url
        await page.get_by_label("Feedback on the research or the report").fill("more of it")
        await page.get_by_role("button", name="Send feedback").click()
        await page.get_by_text("The stub heard feedback.").wait_for()
        await page.get_by_role("button", name="Finish with what it has").click()
        await page.get_by_role("link", name="Read the whole report").click()
        await page.get_by_role("heading", name="A stub report").wait_for()
        await check_page(page, width)
        (cookie,) = await context.cookies(proxied.origin)
        assert (cookie["name"], cookie["secure"], cookie["httpOnly"]) == ("__Host-tenure", True, True)
        assert cookie["sameSite"] == "Strict"
    async with open_browser(width, checks_certificates=False) as context:
        context.set_default_timeout(PATIENT_MILLISECONDS)
        page = await context.new_page()
        await sign_in(page, BOB, proxied.origin)
        assert await page.get_by_text(question).count() == 0
        await page.goto(run)
        assert "there is no run" in await page.get_by_role("alert").inner_text()
        await check_page(page, width)
        await page.goto(f"{proxied.origin}/account")
        await page.get_by_role("button", name="Sign out").click()
        await page.get_by_role("link", name="Sign in").wait_for()
        await check_page(page, width)
        await page.goto(run)
        assert page.url.startswith(proxied.provider.issuer)
