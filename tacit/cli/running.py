"""`tacit run` and `tacit demo`."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from tacit.cli.answers import show
from tacit.cli.console import (
    DIVERGED,
    INTERRUPTED,
    USELESS,
    emit,
    guarded,
    printing,
    progress,
    say,
    table,
)
from tacit.errors import ConfigError
from tacit.problem.boxes import BlackBox
from tacit.problem.scores import SCORES
from tacit.report.canvas import without_figures
from tacit.study import Outcome, assemble, execute
from tacit.study._output import Destination, write
from tacit.study._output.files import PUBLIC_REPORT, keep_secret, seed_is_declared
from tacit.study._output.words import findings, protection, summary
from tacit.study.evaluations import left
from tacit.study.model import StatisticsStudy
from tacit.study.read import Source, read_study


def run_study(
    path: Path,
    output: Path | None,
    *,
    force: bool,
    resume: bool,
    public: bool,
    useful: bool,
    json: bool,
) -> int:
    """Run the study in a file; see `tacit run --help`."""

    def command() -> int:
        source = read_study(path)
        target = output if output is not None else source.folder / source.study.run.output
        again = f"tacit run {path}" + ("" if output is None else f" --output {output}")
        with source.section("run") if output is None else nullcontext():
            destination = Destination(target, force, resume, option=output is not None)
        if resume and not destination.checkpoint.exists():
            if (target / "result.json").exists() and not force:
                raise ConfigError(
                    f"the run in {target} is finished, so there is nothing to resume; give --force "
                    "to replace it, or another --output"
                )
            how = "; ".join(filter(None, ["starting anew", left(source)]))
            print(f"NOTE: nothing to resume in {target}; {how}", file=sys.stderr)
        return run_source(
            source,
            destination,
            again,
            public=public,
            useful=useful,
            json=json,
        )

    return guarded(command, as_json=json)


def run_demo(output: Path | None, *, force: bool, public: bool, json: bool) -> int:
    """Run the built-in studies, a regression and a model; see `tacit demo --help`."""
    from tacit.study import demo

    def command() -> int:
        table, model = demo.regression(), demo.study()
        target = output if output is not None else free(Path(model.study.run.output))
        reserved = partial(Destination, force=force or output is None, resumable=False, option=True)
        answer = reserved(target)
        beside = target.with_name(f"{target.name}-regression")
        beside = beside if output is not None else free(beside)
        stages = (
            (table, reserved(beside), (*demo.BEFORE, "", *demo.TABLE)),
            (model, answer, ("", *demo.CURVES)),
        )
        documents: list[dict[str, Any]] = []
        code = 0
        try:
            for _, destination, _ in stages:
                destination.prepare()
            for source, destination, before in stages:
                code, document = _run(
                    source, destination, None, public=public, json=json, before=before
                )
                documents.append(document)
                if code:
                    break
        finally:
            for _, destination, _ in stages:
                destination.discard()
        with printing(f"the results are in {beside} and {target}"):
            if json and documents[-1]:
                regression = {"regression": documents[0]} if documents[1:] else {}
                emit(documents[-1] | regression)
            elif not code and not json:
                say()
                say(f"Reports: {beside / 'report.html'} (table), {target / 'report.html'} (model)")
                for line in demo.AFTER:
                    say(line)
        return code

    return guarded(command, as_json=json)


def run_source(
    source: Source,
    destination: Destination,
    again: str | None,
    *,
    public: bool,
    json: bool,
    useful: bool = False,
) -> int:
    """Run a study and print what came out.

    Args:
        source: study file.
        destination: directory for the results.
        again: command that repeats the run; `None` if nothing is kept of an interrupted one.
        public: whether to also write a report from releases only.
        json: whether to print one JSON document.
        useful: whether an answer that is not worth having has an exit code of its own.
    """
    if useful and not (isinstance(source.study, StatisticsStudy) or source.study.run.hold_out):
        raise ConfigError(
            "--fail-if-useless has nothing to judge the answer by: it is for statistics, and for "
            "models with records held out for scores, such as hold_out = 0.2 in [run]"
        )
    with nullcontext() if destination.option else source.section("run"):
        destination.prepare()
    code, document = _run(source, destination, again, public=public, json=json, useful=useful)
    if json and document:
        with printing(f"the results are in {destination.path}"):
            emit(document)
    return code


def _run(
    source: Source,
    destination: Destination,
    again: str | None,
    *,
    public: bool,
    json: bool,
    before: tuple[str, ...] = (),
    useful: bool = False,
) -> tuple[int, dict[str, Any]]:
    """Run a study with a prepared destination: exit code, and the document of its results."""
    try:
        assembled = assemble(source)
        if not json:
            for line in before:
                say(line)
        with progress("rounds", quiet=json) as told:
            outcome = execute(assembled, checkpoint=destination.checkpoint, progress=told)
        document = write(outcome, destination, public=public)
    except KeyboardInterrupt:
        if again is None:
            how = "nothing was written"
        elif destination.checkpoint.exists():
            how = f"resume with: {again} --resume"
        else:
            how = "; ".join(filter(None, ["it was too short to leave a checkpoint", left(source)]))
        print(f"interrupted; {how}", file=sys.stderr)
        return INTERRUPTED, {}
    finally:
        destination.discard()
    if not json:
        with printing(f"the results are in {destination.path}"):
            _tell(outcome, destination, public)
    document = {**document, "output": str(destination.path)}
    if (outcome.result.diverged >= 0).any():
        return DIVERGED, document
    if useful and outcome.verdict.useful is False:
        print(outcome.verdict, file=sys.stderr)
        return USELESS, document
    return 0, document


def free(path: Path) -> Path:
    """`path`, or the first of `path-2`, `path-3`, ... that is free, so nothing is overwritten."""
    taken, number = path, 1
    while taken.exists():
        number += 1
        taken = path.with_name(f"{path.name}-{number}")
    return taken


def _tell(outcome: Outcome, destination: Destination, public: bool) -> None:
    result = outcome.result
    done = summary(outcome)
    kept = protection(outcome)
    found = findings(outcome)
    secret = keep_secret(outcome)
    scored = _scores(outcome)
    for line in done:
        say(line)
    if result.status != "finished":
        say(
            f"Status: {result.status}; there is no answer. Try a smaller step, a smaller clip or "
            "fewer rounds. If parameters are really that large, raise divergence in [run]."
        )
    elif isinstance(getattr(outcome.assembled.problem, "objectives", None), BlackBox):
        named = zip(result.parameter_names, result.solution, strict=True)
        say(f"Answer: {', '.join(f'{name} = {value:.6g}' for name, value in named)}.")
    if result.answer is not None:
        show(result.answer)
    say()
    for line in kept:
        say(line)
    if found:
        say()
        say(
            f"Simulation only (computed from private {outcome.assembled.source.held.plural}, so a "
            "deployment never publishes it):"
        )
        for line in found:
            say(line, indent="  ")
        if scored is not None:
            table(*scored)
    say(f"Report: {destination.path / 'report.html'}{without_figures()}")
    if public:
        say(f"Public report, from released values only: {destination.path / PUBLIC_REPORT}")
    say(f"All files: {destination.path} (guarantee.json lists those that are protected)")
    if secret:
        say(
            f"Do not publish {', '.join(secret)}: they contain the seed of the noise, with which "
            "anybody can remove it."
        )
    if seed_is_declared(outcome):
        say(
            "The seed is declared, so the guarantee covers no file: anybody who has it or guesses "
            "it can remove the noise. Leave seed out, and a secret one is drawn for every run."
        )


def _scores(outcome: Outcome) -> tuple[list[str], list[list[str]]] | None:
    """Headings and rows of the scores on records held out, if there are any."""
    scores, trials = outcome.scores, len(outcome.result.solutions)
    if not scores:
        return None
    names = [name for name in SCORES if name in next(iter(scores.values()))]
    means = f", means of {trials:,} trials" if trials > 1 else ""
    return (
        [f"Held out{means} (simulation only)", *(SCORES[name] for name in names)],
        [[fit, *(f"{found[name]:.4f}" for name in names)] for fit, found in scores.items()],
    )
