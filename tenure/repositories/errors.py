"""Define the errors of repositories and workspaces."""


class RepositoryError(Exception):
    """Base of all errors of repositories; the message is one line."""


class RepositoryRefused(RepositoryError):
    """The repository, its revision or a change cannot be worked with; a person has to know why."""


class RepositoryUnavailable(RepositoryError):
    """A server or this machine cannot do it now; a later attempt may succeed."""


class StateLost(RepositoryError):
    """The commit or the patch of a state is on no place that this machine reaches."""
