"""Runs between sites inside platforms that sites already run: vantage6 and Flower.

`step` is a site's turn in a task of the platform, bytes in and bytes out; `coordinate` is the
coordinator's part, which gives the platform bytes for each place. Both run the member of
`tacit.deploy` unchanged, except for what carries its messages. `vantage6` and `flower` are what the
platforms call. Needs `tacit[deploy]`, and the platform's own package.
"""

from __future__ import annotations

from tacit.adapters.coordinator import Platform, coordinate, summary
from tacit.adapters.site import step, write_site

__all__ = ["Platform", "coordinate", "step", "summary", "write_site"]
