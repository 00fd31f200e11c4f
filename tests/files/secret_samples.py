"""Contents and names of files with secrets, in the formats of the programs that write them; all keys are random."""

import base64
import hashlib
import json
import random
import string
from collections.abc import Mapping
from typing import Final

_RANDOM = random.Random(7)
_ALPHANUMERIC: Final = string.ascii_letters + string.digits
_PASSWORD: Final = "vK7mQ2xLr9wT"
"""Password without a character that is special in a URL or a shell word."""


def _pick(length: int, alphabet: str = _ALPHANUMERIC) -> str:
    """Return random characters, with a digit and both cases."""
    ending = "".join(character for character in "7aQ" if character in alphabet)
    return "".join(_RANDOM.choice(alphabet) for _ in range(length - len(ending))) + ending


def _encode(length: int) -> str:
    """Return random bytes in Base64."""
    return base64.b64encode(_RANDOM.randbytes(length)).decode()


def make_key(kind: str = "", *, comment: str = "", block: str = "") -> str:
    """Return a private key in PEM."""
    body = base64.encodebytes(hashlib.sha512(kind.encode()).digest() * 20).decode()
    return f"-----BEGIN {kind}PRIVATE KEY{block}-----\n{comment}{body}-----END {kind}PRIVATE KEY{block}-----\n"


def _make_jwt() -> str:
    """Return a signed token of the web."""
    parts = (b'{"alg":"HS256","typ":"JWT"}', b'{"sub":"4711","name":"ann","exp":1999999999}', _RANDOM.randbytes(32))
    return ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts)


_HEX: Final = "0123456789abcdef"

CONTENTS: Final[Mapping[str, str | bytes]] = {
    "AWS credentials": f"[default]\naws_access_key_id = AKIA{_pick(16, string.ascii_uppercase)}\n"
    f"aws_secret_access_key = {_encode(30)}\n",
    "AWS session in JSON": json.dumps(
        {"AccessKeyId": f"ASIA{_pick(16, string.ascii_uppercase)}", "SecretAccessKey": _encode(30)}
    ),
    "AWS keys in a program": f'client = boto3.client("s3", "eu-west-1", True, True, None, '
    f'"AKIA{_pick(16, string.ascii_uppercase + "234567")}", "{_encode(30)}")\n',
    "GitHub token": f"token: ghp_{_pick(36)}\n",
    "GitHub fine-grained token": f"github_pat_{_pick(22)}_{_pick(59)}",
    "GitLab token": f"export GITLAB_TOKEN=glpat-{_pick(20)}\n",
    "GitLab runner token": f'token = "glrt-{_pick(20)}"\n',
    "Slack token": f"xoxb-{_pick(12, string.digits)}-{_pick(13, string.digits)}-{_pick(24)}\n",
    "Slack webhook": f"https://hooks.slack.com/services/T{_pick(8, string.ascii_uppercase)}/"
    f"B{_pick(8, string.ascii_uppercase)}/{_pick(24)}\n",
    "Stripe key": f"stripe.api_key = 'sk_live_{_pick(24)}'\n",
    "Stripe webhook secret": f"endpoint_secret = 'whsec_{_pick(32)}'\n",
    "Google API key": f"key=AIza{_pick(35)}\n",
    "Google OAuth client": json.dumps({"installed": {"client_id": "1.apps", "client_secret": f"GOCSPX-{_pick(28)}"}}),
    "Google service account": json.dumps(
        {"type": "service_account", "private_key_id": _pick(40, _HEX), "private_key": make_key()}
    ),
    "Azure storage": f"DefaultEndpointsProtocol=https;AccountName=ann;AccountKey={_encode(64)};EndpointSuffix=x\n",
    "Azure client secret": f"AZURE_CLIENT_SECRET={_pick(3)}8Q~{_pick(34)}\n",
    "Azure shared access signature": "https://ann.blob.core.windows.net/c?sv=2023-11-03&se=2030-01-01&sr=c&sp=rl&"
    f"sig={_encode(32).replace('+', '%2B').replace('/', '%2F').replace('=', '%3D')}\n",
    "OpenAI key": f"OPENAI_API_KEY=sk-proj-{_pick(74)}T3BlbkFJ{_pick(74)}\n",
    "OpenAI key of the earlier form": f"sk-{_pick(20)}T3BlbkFJ{_pick(20)}\n",
    "Anthropic key": f"sk-ant-api03-{_pick(93)}AA\n",
    "Hugging Face token": f"hf_{_pick(34, string.ascii_letters)}\n",
    "npm token": f"npm_{_pick(36)}\n",
    "npmrc": f"//packages.example.org/:_authToken={_pick(8, _HEX)}-{_pick(4, _HEX)}-{_pick(12, _HEX)}\n",
    "PyPI token": f"pypi-AgEIcHlwaS5vcmcC{_pick(140)}\n",
    "pypirc": f"[pypi]\nusername = ann\npassword = {_PASSWORD}\n",
    "JSON Web Token": f"Authorization: Bearer {_make_jwt()}\n",
    "RSA key": make_key("RSA "),
    "PKCS 8 key": make_key(),
    "encrypted key": make_key("ENCRYPTED "),
    "EC key after text": "# my notes\n\n" * 200
    + make_key("EC ", comment="Proc-Type: 4,ENCRYPTED\nDEK-Info: A,1F2E\n\n"),
    "OpenSSH key": make_key("OPENSSH "),
    "SSH2 key": "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nComment: ann\n"
    f"{_encode(48)}\n{_encode(48)}\n---- END SSH2 ENCRYPTED PRIVATE KEY ----\n",
    "PGP key": make_key("PGP ", comment="\n", block=" BLOCK"),
    "PuTTY key": "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nComment: ann\n",
    "age key": f"# created: 2026-01-01\n# public key: age1\nAGE-SECRET-KEY-1{_pick(57, string.ascii_uppercase)}7\n",
    "WireGuard": f"[Interface]\nPrivateKey = {_encode(32)}\nAddress = 10.0.0.2/32\n",
    "JSON Web Key": json.dumps({"kty": "EC", "crv": "P-256", "x": _pick(43), "y": _pick(43), "d": _pick(43)}),
    "PostgreSQL URL": f"DATABASE_URL=postgresql://app:{_PASSWORD}@db.internal:5432/app\n",
    "MongoDB URL": f'uri = "mongodb+srv://ann:{_PASSWORD}@cluster0.mongodb.net/test"\n',
    "Redis URL": f"redis://:{_PASSWORD}@cache.internal:6379/0\n",
    "SQLAlchemy URL": f"sqlalchemy.url = mysql+pymysql://root:{_PASSWORD}@10.0.0.5/shop\n",
    "URL with a password": f"git clone https://ann:{_PASSWORD}@git.internal/ann/x.git\n",
    "git-credentials": f"https://ann:{_pick(40, _HEX)}@git.internal\n",
    "netrc": f"machine api.internal\n  login ann\n  password {_PASSWORD}\n",
    "netrc with a default first": f"default login ann password x1Y2z3\nmachine a.b login c password {_PASSWORD}\n",
    "pgpass": f"db.internal:5432:app:ann:{_PASSWORD}\n*:*:*:root:{_PASSWORD}\n",
    "my.cnf": f"[client]\nuser=ann\npassword={_PASSWORD}\nhost=db.internal\n",
    "environment": f"DEBUG=false\nDB_HOST=db\nDB_PASSWORD={_PASSWORD}\nSECRET_KEY={_pick(50)}\n",
    "environment with export": f"export PATH=$PATH:~/bin\nexport STRIPE_API_SECRET='{_pick(32)}'\n",
    "kubeconfig": "apiVersion: v1\nkind: Config\nusers:\n- name: ann\n  user:\n"
    f"    client-certificate-data: LS0tLS1CRUdJTiBD{_encode(60)}\n    client-key-data: LS0tLS1CRUdJTiBQ{_encode(60)}\n",
    "kubeconfig with a token": f"kind: Config\nusers:\n- name: ann\n  user:\n    token: {_pick(64)}\n",
    "Kubernetes secret": f"apiVersion: v1\nkind: Secret\nmetadata:\n  name: db\ndata:\n  password: {_encode(12)}\n",
    "Docker configuration": json.dumps({"auths": {"registry.internal": {"auth": _encode(24)}}}, indent=2),
    "Terraform variables": f'region      = "eu-west-1"\ndb_password = "{_PASSWORD}"\n',
    "Terraform state": json.dumps(
        {
            "version": 4,
            "terraform_version": "1.9.0",
            "resources": [{"instances": [{"attributes": {"password": "x1Y2z3W4q"}}]}],
        },
        indent=2,
    ),
    "shadow": f"daemon:*:19000:0:99999:7:::\nann:$6${_pick(16)}${_pick(86)}:19000:0:99999:7:::\n",
    "htpasswd": f"ann:$apr1${_pick(8)}${_pick(22)}\nbob:$2y$10${_pick(53)}\n",
    "Ansible vault": "$ANSIBLE_VAULT;1.1;AES256\n62313365\n",
    "PKCS 12 store": b"\x30\x82\x0a\x2b\x02\x01\x03\x30\x82\x09\xf1\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x01"
    + _RANDOM.randbytes(2000),
    "Java key store": b"\xfe\xed\xfe\xed\x00\x00\x00\x02" + _RANDOM.randbytes(500),
    "Kerberos keytab": b"\x05\x02\x00\x00\x00\x4e\x00\x02\x00\x0bEXAMPLE.ORG" + _RANDOM.randbytes(64),
    "KeePass store": b"\x03\xd9\xa2\x9a\x67\xfb\x4b\xb5" + _RANDOM.randbytes(500),
    "Bitcoin wallet": bytes(12)
    + b"\x62\x31\x05\x00\x09\x00\x00\x00"
    + bytes(400)
    + b"\x04mkey"
    + _RANDOM.randbytes(90)
    + b"\x07keymeta!",
    "Ethereum wallet": json.dumps(
        {
            "address": _pick(40, _HEX),
            "crypto": {"cipher": "aes-128-ctr", "ciphertext": _pick(64, _HEX), "kdf": "scrypt"},
        }
    ),
    "shell history": f"cd src\nls\nexport ADMIN_TOKEN={_pick(40)}\nmake\n",
    "shell history with curl": f"ls -l\ncurl -u ann:{_PASSWORD} https://api.internal/v1/me\ncd ..\n",
    "shell history with MySQL": f"cd src\nmysql -h db -u root -p{_PASSWORD} shop\nls\n",
    "WordPress configuration": f"<?php\ndefine( 'DB_NAME', 'wp' );\ndefine( 'DB_PASSWORD', '{_PASSWORD}' );\n",
    "YAML with a password": f"database:\n  host: db.internal\n  username: app\n  password: {_PASSWORD}\n",
    "JSON with a password": json.dumps({"host": "db.internal", "username": "app", "password": _PASSWORD}, indent=1),
    "Properties with a password": f"spring.datasource.username=app\nspring.datasource.password={_PASSWORD}\n",
    "Maven settings": f"<settings><servers><server><id>x</id><username>ann</username><password>{_PASSWORD}</password>"
    "</server></servers></settings>\n",
    "SendGrid key": f"SG.{_pick(22)}.{_pick(43)}\n",
    "Twilio key": f"TWILIO_API_KEY=SK{_pick(32, _HEX)}\n",
    "Telegram bot": f"bot = Bot('{_pick(10, string.digits)}:AA{_pick(33)}')\n",
    "Discord webhook": f"https://discord.com/api/webhooks/{_pick(18, string.digits)}/{_pick(68)}\n",
    "DigitalOcean token": f"dop_v1_{_pick(64, _HEX)}\n",
    "Databricks token": f"token = dapi{_pick(32, _HEX)}\n",
    "Vault token": f"hvs.{_pick(90)}\n",
    "Shopify token": f"shpat_{_pick(32, _HEX)}\n",
    "Groq key": f"gsk_{_pick(52)}\n",
    "OpenRouter key": f"sk-or-v1-{_pick(64, _HEX)}\n",
    "xAI key": f"xai-{_pick(80)}\n",
    "Replicate token": f"r8_{_pick(37)}\n",
    "Linear key": f"lin_api_{_pick(40)}\n",
    "Sentry token": f"sntrys_{_pick(120)}\n",
    "New Relic key": f"NRAK-{_pick(27, string.ascii_uppercase + string.digits)}\n",
    "Grafana token": f"glsa_{_pick(32)}_{_pick(8, _HEX)}\n",
    "Docker Hub token": f"dckr_pat_{_pick(27)}\n",
    "Atlassian token": f"ATATT3xFfGF0{_pick(180)}\n",
    "Square token": f"EAAA{_pick(60)}\n",
    "Mailgun key": f"MAILGUN_API_KEY=key-{_pick(32, _HEX)}\n",
}
"""Contents of files by kind of secret."""

NAMES: Final = (
    *("server.pem", "tls.key", "SERVER.PEM", "store.p12", "store.pfx", "vault.kdbx", "app.jks", "login.keychain-db"),
    *("id_rsa", "ID_RSA", "id_ed25519", "id_ecdsa_sk", "deploy_id_rsa", "id_rsa.bak", "id_rsa~", "id_rsa.old.1"),
    *("id_rsa.txt", "id_rsa copy", "key.pem.save", "ssh_host_rsa_key", "putty.ppk", "x.keytab", "ｉｄ_rsa"),
    *("credentials", "Credentials", "credentials.json", "aws_credentials", "credentials.csv", "credentials.txt"),
    *(".netrc", "netrc", "_netrc", ".pgpass", "pgpass.conf", ".npmrc", ".pypirc", ".git-credentials", "my.cnf"),
    *("prod.env", "PROD.ENV", ".env", "env", ".env.local", "env.production", ".env.production.local", "a.b.env"),
    *("secrets.yaml", "app-secrets.yml", "secret.toml", "passwords.csv", "tokens.json", "api_keys.ini", "passwd"),
    *("shadow", "htpasswd", ".htpasswd", "kubeconfig", "terraform.tfstate", "client_secret_1-x.json", "wallet.dat"),
    *("service-account-prod.json", "root_accessKeys.csv", "logins.json"),
    # Variants of the environment.
    *(".envrc", ".env.staging", ".env-production", ".env_prod", "env.vault", ".env.bak", ".flaskenv", "dotenv"),
    # Histories of shells and database clients.
    *(".bash_history", ".zsh_history", ".psql_history", ".mysql_history", ".python_history", ".node_repl_history"),
    *(".rediscli_history", ".sqlite_history", "fish_history", "ConsoleHost_history.txt"),
    # Infrastructure.
    *("terraform.tfvars", "prod.auto.tfvars", "secrets.tfvars.json", "terraform.tfstate.backup", "prod.tfstate"),
    *(".terraformrc", "credentials.tfrc.json", "kubeconfig.yaml", "admin.conf.kubeconfig", "prod-kubeconfig"),
    *("vault.yml", "group_vars-vault.yml", ".vault_pass", ".vault-token", "master.key", "credentials.yml.enc"),
    *("acme.json", "AuthKey_8A7B6C5D4E.p8", "office.ovpn", "wg0.conf", "rclone.conf", "dockerconfig.json"),
    # Clients.
    *(".authinfo", ".authinfo.gpg", ".my.cnf", ".mylogin.cnf", ".dockercfg", ".docker_config.json", ".s3cfg", ".boto"),
    *(
        ".gitlab-token",
        "github-token",
        "accessTokens.json",
        "msal_token_cache.json",
        "access_tokens.db",
        "token.pickle",
    ),
    *(
        "sftp-config.json",
        "sitemanager.xml",
        "recentservers.xml",
        ".smbcredentials",
        "cifs-credentials",
        "wp-config.php",
    ),
    # Stores.
    *("release.keystore", "trust.jceks", "krb5.keytab", "secring.gpg", "private-key.asc", "key4.db", "Login Data"),
    *("default_wallet", "UTC--2026-01-01T00-00-00.000000000Z--0a1b2c3d4e5f6071829300a1b2c3d4e5f6071829", "wallet.json"),
    *("gshadow", "shadow-", "ntds.dit", "firebase-adminsdk-x1.json", "gcp-key.json", "sa-key.json", "cookies.sqlite"),
)
"""Names of files with secrets."""
