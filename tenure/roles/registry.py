"""Find the roles: every module in a subpackage of `tenure.roles` declares one as `ROLE`, and is named for it.

Plugins add modules to the subpackage `tenure.roles.plugins`.

`role_names` and `check_role_name` read file names only, so that settings can be validated without importing a role.
"""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator

import tenure.roles
from tenure.extensions import list_extensions

if TYPE_CHECKING:
    from tenure.roles.base import BaseRole


@cache
def _role_modules() -> dict[str, str]:
    """Return the module of each role by the role's name, in alphabetical order.

    Raises:
        ValueError: two roles have the same name, which is also the name of an activity.
    """
    roles: dict[str, str] = {}
    for group in iter_modules(tenure.roles.__path__, f"{tenure.roles.__name__}."):
        if group.ispkg:
            modules = {name: f"{group.name}.{name}" for name in list_extensions(group.name)}
            if shared := sorted(roles.keys() & modules.keys()):
                raise ValueError(f"two roles are named {shared[0]!r}: {roles[shared[0]]} and {modules[shared[0]]}")
            roles |= modules
    return dict(sorted(roles.items()))


def list_role_names() -> tuple[str, ...]:
    """Return the names of all roles in alphabetical order."""
    return tuple(_role_modules())


def load_roles() -> "dict[str, BaseRole[Any, Any, Any]]":
    """Import and return all roles by name, in alphabetical order."""
    return {name: import_module(module).ROLE for name, module in _role_modules().items()}


def check_role_name(name: str) -> str:
    """Return the name of a role unchanged.

    Raises:
        ValueError: no role has this name.
    """
    if name not in _role_modules():
        raise ValueError(f"no role is named {name!r}; there are {', '.join(_role_modules())}")
    return name


RoleName = Annotated[str, AfterValidator(check_role_name)]
"""Name of a role; also the name of its module and of its Temporal activity."""
