"""Every public call with every argument replaced by what it cannot be: does tacit say so at once?

One argument after the other of a call that works is replaced. What comes of it is

* clear: an error of tacit's own that names the argument;
* raw: any other error, which does not tell who gave it what was wrong;
* taken: no error.

    python -m tests.bad_calls all           prints the counts, each raw error and nonsense taken
    python -m tests.bad_calls few           with some of the values only
    python -m tests.bad_calls all DGD ...   of some calls only

It runs in a process of its own: under pytest types are checked that nobody else checks.
"""

from __future__ import annotations

import importlib
import inspect
import json
import re
import signal
import sys
import warnings
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tacit import method
from tacit.errors import TacitError
from tests.public_calls import Begun, Call, every_call, stop_where_it_begins

MODULES = (
    "tacit",
    "tacit.method",
    "tacit.problem",
    "tacit.privacy",
    "tacit.network",
    "tacit.testing",
)

SECONDS = 2.0
"""How long a call may take before nothing was said at once."""

MADE = {
    "Account",
    "Answer",
    "Checks",
    "CoefficientTable",
    "Comparison",
    "FittedHazards",
    "FittedModel",
    "FittedRegression",
    "Regression",
    "Description",
    "Cox",
    "HazardRatios",
    "Survival",
    "SurvivalCurves",
    "TableOne",
    "Wald",
    "Contract",
    "CountTable",
    "History",
    "MeanNoise",
    "Minimiser",
    "Records",
    "Refused",
    "ReleaseRow",
    "Rows",
    "Task",
    "AbstractDose",
    "AbstractLinearLoss",
    "AbstractLoss",
    "AbstractMethod",
    "AbstractNetwork",
    "AbstractQuery",
    "AbstractRegulariser",
    "AbstractScalarLoss",
    "Adversary",
    "BlackBox",
    "Cost",
    "ConvexCost",
    "CostBox",
    "Noise",
    "EmpiricalRisk",
    "Event",
    "GossipNoise",
    "GossipPlan",
    "Graph",
    "Guarantee",
    "Guarantees",
    "Into",
    "LaplacianExtremes",
    "MasksPlan",
    "Mixing",
    "NoiseKind",
    "NoisePlan",
    "NoiseSource",
    "Prepared",
    "Public",
    "RecordBall",
    "RecordBox",
    "RecordDistance",
    "Reference",
    "RelayCost",
    "Result",
    "Scope",
    "Sites",
    "StabilityPrivacy",
    "Status",
    "Topology",
    "Weighting",
}
"""Interfaces, words, and what tacit makes itself: nobody calls them."""


class Found(NamedTuple):
    """What came of one bad value."""

    call: str
    argument: str
    value: str
    kind: str
    said: str


def bad_values(base: Any, other: Any) -> dict[str, Any]:
    """What an argument is replaced by: nonsense for hardly any, then numbers and the like."""
    return {
        **{
            "text": "no such word",
            "bytes": b"",
            "nan": float("nan"),
            "complex": 1j,
            "10**400": 10**400,
            "a list of text": ["no such word"],
            "a dict": {"no": "word"},
            "an object": object(),
            "a class": int if base is None else type(base),
            "three axes": np.zeros((2, 1, 3)),
            "nan in an array": np.array([1.0, float("nan")]),
            "an array of objects": np.array([object()]),
            "an array of text": np.array(["no such word"]),
        },
        **{
            "None": None,
            "inf": float("inf"),
            "-1": -1,
            "0": 0,
            "1.5": 1.5,
            "True": True,
            "an empty list": [],
            "the next argument's": other,
        },
    }


NONSENSE = tuple(bad_values(None, None))[:13]


FEW = ("text", "nan", "an object", "three axes", "None", "-1")
"""The values that find most of what all of them find."""

MEANT = {
    "BinaryTarget": ("positive", "negative", "map"),  # values of a column
    "Boolean": ("missing_values",),
    "Categorical": ("levels", "missing_values"),
    "ClassTarget": ("levels",),
    "Date": ("missing_values",),
    "Numeric": ("missing_values",),
    "NumericTarget": ("missing_values",),
    "Coordinator": ("agents",),  # names
    "Calibrated": ("noise_multiplier",),  # not a number until it is calibrated
    "gaussian": ("noise_multiplier",),
    "l2_laplace": ("noise_multiplier",),
    "laplace": ("noise_multiplier",),
    "audit_callable": ("data", "neighbour"),  # handed on as they are
    "black_box_problem": ("agents",),  # their records
    "costs": ("parameters",),
    "kept_in_words": ("share",),  # of a run that diverged
    "share_kept": ("agreed", "pooled", "base"),
    "Law": ("event",),  # classes of events
    "from_edges": ("directed",),  # that the graph is none is said in its own words
}
"""What is taken by arguments for which a good part of the nonsense makes sense."""


def meant(found: Found, base: Any, annotation: str) -> bool:
    """Whether what is nonsense elsewhere makes sense here."""
    text = isinstance(base, str | Path) or re.search(r"\bstr\b", annotation) is not None
    named = found.argument in MEANT.get(found.call, ())
    # what is read off numbers may be nan, such as those of a run that diverged
    return named or (text and "text" in found.value) or found.value == "nan in an array"


def public_names() -> set[str]:
    """Everything exported that takes arguments and is called by users."""
    names: set[str] = set()
    for module in MODULES:
        home = importlib.import_module(module)
        for name in set(home.__all__) - MADE:
            target = getattr(home, name)
            if callable(target) and inspect.signature(target).parameters:
                names.add(target.__name__)
    return names


def tried(call: Call, values: Collection[str]) -> Iterator[tuple[Found, bool]]:
    """What comes of every bad value of every argument, and whether it is right."""
    with suppress(Begun):
        call.target(**call.given)
    parameters = inspect.signature(call.target).parameters
    base = {name: call.given.get(name, each.default) for name, each in parameters.items()}
    order = [name for name, each in parameters.items() if each.kind is not each.VAR_KEYWORD]
    for place, argument in enumerate(order):
        other = base[order[(place + 1) % len(order)]]
        for value, bad in bad_values(base[argument], other).items():
            if value in values:
                found = Found(call.target.__name__, argument, value, *judged(call, argument, bad))
                wrong = found.kind == "raw" or (found.kind == "taken" and value in NONSENSE)
                annotation = str(parameters[argument].annotation)
                yield found, not wrong or meant(found, base[argument], annotation)


def judged(call: Call, argument: str, bad: Any) -> tuple[str, str]:
    """Clear, raw or taken, and what was said."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        try:
            call.target(**{**call.given, argument: bad})
        except Begun:
            return "taken", ""
        except Exception as error:
            said = str(error)
            ours = isinstance(error, TacitError) or (call.target is method.Phase)
            named = argument.rstrip("s") in said.replace(" ", "_") or str(bad) in said
            return "clear" if ours and named else "raw", f"{type(error).__name__}: {said}"
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0.0)
    return "taken", ""


def _too_long(*_: object) -> None:
    raise TimeoutError(f"not done after {SECONDS:g} s")


def main(values: str, only: list[str]) -> int:
    """Print, as JSON lines, every raw error and nonsense taken, and then the counts."""
    stop_where_it_begins()
    signal.signal(signal.SIGPROF, _too_long)
    chosen = FEW if values == "few" else tuple(bad_values(None, None))
    counts: Counter[str] = Counter()
    for call in every_call():
        if only and call.target.__name__ not in only:
            continue
        for found, right in tried(call, chosen):
            counts.update([found.kind])
            if not right:
                print(json.dumps([*found[:4], " ".join(found.said.split())[:300]]))
    print(json.dumps(counts))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
