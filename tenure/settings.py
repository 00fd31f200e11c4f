"""Every setting once, typed, from the environment or a `.env` file (DESIGN §1).

All names carry the prefix `TENURE_`, except the two that every OpenAI-compatible tool shares:
`OPENAI_API_KEY` and `OPENAI_BASE_URL`. `docs/settings.md` is generated from this file's docstrings.
"""

import base64
import re
from pathlib import Path
from typing import Annotated, Literal, get_args

from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    StringConstraints,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict, SettingsError

from tenure.contracts.evidence.corpora import VectorIndex
from tenure.contracts.evidence.reasoning import ReasoningChoice
from tenure.contracts.evidence.rerank import Recency, Rerank
from tenure.contracts.evidence.retrieval import Strategy
from tenure.contracts.knowledge.memory import MemoryPolicy
from tenure.contracts.roles import RoleName
from tenure.contracts.run.role_calls import LONGEST_ANSWER
from tenure.contracts.run.run import Complexity

Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
"""How long a reasoning model may think before it answers."""

SearchEngine = Literal[
    "searxng",
    "brave",
    "tavily",
    "wikipedia",
    "arxiv",
    "semantic_scholar",
    "openalex",
    "crossref",
    "github",
]
"""Search providers that are known by name; OpenSearch descriptions and MCP servers have names of one's own."""

Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
"""What a person calls something of theirs."""

KEY_BYTES = 32
"""Length of an encryption key."""


def _separated(written: object) -> object:
    """Return what a text lists between commas, each once."""
    if not isinstance(written, str):
        return written
    return tuple(dict.fromkeys(part.strip() for part in written.split(",") if part.strip()))


Listed = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_separated)]
"""Several words, in the environment separated by commas."""


class RoleSettings(BaseModel):
    """What is set for one role alone; what is left out is as for all roles."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    model: str = ""
    """Chat model of the role."""
    temperature: float | None = Field(default=None, ge=0, le=2)
    """Its temperature."""
    reasoning_effort: Effort | None = None
    """Its reasoning effort."""
    max_output: int | None = Field(default=None, ge=256)
    """Tokens its answer may have."""


class McpServer(BaseModel):
    """A server of the Model Context Protocol, and what may be asked of it."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True, hide_input_in_errors=True)

    command: tuple[str, ...] = ()
    """Program and arguments of a server that is started for each call and speaks over its standard streams."""
    environment: dict[str, SecretStr] = {}
    """What such a program finds in its environment; nothing of the worker's but a path and a home is there."""
    url: str = ""
    """Address of a server that speaks HTTP."""
    headers: dict[str, SecretStr] = {}
    """Headers that go along to such an address, with a key for instance."""
    tools: tuple[str, ...] = ()
    """Tools that may be called, by name or by a pattern such as `read_*`."""
    resources: tuple[str, ...] = ()
    """Resources that may be read, by address or by a pattern such as `docs://*`."""
    search: str = ""
    """Tool that searches; with one the server is a search provider by its name."""

    @model_validator(mode="after")
    def _one_way(self) -> "McpServer":
        """Refuse a server that is reached in no way, or in two."""
        if bool(self.command) == bool(self.url):
            raise ValueError("a server has either a `command` or a `url`")
        return self


class Settings(BaseSettings):
    """All settings of the client, the worker and the local stack."""

    model_config = SettingsConfigDict(
        env_prefix="TENURE_",
        env_nested_delimiter="__",
        env_file=".env",
        extra="ignore",
        use_attribute_docstrings=True,
        populate_by_name=True,
        env_ignore_empty=True,
        hide_input_in_errors=True,
    )

    home: Path = Path(".tenure")
    """Folder of all state: knowledge base, Temporal's database, logs, process records."""
    temporal_port: int = Field(default=7233, ge=1, le=65535)
    """Port of this home's local Temporal server, on 127.0.0.1."""
    ui_port: int = Field(default=8233, ge=1, le=65535)
    """Port of this home's Temporal web UI, on 127.0.0.1."""
    lancedb_uri: str = ""
    """Where the knowledge base is: a folder or an object store address; empty for `knowledge` in the home."""
    vector_index: VectorIndex = "auto"
    """Family of the vector index; `auto` scans small tables and gives large ones `ivf_rq`."""
    maintenance_hours: float = Field(default=6.0, ge=0, le=8760)
    """Hours from one maintenance of the knowledge base to the next; 0 for none."""
    consolidation_hours: float = Field(default=24.0, ge=0, le=8760)
    """Hours from one consolidation of memories to the next; 0 for none."""
    memory_half_life_days: float = Field(default=90.0, gt=0, le=36_500)
    """Days after which a memory that nobody used has half its freshness; an episode has it after a third of them."""
    memory_short_term_hours: float = Field(default=24.0, gt=0, le=8760)
    """Hours for which a short-term memory stays, from its last use on."""
    memory_waiting_days: float = Field(default=30.0, gt=0, le=3650)
    """Days for which what one page of the web says waits for a second one before it is forgotten."""
    memory_same: float = Field(default=0.94, ge=0.8, le=1)
    """Cosine from which two memories with the same names and numbers are joined."""
    memory_forget_below: float = Field(default=0.02, ge=0, le=1)
    """Strength below which a memory is forgotten: its importance times its freshness."""
    memory_most: int = Field(default=100_000, ge=100, le=10_000_000)
    """Memories of one owner; of more, the weakest are forgotten."""

    encryption_keys: SecretStr | None = None
    """Keys that encrypt everything in Temporal's history, as `id:base64,id:base64`; the first one encrypts."""
    codec_port: int = Field(default=8234, ge=1, le=65535)
    """Port on 127.0.0.1 where the worker deciphers payloads for the web UI, while there are keys."""

    openai_api_key: SecretStr | None = Field(default=None, validation_alias=AliasChoices("OPENAI_API_KEY"))
    """Key of the OpenAI-compatible server. With neither key nor address the offline twins answer."""
    openai_base_url: str | None = Field(default=None, validation_alias=AliasChoices("OPENAI_BASE_URL"))
    """Address of the OpenAI-compatible server; OpenAI's own where only a key is given."""
    model: str = "gpt-5"
    """Chat model of the roles that write and judge."""
    fast_model: str = ""
    """Chat model of the small roles (router, decomposer, title); empty for the same as `model`."""
    temperature: float | None = Field(default=None, ge=0, le=2)
    """Temperature of all chat models; empty for the server's own."""
    reasoning_effort: Effort | None = None
    """Reasoning effort of all chat models; empty for the server's own."""
    max_output: int | None = Field(default=None, ge=256)
    """Tokens an answer may have, those of hidden reasoning included; empty for the server's own limit."""
    roles: dict[RoleName, RoleSettings] = {}
    """Model, temperature, reasoning effort and answer length of single roles."""
    prices: Path | None = None
    """TOML file with the prices of the models; empty for `prices.toml` in the home, where there is one."""
    model_api: Literal["chat", "responses"] = "chat"
    """Protocol of the model's server: Chat Completions, which all speak, or OpenAI's Responses in the background."""
    model_timeout: float = Field(default=180.0, gt=0, le=LONGEST_ANSWER)
    """Seconds after which a model call is given up and retried by Temporal."""
    model_calls_per_second: float = Field(default=20.0, gt=0)
    """Model calls a second over the whole task queue, enforced by the Temporal server."""
    model_concurrency: int = Field(default=16, ge=1, le=1000)
    """Requests that one worker has with the server of the chat models at the same time, at the most."""
    embedding_model: str = ""
    """Embedding model of the OpenAI-compatible server; empty for the embedded all-MiniLM-L6-v2."""
    embedding_threads: int = Field(default=0, ge=0, le=256)
    """Threads of the embedded embedding model; 0 for one per core."""

    rerank_model: str = ""
    """Model of a rerank server that scores what a search has found; empty for none."""
    rerank_base_url: str | None = None
    """Address of the rerank server, up to its `/rerank`; needed with `rerank_model`."""
    rerank_api_key: SecretStr | None = None
    """Key of the rerank server, where it wants one."""

    language: str = Field(default="", max_length=40)
    """Language of reports, by its name or code; empty for that of the question."""
    max_sections: int = Field(default=6, ge=1, le=12)
    """Sections of a report at the most."""
    max_reflexions: int = Field(default=2, ge=0, le=10)
    """Review-and-rewrite rounds of one section at the most."""
    max_revisions: int = Field(default=2, ge=0, le=10)
    """Generations of a whole report at the most (R_max)."""
    evaluation_bar: float = Field(default=0.6, ge=0, le=1)
    """Overall score of the self-evaluation below which a report is refined once more; 0 for never."""
    passages_per_section: int = Field(default=14, ge=1, le=60)
    """Passages a section is written from."""
    max_per_source: int = Field(default=5, ge=1, le=60)
    """Passages of one source among them."""
    min_relevance: float = Field(default=0.3, ge=0, le=1)
    """Normalised relevance that the best passage of a search needs, or nothing was found; others need 65 % of it."""
    rerank: Rerank = Rerank()
    """Second stage of every search: its steps and their weights."""
    rerank_listwise: bool = False
    """Whether the chat model, where there is one, puts what each search has found into order."""
    parallel_sections: int = Field(default=4, ge=1, le=12)
    """Sections written at the same time."""
    effort: Complexity | None = None
    """How much work every question gets; empty for what the router makes of it."""
    max_cycles: int | None = Field(default=None, ge=1, le=100)
    """Cycles of research at the most; empty for what the question's complexity suggests."""
    subagents: int | None = Field(default=None, ge=1, le=8)
    """Searches of one cycle; empty for what the question's complexity suggests."""
    strategy: Strategy | None = None
    """How every task of a research searches; empty for what its query suggests."""
    memory: bool = True
    """Whether a run learns from earlier ones of its owner, and leaves what it has learned to later ones."""
    reasoning: ReasoningChoice | None = None
    """How a research reasons from what it has found; empty for what the kind of question suggests."""
    reasoning_samples: int = Field(default=3, ge=2, le=9)
    """Lines of thought that vote, where reasoning goes by votes."""
    thought_breadth: int = Field(default=3, ge=1, le=6)
    """Thoughts of a tree of thoughts that are proposed and followed at each level."""
    thought_depth: int = Field(default=2, ge=1, le=4)
    """Levels of a tree of thoughts."""
    min_novelty: float = Field(default=0.1, ge=0, le=1)
    """Novelty below which a passage says nothing that the run does not have."""
    max_attempts: int = Field(default=5, ge=1, le=20)
    """Generations of a program at the most (R_max of the coding path)."""
    candidates: int = Field(default=1, ge=1, le=8)
    """Programs that are written side by side in each generation."""
    program_seconds: float = Field(default=20.0, gt=0, le=3600)
    """Seconds that a program or its tests may take in the sandbox."""
    program_memory_mib: int = Field(default=512, ge=64)
    """Memory in MiB that they may take."""
    repair_seconds: float = Field(default=60.0, ge=0, le=3600)
    """Seconds for which a small edit is searched that makes failing tests pass; 0 for no search."""
    sandbox_wait: float = Field(default=60.0, gt=0)
    """Seconds for which a worker that can run programs is waited for."""
    max_tokens: int | None = Field(default=None, ge=1)
    """Prompt and answer tokens that a run may use; none for any number, as with the other budgets."""
    max_cost_usd: float | None = Field(default=None, gt=0)
    """US dollars that a run may spend; every model that may answer then needs a price."""
    max_calls: int | None = Field(default=None, ge=1)
    """Answers of the model that a run may take, re-asks included."""
    max_searches: int | None = Field(default=None, ge=1)
    """Searches that a run may make."""
    max_seconds: float | None = Field(default=None, gt=0, le=315_360_000)
    """Seconds that a run may work, pauses and waiting for people not counted, before it writes up what there is."""
    grace_seconds: float = Field(default=60.0, ge=0)
    """Seconds that calls under way and the writing up may take beyond that, before the offline twins take over."""
    approve_plan: bool = False
    """Whether a run waits for a person's approval of its outline before the research begins."""
    interactive: bool = False
    """Whether a run waits for a person's answers to what it asks: of the question, and in its research."""
    answer_seconds: float = Field(default=86_400.0, gt=0, le=315_360_000)
    """Seconds for which a person is waited for before a run goes on with what it has said it assumes."""
    long_history: int = Field(default=4_000, ge=1)
    """Events of a workflow after which research goes on in a new history (continue-as-new)."""
    chunk_tokens: int = Field(default=200, ge=32, le=250)
    """Target length of a chunk in tokens of the embedding model; the embedded model reads at most 256."""

    cold_start_chunks: int = Field(default=512, ge=0, le=100_000)
    """Chunks up to which reading documents makes all vectors; of more, they are made in the background."""

    sql_seconds: float = Field(default=20.0, gt=0, le=600)
    """Seconds that one query over tables may take."""
    sql_rows: int = Field(default=200, ge=1, le=5000)
    """Rows of a query's result that are kept."""
    sql_memory_mb: int = Field(default=1024, ge=64, le=1_000_000)
    """Megabytes of memory that one query may use."""
    databases: dict[Name, SecretStr] = {}
    """Addresses of PostgreSQL databases that may be asked, by name; a user that may only read is enough."""

    fetch_allow: Listed = ()
    """Hosts, `host:port` or networks such as `10.0.0.0/8` inside your own network that pages may be fetched from."""
    fetch_domains: Listed = ()
    """Domains that pages may be fetched from, with what is below them; empty for any."""
    fetch_deny: Listed = ()
    """Domains that no page is fetched from."""
    fetch_user_agent: str = Field(default="Tenure/0.1 (research agent)", pattern=r"^[!-~][ -~]{0,199}$")
    """How fetching introduces itself; the word before the slash is what a site's `robots.txt` may name."""
    fetch_robots: bool = True
    """Whether the `robots.txt` of a site is obeyed."""
    fetch_seconds: float = Field(default=30.0, gt=0, le=600)
    """Seconds that the transfer of one page may take, redirects and new tries included."""
    fetch_megabytes: float = Field(default=20.0, gt=0, le=200)
    """Megabytes that one page may have, unpacked."""
    fetch_concurrency: int = Field(default=16, ge=1, le=256)
    """Pages that one worker fetches at the same time."""
    fetch_per_host: int = Field(default=2, ge=1, le=64)
    """Those of one host among them."""
    fetch_gap: float = Field(default=0.5, ge=0, le=60)
    """Seconds between the beginnings of two requests to one host; a longer one in its `robots.txt` is kept."""
    page_ttl_hours: float = Field(default=24.0, ge=0, le=8760)
    """Hours for which a fetched page is used again before its server is asked whether it has changed."""
    page_cache_megabytes: int = Field(default=2000, ge=1)
    """Megabytes of fetched pages that maintenance leaves; the oldest go first."""
    browser: Path | None = None
    """Chromium or Chrome that shows pages which need scripts; empty for none. It wants the package `playwright`."""
    domain_authority: dict[str, Annotated[float, Field(ge=0, le=1)]] = {}
    """What pages of a domain and those below it are worth, from 0 to 1; 0.7 for a domain that is not named."""

    searxng_url: str = ""
    """Address of a SearXNG instance that gives JSON."""
    brave_key: SecretStr | None = None
    """Key of the Brave Search API."""
    tavily_key: SecretStr | None = None
    """Key of Tavily."""
    semantic_scholar_key: SecretStr | None = None
    """Key of Semantic Scholar, which seldom answers without one."""
    openalex_key: SecretStr | None = None
    """Key of OpenAlex, which answers some searches a day without one."""
    github_token: SecretStr | None = None
    """Token of GitHub, which answers ten searches a minute without one; it needs no permission."""
    search_contact: str = Field(default="", max_length=200)
    """Mail address that Crossref is told; who tells one is answered faster."""
    search_urls: dict[SearchEngine, str] = {}
    """Addresses of search providers' servers instead of their own, for a proxy of yours."""
    opensearch: dict[Name, str] = {}
    """Further engines by names of yours: the address of each one's OpenSearch description, or its template."""
    mcp_servers: dict[Name, McpServer] = {}
    """Servers of the Model Context Protocol by names of yours, with what may be asked of each."""
    mcp_seconds: float = Field(default=60.0, gt=0, le=600)
    """Seconds that one call of such a server may take, its start included."""
    search_providers: Listed = ()
    """Search providers to ask; empty for all that have been set up, and Wikipedia where none has."""
    search_seconds: float = Field(default=15.0, gt=0, le=300)
    """Seconds that one search provider has for its answer."""
    web: bool = False
    """Whether a run reads the web when it is not told; it is searched and fetched only then or with `--web`."""
    web_pages: int = Field(default=5, ge=1, le=30)
    """Pages that are read for one search of the web."""
    web_archive: str = Field(default="", pattern=r"^(https?://\S*\{address\}\S*)?$")
    """Address of an archive with `{address}` and perhaps `{date}` in it, for references to pages; empty for none."""

    sandbox: Literal["bubblewrap", "docker"] = "bubblewrap"
    """What makes the sandbox that programs run in; programs are never run without one."""
    sandbox_python: Path | None = None
    """Interpreter of sandboxed programs, with the packages they may use; empty for an environment in the home."""
    sandbox_cgroup: Path | None = None
    """Control group (version 2) that was delegated to the worker; it then holds the memory of each program."""
    sandbox_image: str = ""
    """Image of the containers, with Python and pytest; needed with `docker`."""
    sandbox_runtime: str = ""
    """Runtime of the containers, such as `runsc`; empty for the engine's own."""

    notify_url: SecretStr | None = None
    """Address that is told by a POST request when a run waits for a person, is finished or has failed."""
    notify_secret: SecretStr | None = None
    """Secret that these requests are signed with; empty for no signature."""
    notify_command: str = ""
    """Shell command that is run at the same moments; it finds what happened in variables of its environment."""

    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    """How much the worker writes into its log."""

    @field_validator("encryption_keys")
    @classmethod
    def _usable_keys(cls, keys: SecretStr | None) -> SecretStr | None:
        """Refuse keys that cannot be used, without repeating any of them."""
        if keys is not None:
            named_keys(keys.get_secret_value())
        return keys

    @field_validator("opensearch", "mcp_servers")
    @classmethod
    def _own_names(cls, named: dict[str, object]) -> dict[str, object]:
        """Refuse a name that is a known search provider's."""
        if taken := [name for name in named if name in get_args(SearchEngine)]:
            raise ValueError(f"{taken[0]!r} is the name of a provider of its own")
        return named

    @field_validator("search_providers")
    @classmethod
    def _known_providers(cls, named: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        """Refuse a search provider that there is not."""
        servers = info.data.get("mcp_servers", {})
        searching = (name for name, server in servers.items() if server.search)
        known = (*get_args(SearchEngine), *info.data.get("opensearch", ()), *searching)
        if unknown := [name for name in named if name not in known]:
            raise ValueError(f"there is no {unknown[0]!r}; there are {', '.join(known)}")
        return named

    @field_validator("rerank", mode="before")
    @classmethod
    def _known_steps(cls, rerank: object) -> object:
        """Refuse a step that there is not; what travels between versions is read more leniently."""
        for given, model in ((rerank, Rerank), (rerank.get("recency") if isinstance(rerank, dict) else None, Recency)):
            unknown = sorted(given.keys() - model.model_fields.keys()) if isinstance(given, dict) else []
            if unknown:
                raise ValueError(f"there is no {unknown[0]!r}; there are {', '.join(model.model_fields)}")
        return rerank

    @property
    def knowledge_uri(self) -> str:
        """Address of the knowledge base, the home's own folder where none is set."""
        return self.lancedb_uri or str(self.home.absolute() / "knowledge")

    @property
    def second_stage(self) -> Rerank:
        """The second stage of every search; a rerank endpoint that is given no weight has all that is left."""
        if not self.rerank_model or "endpoint" in self.rerank.model_fields_set:
            return self.rerank
        return self.rerank.model_copy(update={"endpoint": 1 - self.rerank.late_interaction})

    @property
    def memory_policy(self) -> MemoryPolicy:
        """How memories age, join and go."""
        return MemoryPolicy(
            half_life_days=self.memory_half_life_days,
            short_term_hours=self.memory_short_term_hours,
            waiting_days=self.memory_waiting_days,
            same=self.memory_same,
            forget_below=self.memory_forget_below,
            most=self.memory_most,
        )

    @property
    def prices_file(self) -> Path:
        """Path of the file of prices; without a setting there need not be one."""
        return self.prices or self.home.absolute() / "prices.toml"

    @property
    def chat_models(self) -> tuple[str, ...]:
        """Every chat model that may be asked."""
        chosen = (self.model, self.fast_model, *(role.model for role in self.roles.values()))
        return tuple(dict.fromkeys(name for name in chosen if name))

    @property
    def tells(self) -> bool:
        """Whether people outside are told of runs."""
        return self.notify_url is not None or bool(self.notify_command)

    @property
    def uses_model(self) -> bool:
        """Whether a chat model is configured."""
        return self.openai_api_key is not None or self.openai_base_url is not None


def variable(name: str) -> str:
    """Return the environment variable of a setting."""
    alias = Settings.model_fields[name].validation_alias
    return str(alias.choices[0]) if isinstance(alias, AliasChoices) else f"TENURE_{name.upper()}"


def fault(error: ValidationError | SettingsError) -> str:
    """Return in one line which setting is not valid, and what it may be."""
    if isinstance(error, SettingsError):
        named = re.search(r'field "(\w+)"', str(error))
        return f"{variable(named[1]) if named else 'a setting'} is not valid: it is not JSON"
    first = error.errors()[0]
    setting, *inner = (str(part) for part in first["loc"] if part != "[key]")
    known = variable(setting) if setting in Settings.model_fields else setting
    words = str(first["msg"])
    if first["type"] == "extra_forbidden":
        inside = McpServer if setting == "mcp_servers" else RoleSettings
        words = f"Should be one of {', '.join(inside.model_fields)}"
    return f"{'__'.join([known, *(part.upper() for part in inner)])} is not valid: {words[0].lower()}{words[1:]}"


def named_keys(written: str) -> dict[str, bytes]:
    """Return encryption keys by their ids, in order.

    Raises:
        ValueError: an id or a key cannot be used; the message repeats no key.
    """
    keys: dict[str, bytes] = {}
    for number, pair in enumerate(written.split(","), 1):
        name, _, encoded = pair.strip().partition(":")
        if not re.fullmatch(r"[A-Za-z0-9_-]{1,40}", name) or name in keys:
            raise ValueError(f"key {number} needs an id of its own, of letters, digits, _ and -, before a colon")
        try:
            keys[name] = base64.b64decode(encoded, validate=True)
        except ValueError:
            raise ValueError(
                f"the key {name} is not base64; `python -m tenure.temporal.encryption` makes one"
            ) from None
        if len(keys[name]) != KEY_BYTES:
            raise ValueError(f"the key {name} has {len(keys[name])} bytes and needs {KEY_BYTES}")
    return keys
