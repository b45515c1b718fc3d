"""A figure of Ryu, Kim (2021) as a target: its runs on each data set, its claims and its panels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tacit.papers.ryu2021.setting import Data, Setting, found
from tacit.papers.target import Answer, Piece, Scale, Target
from tacit.report.data import Row
from tacit.report.reproduction import Claim, Panel, Reproduction, Verdict, concluded

Runs = Mapping[Any, Piece]
Answers = Mapping[Any, Answer]

ELSEWHERE = "Certified methods at equal total epsilon stand with figure 2 (a)."


@dataclass(frozen=True)
class Stated:
    """A statement of the paper about a figure.

    Attributes:
        place: section or appendix, and figure.
        said: statement in our words.
        rule: function from the answers to a verdict and the findings, in sentences.
        coded: part of the runs that follows the authors' code where the paper prints something else
            or nothing: "the trust region", "the baseline".
    """

    place: str
    said: str
    rule: Callable[[Answers, Setting], tuple[Verdict, str]]
    coded: str = "the trust region and the baseline"

    def claim(self, data: Data, answers: Answers, at: Setting | str) -> Claim:
        """The verdict on a data set; claims that hold only with a change are marked so.

        A claim that fails on records other than the paper's, or in a shortened run, is undecided.

        Args:
            data: data set.
            answers: answers by the name of the run.
            at: setting of the runs, or the reason why there were none.
        """
        said = f"{self.said} ({data})"
        if isinstance(at, str):
            return Claim(self.place, said, Verdict.NOT_RUN, at)
        verdict, sentence = self.rule(answers, at)
        coded = f"with {self.coded} as coded" if self.coded else ""
        change = ", ".join(filter(None, (coded, at.instead)))
        if verdict is Verdict.REPRODUCED and change:
            verdict = Verdict.CONDITIONALLY
        if verdict is Verdict.NOT_REPRODUCED and not at.exact:
            verdict = Verdict.UNDECIDED
            where = "in a shortened run" if at.shortened else "on other records than the paper's"
            sentence = f"{sentence} It does not hold here, {where}."
        if change:
            sentence = f"{sentence} {change[0].upper()}{change[1:]}."
        return Claim(self.place, said, verdict, sentence)


@dataclass(frozen=True)
class Part:
    """The part of a figure for one data set.

    Attributes:
        data: data set.
        runs: runs by name.
        claims: the paper's statements about them.
        panels: panels in the paper's layout.
        rows: rows beside the paper's numbers.
        certified: panels with proved methods.
        notes: further notes for the reader.
        sized: function from the setting of the paper's figures to that of this one.
    """

    data: Data
    runs: Callable[[Setting], Runs]
    claims: Sequence[Stated]
    panels: Callable[[Answers, Setting], Sequence[Panel]]
    rows: Callable[[Answers, Setting], Sequence[Row]]
    certified: Callable[[Answers, Setting], Sequence[Panel]] = lambda answers, at: ()
    notes: Callable[[Answers, Setting], Sequence[str]] = lambda answers, at: ()
    sized: Callable[[Setting], Setting] = lambda at: at

    def at(self, scale: Scale) -> Setting | str:
        """The setting of the runs, or the reason why there are none."""
        at = found(self.data, scale)
        return at if isinstance(at, str) else self.sized(at)


def figure(name: str, title: str, *parts: Part, notes: Sequence[str] = ()) -> Target:
    """A target with a part for each data set that the paper's figure has."""

    def pieces(scale: Scale) -> list[Piece]:
        settings = [(part, part.at(scale)) for part in parts]
        return [
            piece
            for part, at in settings
            if not isinstance(at, str)
            for piece in part.runs(at).values()
        ]

    def told(answers: Sequence[Answer], scale: Scale) -> Reproduction:
        return shown(list(sorted_out(parts, answers, scale)), notes)

    return Target(f"ryu2021/{name}", title, pieces, told)


def sorted_out(
    parts: Sequence[Part], answers: Sequence[Answer], scale: Scale
) -> Iterator[tuple[Part, Answers, Setting | str]]:
    """Each part with its answers, which are in the order of the pieces."""
    rest = iter(answers)
    for part in parts:
        at = part.at(scale)
        names = [] if isinstance(at, str) else part.runs(at)
        yield part, {name: next(rest) for name in names}, at


def shown(
    made: Sequence[tuple[Part, Answers, Setting | str]], notes: Sequence[str] = ()
) -> Reproduction:
    """The reproduction that the answers show."""
    claims = [
        stated.claim(part.data, answers, at) for part, answers, at in made for stated in part.claims
    ]
    present = [(part, answers, at) for part, answers, at in made if not isinstance(at, str)]
    shortened = "; ".join(f"{part.data}: {at.shortened}" for part, _, at in present if at.shortened)
    verdict, sentence = concluded(claims, shortened=bool(shortened))
    parameters = {
        (name if len(present) == 1 else f"{part.data}: {name}"): value
        for part, _, at in present
        for name, value in at.parameters().items()
    }
    published = [panel for part, answers, at in present for panel in part.panels(answers, at)]
    certified = [panel for part, answers, at in present for panel in part.certified(answers, at)]
    return Reproduction(
        verdict,
        sentence,
        claims=claims,
        published=published,
        certified=certified,
        comparison=[row for part, answers, at in present for row in part.rows(answers, at)],
        parameters=parameters,
        notes=[
            *notes,
            *(f"{at.data[0].upper()}{at.data[1:]}." for _, _, at in present if at.instead),
            *(note for part, answers, at in present for note in part.notes(answers, at)),
            *(at for _, _, at in made if isinstance(at, str)),
            *([ELSEWHERE] if published and not certified else []),
        ],
        shortened=shortened,
        # a column for each epsilon, as in the paper
        across=3 if len(published) % 3 == 0 else 2,
    )
