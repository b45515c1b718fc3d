"""Every example in a docstring of tacit runs and prints what it shows."""

import doctest
import importlib
import inspect
import pkgutil
from typing import Any

import pytest

import tacit

MODULES = ["tacit", *(m.name for m in pkgutil.walk_packages(tacit.__path__, "tacit."))]


class _Finder(doctest.DocTestFinder):
    """Finds the examples of what a decorator wraps, too."""

    def _from_module(self, module: Any, object: Any) -> bool:
        unwrapped = inspect.unwrap(object) if callable(object) else object
        return super()._from_module(module, unwrapped)


SLOW = "tacit.estimators.regressors"
"""Fits two regressions."""
assert SLOW in MODULES, "it was renamed"


@pytest.mark.parametrize(
    "name", [pytest.param(m, marks=pytest.mark.slow) if m == SLOW else m for m in MODULES]
)
def test_examples_of_a_module(
    name: str, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = importlib.import_module(name)
    source = inspect.getsource(module)
    if ">>>" not in source:
        return  # nothing to run; most modules of helpers
    monkeypatch.chdir(tmp_path_factory.mktemp("examples"))
    found = _Finder(exclude_empty=True).find(module)
    # none is lost to a decorator
    assert sum(len(test.examples) for test in found) == source.count(">>> ")
    report: list[str] = []
    for test in found:
        doctest.DocTestRunner().run(test, out=report.append)
    assert not report, "".join(report)
