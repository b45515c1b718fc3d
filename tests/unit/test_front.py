"""What `import tacit` offers."""

import importlib
from types import ModuleType

import pytest

import tacit
from tacit.audit.method import audit_method


def test_a_method_that_is_elsewhere_is_named_with_its_place() -> None:
    with pytest.raises(AttributeError, match=r"from tacit\.method import PDOP"):
        _ = tacit.PDOP
    with pytest.raises(AttributeError, match=r"no attribute 'Nothing'$"):
        _ = tacit.Nothing
    with pytest.raises(AttributeError, match=r"no attribute 'runn'; did you mean 'run'\?$"):
        _ = tacit.runn
    with pytest.raises(AttributeError, match=r"no attribute '__al__'$"):
        _ = tacit.__al__


@pytest.mark.parametrize(
    ("module", "name", "meant"),
    [
        ("method", "Dpsg", "DPSG"),
        ("problem", "emprical_risk", "empirical_risk"),
        ("network", "Ring", "ring"),
        ("data", "numeric", "Numeric"),
        ("privacy", "masks_", "Masks"),
        ("statistics", "Glm", "glm"),
        ("audit", "audit_metod", "audit_method"),
    ],
)
def test_the_name_that_is_meant_is_told(module: str, name: str, meant: str) -> None:
    home = importlib.import_module(f"tacit.{module}")
    said = rf"'tacit\.{module}' has no attribute '{name}'; did you mean '{meant}'\?$"
    with pytest.raises(AttributeError, match=said):
        getattr(home, name)
    with pytest.raises(AttributeError, match=r"'__al__'$"):
        _ = home.__al__


def test_a_package_is_no_function() -> None:
    assert type(tacit.audit) is ModuleType
    assert tacit.audit_method is tacit.audit.audit_method is audit_method
    assert [name for name in tacit.__all__ if isinstance(getattr(tacit, name), ModuleType)] == []
