"""Tests of the choice of model and parameters for a role."""

import pytest

from tenure.models.routes import ModelRoute, ModelRoutes, run_model
from tenure.roles.registry import RoleName
from tenure.settings import Settings
from tenure.settings.models import RoleSettings


def test_a_tier_chooses_the_model() -> None:
    """Without a role-specific setting the tier decides; an empty fast tier means the main one."""
    two = ModelRoutes(Settings(model="large", fast_model="small"))
    one = ModelRoutes(Settings(model="only", fast_model=""))

    assert [two.route("outliner", "main").model, two.route("router", "fast").model] == ["large", "small"]
    assert one.route("router", "fast").model == "only"


def test_role_settings_take_precedence() -> None:
    """A role's own settings replace the general ones, one by one."""
    routes = ModelRoutes(
        Settings(
            model="large",
            fast_model="",
            temperature=0.7,
            max_output=9000,
            roles={"report_writer": RoleSettings(model="writer", temperature=0.0, reasoning_effort="high")},
        )
    )
    route = routes.route("report_writer", "main")

    assert (route.model, route.temperature, route.reasoning_effort, route.max_output) == ("writer", 0.0, "high", 9000)
    assert routes.route("outliner", "main") == ModelRoute("large", 0.7, None, 9000, role="outliner")


def test_a_route_names_the_setting_to_change() -> None:
    """Advice names the variable that the value came from."""
    routes = ModelRoutes(Settings(roles={"router": RoleSettings(model="r", max_output=500)}))
    own, fast, main = routes.route("router", "fast"), routes.route("decomposer", "fast"), routes.route("x", "main")

    assert own.resolve_setting() == "TENURE_ROLES__ROUTER__MODEL"
    assert own.resolve_setting("max_output") == "TENURE_ROLES__ROUTER__MAX_OUTPUT"
    assert own.resolve_setting("temperature") == "TENURE_TEMPERATURE"
    assert (fast.resolve_setting(), main.resolve_setting()) == ("TENURE_FAST_MODEL", "TENURE_MODEL")


def test_a_run_may_have_a_model_of_its_own() -> None:
    """It takes the place of `model`, and not of a model that is set for small roles or for one role."""
    roles: dict[RoleName, RoleSettings] = {"router": RoleSettings(model="r")}
    small, plain = (ModelRoutes(Settings(model="large", fast_model=fast, roles=roles)) for fast in ("small", ""))
    token = run_model.set("chosen")
    found = [routes.route("x", tier).model for routes in (small, plain) for tier in ("main", "fast")]
    own = plain.route("router", "fast").model
    run_model.reset(token)

    assert (found, own) == (["chosen", "small", "chosen", "chosen"], "r")
    assert plain.route("x", "main").model == "large"


def test_every_model_is_listed_once() -> None:
    """Both tiers and all roles count."""
    roles: dict[RoleName, RoleSettings] = {
        "router": RoleSettings(model="small"),
        "outliner": RoleSettings(model="third"),
    }
    assert Settings(model="large", fast_model="small", roles=roles).chat_models == ("large", "small", "third")


@pytest.mark.parametrize(
    ("set_to", "allowed", "output"), [(None, None, None), (500, None, 500), (None, 300, 300), (500, 300, 300)]
)
def test_the_smaller_limit_applies(set_to: int | None, allowed: int | None, output: int | None) -> None:
    """A budget and a setting may both limit an answer."""
    assert ModelRoute("m", max_output=set_to).limit_output(allowed) == output
