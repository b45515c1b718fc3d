"""Three sites between peers that know each other."""

from tests.standing import made, three

__all__ = ["made", "three"]
