"""Tests of the recognition of files that contain secrets."""

import base64
import hashlib
import sysconfig
import time
from pathlib import Path

import pytest

from tenure.files.secret_files import SNIFFED_BYTES, describe_secret_content, describe_secret_name
from tests.files.secret_samples import CONTENTS, NAMES, make_key
from tests.support.tiers import RUN_ALL, slow

_HASH = base64.b64encode(hashlib.sha512(b"a package").digest()).decode()


@pytest.mark.parametrize("name", NAMES)
def test_names_of_secrets_are_recognised(name: str) -> None:
    """Keys, password files and environments are recognised in any case, without their dot, and as copies."""
    assert describe_secret_name(name).startswith("has the name of")


@pytest.mark.parametrize(
    "name",
    [
        *("id_rsa.pub", "key.pem.example", ".env.example", "prod.env.sample", "credentials.template.json", "env.dist"),
        *("credentials.md", "secrets.rst", "passwords.html", "secrets.py", "token.py", "netrc.py", "netrc.rst"),
        *("environment.md", "env.py", "env_utils.py", "env.d.ts", "setup-env", "environment.yml", "keys.md", "key.txt"),
        *("monkey", "keynote.md", "tokenizer.json", "tokenizer_config.json", "secret-garden.txt", "shadow.css"),
        *("README", "Makefile", "identity.md", "public.asc", "keyboard.csv", "password-policy.docx", "envelope.txt"),
    ],
)
def test_ordinary_names_are_no_secrets(name: str) -> None:
    """Documents about secrets, programs, samples and public keys are read."""
    assert describe_secret_name(name) == ""


@pytest.mark.parametrize("kind", CONTENTS)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_secrets_in_the_beginning_are_recognised(kind: str, encoding: str) -> None:
    """Keys, password files, tokens and passwords are recognised in text of any encoding."""
    content = CONTENTS[kind]
    assert describe_secret_content(content.encode(encoding) if isinstance(content, str) else content)


@pytest.mark.parametrize(
    "text",
    [
        "-----BEGIN CERTIFICATE-----\n" + base64.encodebytes(bytes(range(256)) * 3).decode(),
        "-----BEGIN PUBLIC KEY-----\n" + base64.encodebytes(bytes(range(256))).decode(),
        "A key begins with `-----BEGIN RSA PRIVATE KEY-----` and ends with `-----END RSA PRIVATE KEY-----`.",
        "-----BEGIN RSA PRIVATE KEY-----\n... (private key in base64 encoding) ...\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN RSA PRIVATE KEY-----\n" + "X" * 64 + "\n-----END RSA PRIVATE KEY-----",
        "ghp_" + "x" * 36,
        "sk-" + "x" * 48,
        "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "The file has a machine token, then the login token, then the password token.",
        "https://example.org/sk-a-long-title-of-a-page-about-2024-and-some-other-things-of-interest",
        "task-management-and-other-things-1234567890-that-are-long-enough-to-look-like-it",
        "commit 3f2a" + "0123456789abcdef" * 4,
        "id,name\n1,access key\n",
        "root:x:0:0:root:/root:/bin/bash\n",
        "password: <your password>\ntoken: ${TOKEN}\nsecret_key: changeme123\n",
        "DB_PASSWORD=$(pass show db)\nAPI_KEY={{ vault_key }}\nAUTH_TOKEN=xxxxxxxx12\n",
        "# Limits\n\nThe replicas share counts.\n\nCreate the login first.\n\n```yaml\nkind: Secret\nstringData:\n"
        "  password: horse\n```\n\nThen apply it.\n\nEach replica reads it.\n\nRestart them.\n",
        "Set `password: s3cr3tPassw0rd` in the file, and then start the server.\n",
        "postgresql://scott:tiger9Lives@db/orders and redis://user:password1@cache:6379\n",
        "https://api.example.org:443/users/@me and http://[::1]:8080/a@b\n",
        "def login(user, password=None):\n    token = get_token(user, password)\n    key = cache_key(user)\n",
        "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIiwiaWF0IjoxNTE2MjM5MDIyfQ."
        "SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c",
        "mysql -u root -ppassword shop\ncurl -u user:password https://api.internal\n",
        '{"name": "x", "integrity": "sha512-' + _HASH + '", "resolved": "https://packages.internal/x.tgz"}',
        "numpy==2.4.6 --hash=sha256:" + "0a1b2c3d" * 8 + "\n",
        "max_tokens: 4096\ntokenizer: gpt2\nprimary_key: id_2024\nsort_key: created9\n",
        "10:30:Meeting:room 5:bring the papers\n",
    ],
)
def test_documentation_of_secrets_is_none(text: str) -> None:
    """Placeholders, public keys, certificates and long words are read."""
    assert describe_secret_content(text.encode()) == ""


def test_a_package_is_not_searched() -> None:
    """Compressed bytes contain anything by chance."""
    assert describe_secret_content(b"PK\x03\x04" + make_key().encode()) == ""


def test_the_search_takes_linear_time() -> None:
    """Text that almost matches again and again is searched quickly."""
    parts = (
        *(
            b"-----BEGIN PRIVATE KEY-----\n",
            b"#\n",
            b"machine ",
            b"sk-",
            b"eyJ",
            b"eyJaaaaaaaaaaaa.",
            b"://a:",
            b"{token",
        ),
        *(
            b"mysql ",
            b"curl -u a:",
            b"define('A",
            b"{, ",
            b"\n ",
            b"root:*:",
            b"sv=2026-01-01&",
            b"a1Q~",
            b"[a]=",
            b"a_",
        ),
    )
    for part in parts:
        times = []
        for size in (50_000, 200_000):
            start = time.process_time()
            assert describe_secret_content(part * (size // len(part))) == ""
            times.append(time.process_time() - start)
        assert times[1] < 12 * times[0] + 0.2, part


@slow
def test_ordinary_files_are_read() -> None:
    """Of the programs and documents of installed packages none is taken for a secret."""
    site = Path(sysconfig.get_path("purelib"))
    files = sorted(path for path in site.rglob("*") if path.suffix in (".py", ".pyi", ".md", ".rst", ".txt"))
    assert len(files) > 3000
    files = files if RUN_ALL else files[::40]
    found = {
        str(path.relative_to(site)): reason
        for path in files
        if (reason := describe_secret_name(path.name) or describe_secret_content(path.read_bytes()[:SNIFFED_BYTES]))
    }
    assert found == {}
