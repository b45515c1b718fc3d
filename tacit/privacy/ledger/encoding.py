"""Events and entries as text with a meaning that no later version changes.

An event becomes `{"kind": name, "version": 1, field: value, ...}`, nested as the event is; an
infinite number is the string "inf". The canonical form of a document, which is hashed, is its JSON
with sorted keys, no spaces and no escapes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from tacit.errors import LedgerDamaged, PrivacyError, UnsupportedEvent
from tacit.privacy.event import (
    DiscreteGaussianRelease,
    DiscreteLaplaceRelease,
    Event,
    GaussianRelease,
    LaplaceRelease,
    Masked,
    ModelClaim,
    NonPrivate,
    NoRelease,
    PerReleaseClaim,
    PoissonSampled,
    ProtocolClaim,
    Repeated,
)

_VERSION = 1

_NOISE: Mapping[str, type] = {"noise_multiplier": float}
_CLAIM: Mapping[str, type] = {"event": Event, "theorem": str, "assumption": str, "reason": str}

# Names on disk, which stay the same even if classes and attributes are renamed.
_KINDS: Mapping[str, tuple[type[Event], Mapping[str, type]]] = {
    "DiscreteGaussianRelease": (DiscreteGaussianRelease, _NOISE),
    "DiscreteLaplaceRelease": (DiscreteLaplaceRelease, _NOISE),
    "GaussianRelease": (GaussianRelease, _NOISE),
    "LaplaceRelease": (LaplaceRelease, _NOISE),
    "Masked": (Masked, {"event": Event, "coalition": int, "cohort": int}),
    "ModelClaim": (ModelClaim, _CLAIM),
    "NoRelease": (NoRelease, {}),
    "NonPrivate": (NonPrivate, {}),
    "PerReleaseClaim": (PerReleaseClaim, _CLAIM),
    "PoissonSampled": (PoissonSampled, {"rate": float, "event": Event}),
    "ProtocolClaim": (ProtocolClaim, _CLAIM),
    "Repeated": (Repeated, {"event": Event, "count": int}),
}

_CANONICAL = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
)

_NAMES: Mapping[type[Event], str] = {kind: name for name, (kind, _) in _KINDS.items()}


def canonical(document: object) -> str:
    """The unique text of a JSON document.

    Example:
        >>> canonical({"b": [1, 2.5], "a": "é"})
        '{"a":"é","b":[1,2.5]}'
    """
    return _CANONICAL.encode(document)


def event_to_json(event: Event) -> dict[str, Any]:
    """An event as a JSON document.

    Raises:
        UnsupportedEvent: an event that has no stored form.

    Example:
        >>> event_to_json(GaussianRelease(2.0))
        {'kind': 'GaussianRelease', 'version': 1, 'noise_multiplier': 2.0}
    """
    name = _NAMES.get(type(event))
    if name is None:
        raise UnsupportedEvent(
            f"the ledger has no stored form for {event!r}; it knows {', '.join(_KINDS)}"
        )
    values = {each: _plain(getattr(event, each), form) for each, form in _KINDS[name][1].items()}
    return {"kind": name, "version": _VERSION, **values}


def event_from_json(document: object) -> Event:
    """The event that `event_to_json` wrote.

    Raises:
        LedgerDamaged: anything else.

    Example:
        >>> event_from_json({"kind": "GaussianRelease", "version": 1, "noise_multiplier": 2.0})
        GaussianRelease(noise_multiplier=2.0)
    """
    return _decoded(canonical(document))


def grouped_to_json(events: Iterable[Event]) -> list[dict[str, Any]]:
    """Events with counts of equal ones, in an order that does not depend on the input's.

    Raises:
        UnsupportedEvent: an event that has no stored form.
    """
    counts: dict[Event, int] = {}
    for event in events:
        times = 1
        while isinstance(event, Repeated):
            times, event = times * int(event.count), event.event
        counts[event] = counts.get(event, 0) + times
    rows = [{"count": count, "event": event_to_json(event)} for event, count in counts.items()]
    return sorted(rows, key=canonical)


def grouped_from_json(rows: Any) -> list[Event]:
    """The events that `grouped_to_json` wrote, each `Repeated`.

    Raises:
        LedgerDamaged: anything else.
    """
    try:
        return [Repeated(event_from_json(row["event"]), int(row["count"])) for row in rows]
    except (KeyError, TypeError, ValueError) as error:
        raise LedgerDamaged(f"not a list of counted events: {rows!r}") from error


def _plain(value: Any, form: type) -> Any:
    if form is Event:
        return event_to_json(value)
    if form is float:  # also from NumPy and JAX
        number = float(value)
        return number if math.isfinite(number) else str(number)
    return form(value)


@lru_cache(maxsize=4096)
def _decoded(text: str) -> Event:
    document = json.loads(text)
    try:
        kind, forms = _KINDS[document.pop("kind")]
        if document.pop("version") != _VERSION:
            raise LedgerDamaged(f"event {text} is of a version that this tacit does not know")
        values = {name: _restored(document.pop(name), form) for name, form in forms.items()}
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise LedgerDamaged(f"{text} is not an event") from error
    if document:
        raise LedgerDamaged(f"event {text} has unknown fields {sorted(document)}")
    try:
        return kind(**values)
    except PrivacyError as error:
        raise LedgerDamaged(f"{text} is not an event: {error}") from error


def _restored(value: Any, form: type) -> Any:
    return event_from_json(value) if form is Event else form(value)
