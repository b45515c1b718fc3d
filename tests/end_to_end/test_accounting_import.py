"""Accounting and plans are imported without JAX: by a command, a notebook or a page that plans."""

import json
import subprocess
import sys

import pytest

CORE = (
    "accounting",
    "adjacency",
    "calibration",
    "event",
    "gaussian_dp",
    "guarantee",
    "masks",
    "plan",
    "plan_shared",
    "views",
)

IMPORTED = """
import json, sys, time
began = time.process_time()
for name in {names}:
    __import__("tacit.privacy." + name)
took = time.process_time() - began
{then}
print(json.dumps([took, sorted({{"jax", "equinox", "pandas", "scipy"}} & set(sys.modules))]))
"""

PLANNED = """
from tacit.privacy import plan_noise
assert round(plan_noise(epsilon=1.0, rounds=20_000).noise_multiplier, 3) == 597.46
"""


def imported(then: str = "") -> tuple[float, list[str]]:
    """Seconds of processor time that the import took, and what else is loaded afterwards."""
    code = IMPORTED.format(names=repr(CORE), then=then)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    took, heavy = json.loads(done.stdout)
    return took, heavy


def test_accounting_needs_neither_jax_nor_what_is_built_on_it() -> None:
    assert imported()[1] == []
    # the normal law is SciPy's, and is loaded when it is needed
    assert imported(PLANNED)[1] == ["scipy"]


def test_a_plan_of_noise_on_the_command_line_needs_no_jax() -> None:
    code = (
        "import sys\n"
        "from tacit.cli import main\n"
        "sys.argv = ['tacit', 'plan', 'noise', '--epsilon', '1', '--rounds', '60']\n"
        "try:\n"
        "    main()\n"
        "finally:\n"
        "    print('imported:', sorted({'jax', 'equinox', 'pandas'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "noise multiplier of 32.73" in " ".join(done.stdout.split())
    assert "imported: []" in done.stdout


def test_a_run_needs_no_tables() -> None:
    code = (
        "import sys\n"
        "import numpy as np\n"
        "import tacit\n"
        "from tacit import network, problem\n"
        "features, targets = np.ones((3, 4, 2)), np.ones((3, 4))\n"
        "task = problem.empirical_risk(features, targets, problem.Squared())\n"
        "method = tacit.DPSG(step=0.1, privacy=tacit.Privacy(clip=1.0, epsilon=1.0, delta=1e-6))\n"
        "tacit.run(task, network.ring(3), method, rounds=2, seed=0)\n"
        "heavy = {'pandas', 'pyarrow', 'pydantic', 'plotly', 'sklearn', 'networkx', 'cvxpy'}\n"
        "print('imported:', sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "imported: []" in done.stdout


@pytest.mark.slow
def test_accounting_is_imported_in_less_than_three_tenths_of_a_second() -> None:
    assert min(imported()[0] for _ in range(7)) < 0.3
