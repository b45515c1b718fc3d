"""Ryu, Kim (2021): the runs themselves, very small."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from tacit.errors import ConfigError
from tacit.papers.ryu2021 import certified as certified_runs
from tacit.papers.ryu2021 import images
from tacit.papers.ryu2021 import runs as trajectories
from tacit.types import Role

pytestmark = pytest.mark.long


def small(**changed: Any) -> dict[str, Any]:
    chosen = images.chosen()
    return {
        "source": chosen.source,
        "digest": chosen.digest,
        "records": 50,
        "block": 1,
        "method": "ObjT",
        "epsilon": 5.0,
        "rho": "1 hat",
        "proximity": 1.0,
        "rounds": 3,
        "stops": [1, 2, 3],
        "trials": 2,
        "seed": 0,
    } | changed


@pytest.fixture
def digits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TACIT_DATA", raising=False)


@pytest.mark.usefixtures("digits")
def test_a_run_is_looked_at_where_it_was_asked() -> None:
    found = trajectories.path(**small())
    for name in ("error", "violation", "noise"):
        assert np.shape(found[name]) == (3, 2)
    # the first violation is |noised gradient| / rho, in both trials with noise of their own
    assert found["violation"][0][0] != found["violation"][0][1]
    again = trajectories.path(**small(stops=[1, 3]))
    assert again["violation"] == [found["violation"][0], found["violation"][2]]


@pytest.mark.usefixtures("digits")
def test_the_violation_is_the_printed_sum_over_agents(monkeypatch: pytest.MonkeyPatch) -> None:
    # appendix A.10 prints the sum over agents, the authors' code divides it by their number
    monkeypatch.setattr(trajectories, "errors", lambda read, answers: [0.0])
    clients = SimpleNamespace(w=jnp.zeros((1, 4, 3)), z=jnp.ones((1, 4, 3)))
    states = {Role.CLIENT: clients, Role.SERVER: jnp.zeros((1, 3))}
    found = trajectories.measured(images.read(images.chosen()), lambda state: state, states)
    assert found["violation"].tolist() == [12.0]


@pytest.mark.usefixtures("digits")
def test_the_noise_is_that_which_is_drawn() -> None:
    read = images.read(images.chosen()).first(50)
    found = trajectories.path(**small(rounds=1, stops=[1]))
    # at 0 the scores are equal: a gradient is row times (1/10 - 1, or 1/10), 1.8 in l1 norm
    longest = [1.8 * own.sum(axis=1).max() / 50 for own in read.features]
    # 640 Laplace numbers of each agent have a mean magnitude near the scale
    assert found["noise"][0] == pytest.approx([np.mean(longest) / 5.0] * 2, rel=0.05)
    own = trajectories.path(**small(method="OutP", rho=2.0, rounds=1, stops=[1], epsilon=0.5))
    log = np.log(1.25e6)
    sigma = 2 * np.sqrt(2 * log) / (0.5 * (2.0 + 5 / 4 + 2 * np.sqrt(log) / 0.5))
    assert own["noise"][0] == pytest.approx([sigma**2 * np.sqrt(2 / np.pi)] * 2, rel=0.05)
    quiet = trajectories.path(**small(epsilon=None, rounds=1, stops=[1]))
    assert quiet["noise"] == [[0.0, 0.0]]


@pytest.mark.usefixtures("digits")
def test_the_baseline_takes_the_mean_over_its_own_records() -> None:
    # the authors' code divides by an agent's own records, and its step is made for as many
    read = images.read(images.chosen()).first(50)
    quiet = small(method="OutP noiseless", rho=2.0, rounds=1, stops=[1])
    curvature = 2.0 + 5 / 4 + 2 * np.sqrt(np.log(1.25e6)) / 5.0
    moves = []
    for own, classes in zip(read.features, read.classes, strict=True):
        slopes = np.full((len(own), 10), 0.1)
        slopes[np.arange(len(own)), classes.astype(int)] -= 1.0
        moves.append(np.abs(own.T @ slopes / len(own)).max() / curvature)
    assert trajectories.path(**quiet)["reach"] == pytest.approx(max(moves), rel=1e-4)


@pytest.mark.usefixtures("digits")
def test_coarse_images_are_means_of_squares() -> None:
    read = images.read(images.chosen())
    pixels = read.test_features[0].reshape(8, 8)
    coarse = read.coarse(4)
    assert coarse.side == 2 and coarse.features[0].shape[1] == 4
    assert coarse.test_features[0] == pytest.approx(
        [pixels[:4, :4].mean(), pixels[:4, 4:].mean(), pixels[4:, :4].mean(), pixels[4:, 4:].mean()]
    )


@pytest.mark.usefixtures("digits")
def test_an_interrupted_run_goes_on_to_the_same_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = small(rounds=4, stops=[1, 4])
    whole = trajectories.path(**asked)
    monkeypatch.setattr(trajectories, "_CALL", 1)
    monkeypatch.setattr(trajectories, "_SAVE_SECONDS", 0.0)
    advance, calls = trajectories.batched.advance, []

    def interrupted(plan: Any, roots: Any, states: Any, bounds: Any) -> Any:
        calls.append(int(bounds[0, 0]))
        if calls == [0, 1, 2]:
            raise KeyboardInterrupt
        return advance(plan, roots, states, bounds)

    monkeypatch.setattr(trajectories.batched, "advance", interrupted)
    kept = str(tmp_path / "run.part")
    with pytest.raises(KeyboardInterrupt):
        trajectories.path(**asked, checkpoint=kept)
    assert trajectories.path(**asked, checkpoint=kept) == whole
    assert calls == [0, 1, 2, 2, 3]


@pytest.mark.slow
@pytest.mark.usefixtures("digits")
def test_the_baseline_without_its_noise_is_its_limit() -> None:
    def reach(method: str, epsilon: float) -> float:
        return trajectories.path(**small(method=method, epsilon=epsilon, rho=2.0))["reach"]

    # the noise goes with the square of 1/epsilon, the steps hardly change
    assert reach("OutP", 1e6) == pytest.approx(reach("OutP noiseless", 1e6), rel=1e-4)
    assert reach("OutP", 5.0) > 1.2 * reach("OutP noiseless", 5.0)
    with pytest.raises(ConfigError, match="method='ObjX' is none"):
        trajectories.path(**small(method="ObjX"))


@pytest.mark.slow
@pytest.mark.usefixtures("digits")
def test_a_certified_run_is_tuned_and_scored() -> None:
    chosen = images.chosen()
    found = certified_runs.certified(
        chosen.source, chosen.digest, 200, "dp-iadmm-trust", [], [0.05], 10, 1, 0
    )
    assert found["epsilon"] == pytest.approx([0.499], abs=1e-3)
    usual = certified_runs.usual_path(0.499, 200)
    factor = found["path"][0] / usual
    assert factor == pytest.approx(
        min(certified_runs.FACTORS, key=lambda f: abs(f - factor)), rel=1e-2
    )
    assert all(0.0 <= errors[0] <= 100.0 for errors in found["error"])
