"""What `import tacit` offers."""

import pytest

import tacit


def test_a_method_that_is_elsewhere_is_named_with_its_place() -> None:
    with pytest.raises(AttributeError, match=r"from tacit\.method import PDOP"):
        _ = tacit.PDOP
    with pytest.raises(AttributeError, match=r"no attribute 'Nothing'$"):
        _ = tacit.Nothing
