"""Runs between sites inside platforms that sites already run: vantage6 and Flower.

`step` is a site's turn in a task of the platform, bytes in and bytes out; `coordinate` is the
coordinator's part, which gives the platform bytes for each place. Both run the member of
`tacit.deploy` unchanged, except for what carries its messages. `vantage6` and `flower` are what the
platforms call. Needs `tacit[deploy]`, and the platform's own package.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tacit.adapters.coordinator import Platform, coordinate, summary
from tacit.adapters.site import step, write_site
from tacit.checks import absent

__all__ = ["Platform", "coordinate", "step", "summary", "write_site"]


if not TYPE_CHECKING:  # type checkers read the names above; this would let any name pass

    def __getattr__(name: str) -> Any:
        raise absent(__name__, name, __all__)
