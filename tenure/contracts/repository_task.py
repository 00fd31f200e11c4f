"""A task in a repository, as a person gives it with the request of a run."""

from tenure.contracts.base import Contract
from tenure.contracts.choices import ApprovalStep


class RepositorySource(Contract):
    """A repository as a person gave it."""

    path: str
    """Folder on the person's machine, or the URL of a Git server."""
    revision: str = "HEAD"
    """Branch, tag or commit that the work starts from."""
    packed: str = ""
    """Location of the packed commit in the object store, for workers on other machines; empty without a store."""
    notes: tuple[str, ...] = ()
    """Notes of the client that has packed it, such as on changes that are not committed."""


class RepositoryTask(Contract):
    """A repository, with the ways to set it up and to test it."""

    source: RepositorySource
    setup: str | None = None
    """Command that installs what the project needs; None to find one."""
    test: str | None = None
    """Command that runs the tests; None to find one."""
    allow_network: bool = False
    """Whether the setup may use the network."""
    web: bool = False
    """Whether the repository and the task may be fetched from a server."""
    address: str = ""
    """Address of the page that the task was read from; empty if it was given as a text."""
    approve: ApprovalStep | None = None
    """Step before which a person is asked; None for no question."""


class RepositoryProgress(Contract):
    """Progress of the work in a repository, as the page shows it."""

    commit: str = ""
    attempt: int = 0
    """Number of the attempt that has reported last; 0 if there is one alone."""
    plan: str = ""
    steps: int = 0
    """Number of actions so far."""
    files: tuple[str, ...] = ()
    """Files that differ from the commit."""
    added: int = 0
    removed: int = 0
    """Lines of the patch."""
    before: str = ""
    """Result of the tests of the commit, in a line; empty until they have run."""
    after: str = ""
    """Result of the latest tests of the patch, in a line; empty until they have run."""
