"""The comparison of methods is derived, and what it derives is true when a method runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import tacit
from tacit.errors import NetworkError, TacitError
from tacit.method import DGD, DPSG, DZOA, EXTRA, DZOASolver, FedAvg, GradientTracking
from tacit.papers.huang2015.method import PDOPPrinted
from tacit.problem import Hinge
from tacit.study._described import traits as asked
from tacit.study._described.probes import Probe, accepted, instances, networks, probes, promised
from tacit.study._described.traits import HEADINGS, TABLES, Traits
from tacit.study.parts import published
from tacit.types import Unit

BUILDS = (*asked.methods(), *(part.build for part in published().values()))
each_method = pytest.mark.parametrize("build", BUILDS, ids=lambda build: build.__name__)


def _taken(method: Any, network: Any) -> Sequence[Probe]:
    return list(accepted(method, probes(), network))


def test_rows_are_what_the_methods_say() -> None:
    assert asked.traits(DPSG) == Traits(
        oracle="gradient",
        topology="peers, directed peers",
        constraints="any set",
        nonsmooth="losses, regularisers",
        varying="given sequences, failing links, sleeping agents",
        adjacency="record: replace, add/remove; agent: replace, metric",
        status="proved",
        masks="no",
        releases="1",
        evaluations="1",
    )
    row = asked.traits(DZOA)
    assert (row.oracle, row.topology, row.varying) == ("value", "peers", "no")
    assert row.constraints == "any set, if its prox with the regulariser is exact"
    assert row.evaluations == "P + 1"


def test_modes_have_a_status_each() -> None:
    assert asked.traits(DZOASolver).status == "none; model with claim"
    assert asked.traits(FedAvg).status == "proved with [privacy]; none without"
    assert asked.traits(DGD).adjacency == "none"
    # an update that is clipped as a whole protects the agent, whatever the unit of the problem
    update = instances(FedAvg)["with whole updates"]
    stated = promised(update, probes(), ["coordinator"], Unit.RECORD)
    assert stated is not None and stated.unit is Unit.AGENT


@pytest.mark.slow
def test_masks_are_taken_by_what_sums_at_a_public_iterate() -> None:
    taken = {build.name: asked.traits(build).masks for build in BUILDS if build.name}
    assert {name: said for name, said in taken.items() if said != "no"} == {
        "counts": "yes",
        "cox": "yes",
        "d-zoa-star": "yes",
        "dp-fedsgd": "yes",
        "dp-iadmm-prox": "yes",
        "dp-iadmm-trust": "yes",
        "fedavg": "with whole updates",
        "fedprox": "with whole updates",
        "glm": "yes",
        "gradient-descent": "yes",
        "masked-gossip": asked.OWN_MASKS,
        "or-zo": "yes",
        "preconditioned-descent": "yes",
        "survival": "yes",
        "table1": "yes",
        "zoo-admm": "yes",
    }


def test_what_comes_before_the_first_round_is_told_apart() -> None:
    assert asked.traits(PDOPPrinted).releases == "1, and 1 once"


def test_a_column_a_trait() -> None:
    assert list(HEADINGS) == list(Traits.__dataclass_fields__)
    assert [column for columns in TABLES.values() for column in columns] == list(HEADINGS)


@pytest.mark.parametrize("build", [EXTRA, GradientTracking])
def test_kinks_are_refused_where_the_proof_excludes_them(build: Any) -> None:
    kinked = next(
        probe.problem
        for probe in probes()
        if isinstance(getattr(probe.problem.objectives, "loss", None), Hinge)
    )
    with pytest.raises(TacitError, match="Hinge has kinks"):
        tacit.run(kinked, networks()["peers"], build(step=0.1), rounds=1)
    assert asked.traits(build).nonsmooth == "regularisers"


def test_every_method_has_an_example_to_be_described_by() -> None:
    assert {build.__name__: asked.missing(build) for build in asked.exported()} == {
        build.__name__: set() for build in asked.methods()
    }, "give the class a value for each of these arguments: example: ClassVar[Mapping] = ..."


@pytest.mark.long
@each_method
def test_every_method_can_be_asked(build: Any) -> None:
    found = asked.traits(build)
    assert found.topology != "no", (
        "no probe meets the assumptions of this method: add one that does"
    )
    assert "refused" not in found.status


@pytest.mark.long
@pytest.mark.parametrize(
    "build",
    [build if build is DPSG else pytest.param(build, marks=pytest.mark.slow) for build in BUILDS],
    ids=lambda build: build.__name__,
)
def test_a_method_that_takes_changing_graphs_runs_on_failing_links(build: Any) -> None:
    """And keeps to a set. Fixed networks and client sampling are the conformance table's."""
    method, failing = next(iter(instances(build).values())), networks()["failing links"]
    taken = _taken(method, failing)
    assert ("failing links" in asked.traits(build).varying) == bool(taken)
    if not taken:
        return  # that it is refused is tested below
    probe = max(taken, key=lambda p: (p.constraint != "none", p.loss, p.penalty))
    runtime = tacit.Simulation(exact=True)
    result = tacit.run(probe.problem, failing, method, rounds=2, seed=0, runtime=runtime)
    assert np.isfinite(result.solution).all()
    assert probe.problem.constraint.contains(result.solution)


@pytest.mark.slow
@each_method
def test_a_method_refuses_what_it_does_not_take(build: Any) -> None:
    found = asked.traits(build)
    method = next(iter(instances(build).values()))
    taken = f"{found.topology}, {found.varying}".split(", ")
    some = next(p for n in networks().values() for p in _taken(method, n))
    for name, net in networks().items():
        if name not in taken:
            with pytest.raises(NetworkError):
                tacit.run(some.problem, net, method, rounds=method.only_rounds or 1)
