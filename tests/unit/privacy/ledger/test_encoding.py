"""Events as text: there and back, and nothing else is read."""

from __future__ import annotations

import json
import math
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from tacit.errors import LedgerDamaged, UnsupportedEvent
from tacit.privacy import event as events
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
from tacit.privacy.ledger.encoding import (
    _KINDS,
    canonical,
    event_from_json,
    event_to_json,
    grouped_from_json,
    grouped_to_json,
)

ONE_OF_EACH = [
    NoRelease(),
    NonPrivate(),
    GaussianRelease(0.1),
    LaplaceRelease(math.inf),
    DiscreteGaussianRelease(1e-300),
    DiscreteLaplaceRelease(3.0),
    PoissonSampled(0.25, DiscreteGaussianRelease(2.0)),
    Masked(DiscreteGaussianRelease(6.0), 1, 10),
    ModelClaim(Repeated(GaussianRelease(1.0), 3), "théorème 1", "normality", "it is assumed"),
    PerReleaseClaim(LaplaceRelease(20.0), "eq (20)", "a global bound", "it is a local one"),
    ProtocolClaim(Masked(GaussianRelease(2.0), 1, 5), "a page", "all follow", "none checks"),
    Repeated(Repeated(PoissonSampled(0.5, LaplaceRelease(7.0)), 2), 10**12),
]


@pytest.mark.parametrize("event", ONE_OF_EACH, ids=lambda event: type(event).__name__)
def test_there_and_back(event: Event) -> None:
    text = canonical(event_to_json(event))
    assert event_from_json(json.loads(text)) == event


def test_every_event_has_a_stored_form() -> None:
    known = {
        name
        for name, kind in vars(events).items()
        if isinstance(kind, type) and issubclass(kind, Event) and kind is not Event
    }
    assert known == set(_KINDS)
    assert {type(event).__name__ for event in ONE_OF_EACH} == known


def test_every_attribute_of_an_event_is_stored() -> None:
    for kind, names in _KINDS.values():
        assert {field.name for field in fields(kind)} == set(names)


def test_what_a_stored_event_looks_like_stays() -> None:
    assert canonical(event_to_json(Repeated(PoissonSampled(0.5, LaplaceRelease(7.0)), 2))) == (
        '{"count":2,"event":{"event":{"kind":"LaplaceRelease","noise_multiplier":7.0,"version":1},'
        '"kind":"PoissonSampled","rate":0.5,"version":1},"kind":"Repeated","version":1}'
    )


def test_numbers_of_other_libraries() -> None:
    stored = event_to_json(Repeated(GaussianRelease(float(np.float64(2.0))), int(np.int64(3))))
    assert canonical(stored) == canonical(event_to_json(Repeated(GaussianRelease(2.0), 3)))


def test_an_event_without_a_stored_form() -> None:
    class Mine(Event):
        pass

    with pytest.raises(UnsupportedEvent, match="no stored form"):
        event_to_json(Mine())


@pytest.mark.parametrize(
    "document",
    [
        {},
        [],
        3,
        {"kind": "Mystery", "version": 1},
        {"kind": "NoRelease", "version": 2},
        {"kind": "NoRelease"},
        {"kind": "GaussianRelease", "version": 1},
        {"kind": "GaussianRelease", "version": 1, "noise_multiplier": "much"},
        {"kind": "GaussianRelease", "version": 1, "noise_multiplier": -1.0},
        {"kind": "NoRelease", "version": 1, "more": 1},
        {"kind": "Repeated", "version": 1, "count": 1, "event": "GaussianRelease"},
    ],
)
def test_anything_else_is_refused(document: Any) -> None:
    with pytest.raises(LedgerDamaged):
        event_from_json(document)


def test_grouping_does_not_depend_on_the_order() -> None:
    loose = [LaplaceRelease(1.0), GaussianRelease(2.0), LaplaceRelease(1.0)]
    grouped = [GaussianRelease(2.0), Repeated(Repeated(LaplaceRelease(1.0), 1), 2)]
    assert grouped_to_json(loose) == grouped_to_json(grouped)
    assert sum(one.count for one in grouped_from_json(grouped_to_json(loose))) == 3
    with pytest.raises(LedgerDamaged):
        grouped_from_json([{"event": event_to_json(NoRelease())}])
