"""Check arguments against their annotations and refuse what does not fit at once.

`checked` inspects the arguments of a function or class before anything else happens. Kinds
follow from the annotation, ranges from a `Range` in it:

    @checked(ConfigError)
    def bound(epsilon: Positive, rounds: Count) -> float: ...

An annotation without a checkable meaning (a type variable, a protocol, `Any`) accepts any value.
"""

from __future__ import annotations

from tacit.arguments.annotations import remedy, wanted
from tacit.arguments.calls import check, checked, is_checked

__all__ = ["check", "checked", "is_checked", "remedy", "wanted"]
