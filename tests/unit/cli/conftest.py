"""Three sites, for the commands of `tacit site`."""

from __future__ import annotations

from tests.unit.deploy.standing.conftest import made, three

__all__ = ["made", "three"]
