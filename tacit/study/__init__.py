r"""Study files: one typed TOML file that describes a whole run.

`read_study` reads a file and points at the line and key of every mistake; `assemble` builds what it
describes and `execute` runs it; `account` states what it guarantees without running it.
`audit` attacks that guarantee, `setting` is what advice rests on, and `draft` writes a first study.

Example:
    >>> from tacit.study import parse_study
    >>> parse_study("[run]\nrounds = 0.5")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    tacit.errors.ConfigError: study.toml: [data] is missing; add a section [data] ...
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tacit.study._described.catalogue import METHODS
    from tacit.study.accounting import account, mean_noise
    from tacit.study.auditing import audit
    from tacit.study.dimensions import Asked, setting
    from tacit.study.drafting import Draft, draft
    from tacit.study.model import Study
    from tacit.study.read import Source, parse_study, read_study
    from tacit.study.reading import Reading
    from tacit.study.run import Assembled, Outcome, assemble, execute

_HOMES = {
    "METHODS": "_described.catalogue",
    "Asked": "dimensions",
    "Assembled": "run",
    "Draft": "drafting",
    "Outcome": "run",
    "Reading": "reading",
    "Source": "read",
    "Study": "model",
    "account": "accounting",
    "assemble": "run",
    "audit": "auditing",
    "draft": "drafting",
    "execute": "run",
    "mean_noise": "accounting",
    "parse_study": "read",
    "read_study": "read",
    "setting": "dimensions",
}

__all__ = [
    "METHODS",
    "Asked",
    "Assembled",
    "Draft",
    "Outcome",
    "Reading",
    "Source",
    "Study",
    "account",
    "assemble",
    "audit",
    "draft",
    "execute",
    "mean_noise",
    "parse_study",
    "read_study",
    "setting",
]


def __getattr__(name: str) -> Any:
    # the models need the methods, which need JAX: loaded when first used
    if name not in _HOMES:
        from tacit.checks import absent

        raise absent(__name__, name, __all__)
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
