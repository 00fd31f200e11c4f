"""Recognise files that contain passwords, keys or tokens, by their name or by their beginning.

The recognition keeps people from handing over such a file by mistake. Placeholders in documentation are no secrets:
keys without content, tokens of few different characters, and names with a suffix for text or programs.
"""

import re
import unicodedata
from typing import Final

SNIFFED_BYTES: Final = 262_144
"""Number of bytes at the beginning of a file that are searched."""

_MIN_DIFFERENT_CHARACTERS: Final = 10
"""Number of different characters of a token below which it is a placeholder."""

_MIN_PASSWORD_CHARACTERS: Final = 7
"""Number of different characters of a password below which it is a placeholder."""

_COPY_SUFFIX: Final = re.compile(
    r"(?:~|\.(?:bak|backup|old|orig|save|saved|copy|swp|tmp|txt|\d{1,8})|[ _-]copy| \(\d\))$"
)
"""Ending of a copy: `id_rsa.bak` is as secret as `id_rsa`."""

_KEY_SUFFIXES: Final = (
    *(".pem", ".key", ".p12", ".pfx", ".p8", ".pk8", ".ppk", ".jks", ".jceks", ".keystore", ".bks", ".ovpn"),
    *(".kdbx", ".kdb", ".agilekeychain", ".opvault", ".keychain", ".keychain-db", ".keytab", ".agekey", ".htpasswd"),
)
# `id_ed25519`, `ssh_host_rsa_key`, `private-key.asc`.
_KEY_NAMES: Final = re.compile(
    r"(?:.*[._-])?id_(?:rsa|dsa|ecdsa|ed25519|xmss)(?:_sk)?|ssh_host_\w+_key|secring\.gpg|wg\d\.conf|"
    r"(?:[\w-]+[._-])?private[_-]?keys?\.(?:asc|bin|der|gpg|json|xml)|"
    # Wallets of Bitcoin, of Electrum, and of Ethereum: `UTC--2026-01-01T00-00-00.0Z--0a1b…`.
    r"wallet\.(?:dat|json|db)|default_wallet|utc--[\dt.:-]+z--[0-9a-f]{40}"
)
# `netrc`, `prod.kubeconfig`, `terraform.tfstate`, `cookies.sqlite`.
_PASSWORD_NAMES: Final = re.compile(
    r"netrc|authinfo(?:\.gpg)?|pgpass(?:\.conf)?|my\.cnf|mylogin\.cnf|npmrc|pypirc|git-credentials|smbcredentials|"
    r"htpasswd|htdigest|g?shadow-?|master\.passwd|ntds\.dit|(?:[\w.-]+[._-])?kubeconfig(?:\.ya?ml|\.conf)?|"
    r"vault-token|vault_pass\w*|(?:[\w-]+[._-])?vault\.ya?ml|docker_?cfg|docker_?config\.?json|s3cfg|boto|rclone\.conf|"
    r"logins\.json|login data|cookies\.sqlite|key[34]\.db|signons\.sqlite|\w*access_?(?:keys\.csv|tokens\.json)|"
    r"msal_token_cache\.\w+|token\.pickle|acme\.json|sftp-config\.json|(?:sitemanager|recentservers|filezilla)\.xml|"
    r"wp-config\.php|credentials\.(?:tfrc\.json|yml\.enc)|terraformrc|.*\.(?:tfstate|tfvars(?:\.json)?)|"
    r"(?:[\w-]+[._-])?client_secrets?[\w.-]*\.json|service[_-]?account[\w.-]*\.json|[\w-]+-adminsdk-[\w-]+\.json|"
    r"(?:gcp|gcloud|sa)[_-]?key\.json|application_default_credentials\.json"
)
_HISTORY_NAMES: Final = re.compile(
    r"(?:bash|zsh|fish|ksh|sh|csh|psql|mysql|mariadb|sqlite|rediscli|mongo|python|node_repl|irb|consolehost)_history"
    r"(?:\.txt)?"
)
"""Histories contain what was typed, passwords and tokens included; a file named `HISTORY` lists the changes of a
program.
"""
_CREDENTIAL_NAMES: Final = re.compile(
    r"(?:[\w-]+[._-])?(?:credentials?|secrets?|passwords?|passwd|tokens?|api[_-]?keys?)"
    r"(?:\.(?:ini|cfg|conf|config|json|jsonc|ya?ml|toml|xml|properties|csv|tsv|env|enc|db|kdb|asc|xlsx?|ods))?"
)
"""Names of collections of secrets; `credentials.md` is a document about them."""
# `env`, `app.env`, `env.production`, `envrc`.
_ENVIRONMENT_NAMES: Final = re.compile(
    r"(?:[\w-]+\.){0,3}env(?:[._-](?:prod|dev|stag|test|secret|local|live|vault|private|docker|shared|ci\b|keys?\b)"
    r"[\w-]*){0,2}|envrc|flaskenv|dotenv"
)
_SAMPLE: Final = re.compile(r"example|sample|template|\bdist\b|default(?!_wallet)|dummy")
"""Part of the name of a file that shows the form of a secret and holds none."""

_KEY_HEADER: Final = re.compile(
    rb"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----(?:\\[nr]|\s|\"|,|\+|#|//|Proc-Type:[^\n]{0,80}|"
    rb"DEK-Info:[^\n]{0,80}|Version:[^\n]{0,80}|Comment:[^\n]{0,80}){1,40}[A-Za-z0-9+/=\\]{40,}|"
    rb"---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\s(?:[\w-]{1,40}:[^\n]{0,80}\n){0,5}[A-Za-z0-9+/=]{40,}"
)
_TOKENS: Final = re.compile(
    rb"(?<![A-Za-z0-9_-])(?:"
    rb"gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_\w{60,255}|gl(?:pat|rt|dt|ptt|cbt|soat)-[\w-]{20,100}|"
    rb"xox[abeoprs]-[\w-]{20,250}|xapp-\d-[\w-]{20,250}|hooks\.slack\.com/services/T\w{8,12}/B\w{8,12}/\w{20,40}|"
    rb"[sr]k_live_[A-Za-z0-9]{20,250}|whsec_[A-Za-z0-9+/]{32,64}|sk-ant-[\w-]{60,250}|sk-[A-Za-z0-9]{40,250}|"
    rb"sk-(?:proj|svcacct|admin|or-v1)-[\w-]{40,250}|AIza[\w-]{35}|GOCSPX-[\w-]{28}|npm_[A-Za-z0-9]{36}|"
    rb"pypi-[\w-]{85,250}|hf_[A-Za-z]{34,40}|SG\.[\w-]{22}\.[\w-]{43}|AGE-SECRET-KEY-1[0-9A-Z]{58}|"
    rb"dop_v1_[a-f0-9]{64}|shpat_[a-fA-F0-9]{32}|lin_api_[A-Za-z0-9]{40}|gsk_[A-Za-z0-9]{48,60}|hvs\.[\w-]{60,250}|"
    rb"xai-[A-Za-z0-9]{80}|r8_[A-Za-z0-9]{37}|sntrys_[\w+/=]{80,250}|NRAK-[A-Z0-9]{27}|glsa_[A-Za-z0-9]{32}_[a-f0-9]{8}|"
    rb"dckr_pat_[\w-]{27}|ATATT3x[\w=-]{180,210}|EAAA[\w-]{60}|dapi[a-f0-9]{32}|key-[a-f0-9]{32}|"
    rb"\d{8,10}:AA[\w-]{33}|discord(?:app)?\.com/api/webhooks/\d{17,20}/[\w-]{60,70}|"
    # The client secret of an application of Azure, and the signature of a shared access.
    rb"[\w.~-]{3}\dQ~[\w.~-]{31,34}|sv=[\d-]{10}&[^\s\"'<>]{1,200}sig=[A-Za-z0-9%]{43,90}(?:%3D|=)|"
    rb"A(?:KIA|SIA)[A-Z2-7]{16}[\"']?[^\n]{0,40}?[\"'](?P<pair>[A-Za-z0-9/+]{40})[\"']|"
    rb"(?i:aws_?secret_?access_?key|secretaccesskey)[\"']?\s{0,5}[:=]\s{0,5}[\"']?(?P<aws>[A-Za-z0-9/+]{40})|"
    rb"(?i:twilio)[^\n]{0,20}(?P<twilio>SK[a-f0-9]{32})|"
    rb"(?i:account_?key|shared_?access_?key)\s{0,5}=\s{0,5}(?P<azure>[A-Za-z0-9/+]{40,90}={1,2})"
    rb")(?![A-Za-z0-9_-])"
)
"""Tokens with a prefix of their own, which no other text has."""
# A header, claims and a signature in Base64 with points between them; `{"` is `eyJ`.
_WEB_TOKEN: Final = re.compile(
    rb"eyJ(?<![\w.-]eyJ)[\w-]{10,500}\.(?P<claims>eyJ[\w-]{40,4000})\.[\w-]{20,700}(?![\w.-])"
)
_SHOWN_CLAIMS: Final = b"eyJzdWIiOiIxMjM0NTY3ODkwI"
"""Beginning of the claims that manuals show, `{"sub":"1234567890"`; shorter claims are those of tests."""
_SHOWN_KEY: Final = b"Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1"
"""Beginning of the key of every installation of Azurite, the emulator of Azure's storage."""
# `postgres://ada:Tr0ub4dor@db.kent.gov/bees`.
_URL_PASSWORD: Final = re.compile(
    rb"://(?!scott:|username:|dbuser:)[^\s:/@\"'<>]{0,100}:(?P<value>[^\s:/@\"'<>]{8,200})@(?P<host>[\w.-]{1,250})"
)

# `export DB_PASSWORD=Tr0ub4dor`, `"api_key": "Tr0ub4dor"`, `- token: Tr0ub4dor`.
_ASSIGNMENT: Final = re.compile(
    rb"(?:^|[{,])[ \t]{0,40}(?:(?P<export>export)[ \t]{1,4}|-[ \t]{1,4})?[\"']?(?:[\w./:-]{0,80}[_./:-])?"
    rb"(?:password|passwd|passphrase|pass|pwd|secret(?:[_-]?key)?|(?:auth|access|api)?[_-]?token|api[_-]?(?:key|secret)|"
    rb"(?:auth|access|private|encryption|signing)[_-]?key|_auth|authtoken|credentials?|privatekey)"
    rb"[\"']?[ \t]{0,20}[:=]>?[ \t]{0,20}[\"']?(?P<value>[^\s\"',;<>]{8,300})",
    re.IGNORECASE | re.MULTILINE,
)
# `export PORT=80`, `"host": "db",`, `[server]`.
_SETTING_LINE: Final = re.compile(
    rb"[ \t]*(?:(?:export|set)[ \t]+|-[ \t]+)?[\"']?[\w./@-]{1,100}[\"']?[ \t]*[:=].*|[ \t]*[\[\]{}(),-].*"
)
_COMMENTS: Final = (b"#", b";", b"//", b"!", b"--", b"<!--")
_MIN_SETTINGS: Final = 0.8
"""Part of the lines of a file that are settings: of `.env`, INI, YAML, JSON and properties files nearly all are."""

_PASSWORD_FILES: Final = re.compile(
    # Files of one program, recognised by their lines: .netrc, .pgpass, shadow, htpasswd, keys of AWS, PuTTY, Ansible.
    rb"\s*(?:#[^\n]{0,500}\n\s*){0,50}(?:machine\s+\S{1,255}\s+login\s+\S{1,255}\s+password\s+\S|"
    rb"default\s+login\s+\S{1,255}\s+password\s+\S|[\w.*-]{1,250}:(?:\d{2,5}|\*):[\w*-]{1,60}:[\w*-]{1,60}:[^:\s]+\s*$|"
    rb"(?:user name,)?(?:password,)?access key id,secret access key\b|PuTTY-User-Key-File-\d|\$ANSIBLE_VAULT;|"
    rb"[a-z_][\w-]{0,31}:(?:[*!]{1,2}|\$\w{1,2}\$[^:\n]{8,200}):\d{1,6}:\d{0,6}:\d{0,6}:|"
    rb"[\w.@-]{1,64}:\$(?:apr1|2[aby]|5|6|argon2id)\$[^\s:]{20,200}\s*$)",
    re.IGNORECASE | re.MULTILINE,
)
# `mysql -u ada -pTr0ub4dor`, `curl -u ada:Tr0ub4dor`, `<password>Tr0ub4dor</password>`.
_PASSWORD_ENTRIES: Final = re.compile(
    rb"^machine[ \t]\S{1,255}[ \t]login[ \t]\S{1,255}[ \t]password[ \t]\S{6}|"
    rb"\bmysql(?:dump|admin)?\b[^\n]{0,80}\s-p(?P<mysql>[^\s\"']{8,100})|"
    rb"\bcurl\b[^\n]{0,100}\s(?:-u|--user)[ =]?[\"']?[\w.@-]{1,64}:(?P<curl>[^\s\"']{8,100})|"
    rb"\bdefine\(\s{0,4}[\"']\w{0,30}(?:PASSWORD|_KEY|_SALT)[\"']\s{0,4},\s{0,4}[\"'](?P<php>[^\"'\n]{8,100})[\"']|"
    rb"<(?:\w{1,20})?[Pp]assword>(?P<xml>[^<>\s{}$]{8,100})</",
    re.MULTILINE,
)
_STRUCTURES: Final = (
    (b"client-key-data:", re.compile(rb"client-key-data:\s{0,9}[A-Za-z0-9+/]{40}")),
    (b"kind: Config", re.compile(rb"^\s{0,20}token:\s{0,9}[\w.-]{20}", re.MULTILINE)),
    (b"kind: Secret", re.compile(rb"^(?:data|stringData):\s{0,9}\n\s{1,9}[\w.-]{1,250}:\s{0,9}[^\s$<{]", re.MULTILINE)),
    (b'"auths"', re.compile(rb'"auth"\s{0,9}:\s{0,9}"[A-Za-z0-9+/]{10}')),
    (b'"terraform_version"', re.compile(rb'\A\s{0,99}\{(?=[^\0]{0,400}"terraform_version")')),
    (b'"ciphertext"', re.compile(rb'\A\s{0,99}\{(?=[^\0]{0,2000}"kdf")')),
    (b'"kty"', re.compile(rb'"d"\s{0,9}:\s{0,9}"[\w-]{40}')),
)
"""Structures with keys or passwords, by a text that each of them contains."""
_PLACEHOLDER: Final = re.compile(
    rb"example|change|replace|your|passw|secret|dummy|sample|fake|test|foo|bar\b|hunter2|xxx|\*\*|<|\$|\{|\}|%\(|%s|"
    rb"\.\.\.|placeholder|redacted|hidden|default|1234|abcd|token|[(){}\[\]]",
    re.IGNORECASE,
)
"""Part of a value that is a placeholder, a reference such as `${PASSWORD}`, or a call such as `getpass()`."""
_BINARY_HEADERS: Final = re.compile(
    # KeePass, Java key stores (two forms), keys of OpenSSH, PKCS 12 and Kerberos.
    rb"\x03\xd9\xa2\x9a|\xfe\xed\xfe\xed|\xce\xce\xce\xce|openssh-key-v1\0|\x30\x82..\x02\x01\x03\x30|\x05\x02\0\0",
    re.DOTALL,
)
_BERKELEY_DATABASE: Final = (b"\x62\x31\x05\x00", b"\x00\x05\x31\x62")
"""Bytes 12 to 16 of a database of Berkeley DB, in which Bitcoin stores its keys under `key` and `mkey`."""
_PACKAGE: Final = b"PK\x03\x04"


def describe_secret_name(name: str) -> str:
    """Return the reason for which a file of this name counts as secret, or an empty text if it does not."""
    name = unicodedata.normalize("NFKC", name).casefold().strip().lstrip("._")
    if name.endswith(".pub") or _SAMPLE.search(name):
        return ""
    while (shorter := _COPY_SUFFIX.sub("", name)) != name and shorter:
        name = shorter
    if name.endswith(_KEY_SUFFIXES) or _KEY_NAMES.fullmatch(name):
        return "has the name of a private key or a key store"
    if _HISTORY_NAMES.fullmatch(name):
        return "has the name of a history of commands"
    if any(names.fullmatch(name) for names in (_PASSWORD_NAMES, _CREDENTIAL_NAMES)):
        return "has the name of a file with passwords or tokens"
    return "has the name of a file with settings of an environment" if _ENVIRONMENT_NAMES.fullmatch(name) else ""


def describe_secret_content(head: bytes) -> str:
    """Return the kind of secret at the beginning of a file, such as `contains a private key`, or an empty text."""
    head = head[:SNIFFED_BYTES]
    is_wallet = head[12:16] in _BERKELEY_DATABASE and b"mkey" in head
    if is_wallet or _BINARY_HEADERS.match(head):
        return "is a key store"
    if head.startswith(_PACKAGE):
        return ""
    # Without NUL bytes, text in UTF-16 reads like ASCII.
    head = head.removeprefix(b"\xef\xbb\xbf").removeprefix(b"\xff\xfe").removeprefix(b"\xfe\xff").replace(b"\0", b"")
    if any(_is_varied(match[0].rsplit(b"----", 1)[-1]) for match in _KEY_HEADER.finditer(head)):
        return "contains a private key"
    structured = any(text in head and form.search(head) for text, form in _STRUCTURES)
    # A manual shows such a structure between its sentences: six of 159 pages of one on Kubernetes did.
    if _PASSWORD_FILES.match(head) or (structured and _is_configuration(head)):
        return "has the form of a file with passwords or keys"
    if any(map(_is_token, _TOKENS.finditer(head))) or _has_web_token(head):
        return "contains an access token"
    return "contains a password" if _has_password(head) else ""


def _is_token(match: re.Match[bytes]) -> bool:
    secret = next((part for part in match.groups() if part), match[0])
    return _is_varied(secret) and b"EXAMPLE" not in secret.upper() and not secret.startswith(_SHOWN_KEY)


def _has_web_token(head: bytes) -> bool:
    """Return whether a text contains a signed token that no manual shows."""
    return any(not match["claims"].startswith(_SHOWN_CLAIMS) for match in _WEB_TOKEN.finditer(head))


def _has_password(head: bytes) -> bool:
    """Return whether a text contains a password: in a URL, a command, an entry or a setting."""
    for match in _URL_PASSWORD.finditer(head):
        if _is_password(match["value"]) and not _PLACEHOLDER.search(match["host"]):
            return True
    for match in _PASSWORD_ENTRIES.finditer(head):
        value = next((part for part in match.groups() if part), None)
        if value is None or _is_password(value):
            return True
    values = [match for match in _ASSIGNMENT.finditer(head) if _is_password(match["value"])]
    if any(match["export"] and len(set(match["value"])) >= _MIN_DIFFERENT_CHARACTERS for match in values):
        return True
    return bool(values) and _is_configuration(head)


def _is_password(value: bytes) -> bool:
    """Return whether a value looks like a password: letters and digits, varied, no placeholder or reference."""
    return (
        len(set(value)) >= _MIN_PASSWORD_CHARACTERS
        and re.search(rb"\d", value) is not None
        and re.search(rb"[A-Za-z]", value) is not None
        and _PLACEHOLDER.search(value) is None
    )


def _is_configuration(head: bytes) -> bool:
    stripped = [line for line in head.splitlines() if line.strip() and not line.lstrip().startswith(_COMMENTS)]
    return sum(_SETTING_LINE.fullmatch(line) is not None for line in stripped) >= _MIN_SETTINGS * len(stripped)


def _is_varied(secret: bytes) -> bool:
    """Return whether a text varies like a random one: digits or letters of both cases, and no repeated placeholder."""
    is_mixed = re.search(rb"\d", secret) or (secret != secret.lower() and secret != secret.upper())
    return len(set(secret)) >= _MIN_DIFFERENT_CHARACTERS and bool(is_mixed)
