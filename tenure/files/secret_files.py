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

_COPY_SUFFIX: Final = re.compile(
    r"(?:~|\.(?:bak|backup|old|orig|save|saved|copy|swp|tmp|txt|\d{1,8})|[ _-]copy| \(\d\))$"
)
"""Ending of a copy: `id_rsa.bak` is as secret as `id_rsa`."""

_KEY_SUFFIXES: Final = (
    *(".pem", ".key", ".p12", ".pfx", ".p8", ".pk8", ".ppk", ".jks", ".jceks", ".keystore", ".bks"),
    *(".kdbx", ".kdb", ".agilekeychain", ".opvault", ".keychain", ".keychain-db", ".keytab", ".agekey", ".htpasswd"),
)
_KEY_NAMES: Final = re.compile(r"(?:.*[._-])?id_(?:rsa|dsa|ecdsa|ed25519|xmss)(?:_sk)?|ssh_host_\w+_key|secring\.gpg")
_PASSWORD_NAMES: Final = re.compile(
    r"netrc|pgpass|pgpass\.conf|my\.cnf|mylogin\.cnf|npmrc|pypirc|git-credentials|htpasswd|htdigest|g?shadow|"
    r"master\.passwd|kubeconfig|vault-token|vault_pass\w*|dockercfg|s3cfg|boto|wallet\.dat|"
    r"logins\.json|key[34]\.db|signons\.sqlite|terraform\.tfstate|\w*accesskeys\.csv|"
    r"(?:[\w-]+[._-])?client_secrets?[\w.-]*\.json|service[_-]?account[\w.-]*\.json|application_default_credentials\.json"
)
_CREDENTIAL_NAMES: Final = re.compile(
    r"(?:[\w-]+[._-])?(?:credentials?|secrets?|passwords?|passwd|tokens?|api[_-]?keys?)"
    r"(?:\.(?:ini|cfg|conf|config|json|jsonc|ya?ml|toml|xml|properties|csv|tsv|env|enc|db|kdb|asc|xlsx?|ods))?"
)
"""Names of collections of secrets; `credentials.md` is a document about them."""
_ENVIRONMENT_NAMES: Final = re.compile(
    r"(?:[\w-]+\.){0,3}env(?:\.(?:prod|dev|stag|test|secret|local|live|vault|private|docker|shared|ci\b|keys?\b)[\w-]*){0,2}"
)
_SAMPLE: Final = re.compile(r"example|sample|template|\bdist\b|default|dummy")
"""Part of the name of a file that shows the form of a secret and holds none."""

_KEY_HEADER: Final = re.compile(
    rb"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----(?:\\[nr]|\s|\"|,|\+|#|//|Proc-Type:[^\n]{0,80}|"
    rb"DEK-Info:[^\n]{0,80}|Version:[^\n]{0,80}|Comment:[^\n]{0,80}){1,40}[A-Za-z0-9+/=\\]{40,}"
)
_TOKENS: Final = re.compile(
    rb"(?<![A-Za-z0-9_-])(?:"
    rb"(?:gh[pousr]_[A-Za-z0-9]{36,255})|github_pat_\w{60,255}|glpat-[\w-]{20,100}|xox[abeoprs]-[\w-]{20,250}|"
    rb"xapp-\d-[\w-]{20,250}|[sr]k_live_[A-Za-z0-9]{20,250}|sk-ant-[\w-]{60,250}|"
    rb"sk-[A-Za-z0-9]{40,250}|sk-(?:proj|svcacct|admin|or-v1)-[\w-]{40,250}|AIza[\w-]{35}|npm_[A-Za-z0-9]{36}|"
    rb"pypi-[\w-]{85,250}|hf_[A-Za-z0-9]{34,40}|SG\.[\w-]{22}\.[\w-]{43}|AGE-SECRET-KEY-1[0-9A-Z]{58}|"
    rb"dop_v1_[a-f0-9]{64}|shpat_[a-fA-F0-9]{32}|lin_api_[A-Za-z0-9]{40}|gsk_[A-Za-z0-9]{48,60}|hvs\.[\w-]{60,250}|"
    rb"(?i:aws_?secret_?access_?key|secretaccesskey)[\"']?\s{0,5}[:=]\s{0,5}[\"']?(?P<aws>[A-Za-z0-9/+]{40})|"
    rb"(?i:account_?key|shared_?access_?key)\s{0,5}=\s{0,5}(?P<azure>[A-Za-z0-9/+]{40,90}={1,2})"
    rb")(?![A-Za-z0-9_-])"
)
_PASSWORD_HEADER: Final = re.compile(
    rb"\s*(?:#[^\n]{0,500}\n\s*){0,50}(?:machine\s+\S{1,255}\s+login\s+\S{1,255}\s+password\s+\S|"
    rb"(?:user name,)?(?:password,)?access key id,secret access key\b|PuTTY-User-Key-File-\d|\$ANSIBLE_VAULT;|"
    rb"root:[$!*][^:\n]{0,200}:\d*:)",
    re.IGNORECASE,
)
_BINARY_HEADERS: Final = (b"\x03\xd9\xa2\x9a", b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce", b"openssh-key-v1\0")
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
    if any(names.fullmatch(name) for names in (_PASSWORD_NAMES, _CREDENTIAL_NAMES)):
        return "has the name of a file with passwords or tokens"
    return "has the name of a file with settings of an environment" if _ENVIRONMENT_NAMES.fullmatch(name) else ""


def describe_secret_content(head: bytes) -> str:
    """Return the kind of secret at the beginning of a file, such as `contains a private key`, or an empty text."""
    head = head[:SNIFFED_BYTES]
    if head.startswith(_BINARY_HEADERS):
        return "is a key store"
    if head.startswith(_PACKAGE):
        return ""
    # Without NUL bytes, text in UTF-16 reads like ASCII.
    head = head.removeprefix(b"\xef\xbb\xbf").removeprefix(b"\xff\xfe").removeprefix(b"\xfe\xff").replace(b"\0", b"")
    if any(_is_varied(found[0].rsplit(b"-----", 1)[-1]) for found in _KEY_HEADER.finditer(head)):
        return "contains a private key"
    if _PASSWORD_HEADER.match(head):
        return "begins like a file with passwords or keys"
    for found in _TOKENS.finditer(head):
        secret = found["aws"] or found["azure"] or found[0]
        if _is_varied(secret) and b"EXAMPLE" not in secret.upper():
            return "contains an access token"
    return ""


def _is_varied(secret: bytes) -> bool:
    """Return whether a text varies like a random one: letters and digits, and no repeated placeholder."""
    return len(set(secret)) >= _MIN_DIFFERENT_CHARACTERS and any(48 <= byte <= 57 for byte in secret)
