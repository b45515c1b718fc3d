"""Which classes are tacit's own: what is proved of them is proved of no other."""

from __future__ import annotations

import sys


def is_own(kind: type) -> bool:
    """Whether tacit itself defines a class, by its name and module; derived ones do not count."""
    module = sys.modules.get(kind.__module__)
    own = kind.__module__.partition(".")[0] == "tacit"
    return own and getattr(module, kind.__qualname__, None) is kind
