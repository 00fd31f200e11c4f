"""Tests of the recognition of files that contain secrets."""

import base64
import hashlib
import random
import string

import pytest

from tenure.files.secret_files import describe_secret_content, describe_secret_name

_RANDOM = random.Random(7)


def _make_token(length: int) -> str:
    return "".join(_RANDOM.choice(string.ascii_letters + string.digits) for _ in range(length - 4)) + "aB3x"


def _make_key(kind: str = "", *, comment: str = "") -> str:
    body = base64.encodebytes(hashlib.sha512(kind.encode()).digest() * 20).decode()
    return f"-----BEGIN {kind}PRIVATE KEY-----\n{comment}{body}-----END {kind}PRIVATE KEY-----\n"


@pytest.mark.parametrize(
    "name",
    [
        *(
            "server.pem",
            "tls.key",
            "SERVER.PEM",
            "store.p12",
            "store.pfx",
            "vault.kdbx",
            "app.jks",
            "login.keychain-db",
        ),
        *("id_rsa", "ID_RSA", "id_ed25519", "id_ecdsa_sk", "deploy_id_rsa", "id_rsa.bak", "id_rsa~", "id_rsa.old.1"),
        *("id_rsa.txt", "id_rsa copy", "key.pem.save", "ssh_host_rsa_key", "putty.ppk", "x.keytab"),
        *("credentials", "Credentials", "credentials.json", "aws_credentials", "credentials.csv", "credentials.txt"),
        *(".netrc", "netrc", "_netrc", ".pgpass", "pgpass.conf", ".npmrc", ".pypirc", ".git-credentials", "my.cnf"),
        *("prod.env", "PROD.ENV", ".env", "env", ".env.local", "env.production", ".env.production.local", "a.b.env"),
        *("secrets.yaml", "app-secrets.yml", "secret.toml", "passwords.csv", "tokens.json", "api_keys.ini", "passwd"),
        *("shadow", "htpasswd", ".htpasswd", "kubeconfig", "terraform.tfstate", "client_secret_1-x.json", "wallet.dat"),
        *("service-account-prod.json", "root_accessKeys.csv", "logins.json", "ｉｄ_rsa"),
    ],
)
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


@pytest.mark.parametrize(
    "text",
    [
        _make_key("RSA "),
        _make_key("OPENSSH "),
        _make_key(),
        _make_key("ENCRYPTED "),
        _make_key("EC ", comment="Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,1F2E\n\n"),
        "# my notes\n\n" * 200 + _make_key("RSA "),
        '{"type": "service_account", "private_key": "' + _make_key().replace("\n", "\\n") + '"}',
        "key: |\n" + "".join(f"    {line}\n" for line in _make_key("EC ").splitlines()),
        _make_key().replace("\n", "\r\n"),
        "PuTTY-User-Key-File-2: ssh-rsa\nEncryption: none\n",
        "$ANSIBLE_VAULT;1.1;AES256\n62313365\n",
        "# mine\nmachine api.example.org\n  login me\n  password hunter2\n",
        "Access key ID,Secret access key\nAKIA1234,abcd\n",
        "root:$6$salt$hash:19000:0:99999:7:::\n",
        f"token = ghp_{_make_token(36)}\n",
        f"github_pat_{_make_token(82)}",
        f"glpat-{_make_token(20)}",
        f"xoxb-{_make_token(30)}",
        f"sk_live_{_make_token(24)}",
        f"OPENAI_API_KEY=sk-proj-{_make_token(60)}",
        f"sk-{_make_token(48)}",
        f"sk-ant-api03-{_make_token(80)}",
        f"AIza{_make_token(35)}",
        f"hf_{_make_token(34)}",
        f"aws_secret_access_key = {_make_token(40)}",
        f'"SecretAccessKey": "{_make_token(40)}"',
        f"AccountName=a;AccountKey={_make_token(86)}==;",
        f"AGE-SECRET-KEY-1{_make_token(58).upper()}",
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_secrets_in_the_beginning_are_recognised(text: str, encoding: str) -> None:
    """Keys, password files and tokens are recognised in text of any encoding."""
    assert describe_secret_content(text.encode(encoding))


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
    ],
)
def test_documentation_of_secrets_is_none(text: str) -> None:
    """Placeholders, public keys, certificates and long words are read."""
    assert describe_secret_content(text.encode()) == ""


def test_a_package_is_not_searched() -> None:
    """Compressed bytes contain anything by chance."""
    assert describe_secret_content(b"PK\x03\x04" + _make_key().encode()) == ""


def test_the_search_takes_linear_time() -> None:
    """Text that almost matches again and again is searched quickly."""
    for text in (b"-----BEGIN PRIVATE KEY-----\n" * 9_000, b"#\n" * 130_000, b"machine " * 30_000, b"sk-" * 80_000):
        assert describe_secret_content(text) == ""
