"""Audits of private regressions: the mu that is claimed is measured, and a wrong bound found."""

from typing import Any

import pytest

import tacit
from tacit.privacy.score import Score
from tests.unit.method.regressions import TRUE, budget, drawn, setting


@pytest.mark.slow
def test_an_audit_stands_and_finds_a_bound_that_is_half_of_what_it_should_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x, y = drawn("binomial", 60)

    def audited(sums: int) -> Any:
        task, net, method = setting("binomial", x, y, privacy=budget(1.0, masks=None), sums=sums)
        return tacit.audit_method(task, net, method, rounds=sums, trials=4000, seed=0)

    honest = audited(4)
    assert not honest.refuted and honest.exact and 0.3 < honest.best.epsilon <= 1.0
    monkeypatch.setattr(Score, "movement", lambda self, relation: 1.0)
    # with another number of sums, because programs are kept by what they compute
    planted = audited(3)
    assert planted.refuted and planted.best.epsilon > 1.0


@pytest.mark.slow
@pytest.mark.parametrize("relation", ["replace_one", "add_remove"])
@pytest.mark.parametrize("family", [*sorted(TRUE), "negative_binomial"])
def test_an_audit_measures_the_mu_that_is_claimed(family: str, relation: str) -> None:
    # a table of expectations at every point takes most of a run of the last one
    counts = family == "negative_binomial"
    trials, sums = (3000, 3) if counts else (20_000, 4)
    x, y = drawn("poisson" if counts else family, 60)
    # at a large mu, which fewer runs measure to 1 %
    private = budget(8.0, relation=relation)
    task, net, method = setting(family, x, y, privacy=private, size=15, sums=sums)
    found = tacit.audit_method(task, net, method, rounds=sums, trials=trials, seed=0, stop=False)
    assert found.mu is not None and found.claimed_mu is not None
    assert 0.95 < found.mu / found.claimed_mu < 1.05 and not found.refuted
