"""The papers, and look-up of targets by name."""

from __future__ import annotations

from collections.abc import Sequence

from tacit import checks
from tacit.arguments import checked
from tacit.errors import ConfigError
from tacit.papers.gratton2020.paper import PAPER as GRATTON2020
from tacit.papers.gratton2021.paper import PAPER as GRATTON2021
from tacit.papers.huang2015.paper import PAPER as HUANG2015
from tacit.papers.nozari2016.paper import PAPER as NOZARI2016
from tacit.papers.ryu2021.paper import PAPER as RYU2021
from tacit.papers.target import Paper, Target

PAPERS: Sequence[Paper] = (HUANG2015, NOZARI2016, GRATTON2020, GRATTON2021, RYU2021)
"""All papers, by year."""


@checked(ConfigError)
def targets(paper: str | None = None) -> list[Target]:
    """All targets, or those of one paper.

    Raises:
        ConfigError: unknown paper.
    """
    if paper is None:
        return [target for each in PAPERS for target in each.targets]
    return list(paper_of(paper).targets)


def paper_of(name: str) -> Paper:
    """The paper of this name, or the one with which a target's name begins.

    Raises:
        ConfigError: unknown paper.
    """
    name = name.partition("/")[0]
    found = [each for each in PAPERS if each.name == name]
    if not found:
        raise ConfigError(_unknown("paper", name, [each.name for each in PAPERS]))
    return found[0]


@checked(ConfigError)
def find(name: str) -> Target:
    """The target of this name.

    Raises:
        ConfigError: unknown target.
    """
    found = [target for target in targets() if target.name == name]
    if not found:
        raise ConfigError(_unknown("target", name, [target.name for target in targets()]))
    return found[0]


def _unknown(kind: str, name: str, known: Sequence[str]) -> str:
    hint = checks.hint(name, known, "`tacit reproduce --list` names all")
    return f"there is no {kind} {name!r}; {hint}"
