"""The report of a run between sites: the page of a simulation, made of releases only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import numpy as np

import tacit._engine.planning
import tacit.report.html
from tacit._engine.inputs import stops
from tacit.arguments import checked
from tacit.deploy.agreement.declared import Declared, counts_are_public
from tacit.deploy.agreement.manifest import Manifest
from tacit.deploy.operate.finished import Finished, read_finished
from tacit.errors import ConfigError
from tacit.method.answer import Answer, Minimiser, files_of
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.wording import claim
from tacit.report.data import ReportData
from tacit.report.picture import picture
from tacit.study._output.blocks import answered, guarantee_rows, largest, phase_rows
from tacit.study._output.words import adversary, between, capital, fitted
from tacit.study.build import build_method
from tacit.study.fitted import MODEL, NAME, REGRESSIONS

REPORT = "report.html"


@checked(ConfigError)
def write_report(state: Path, run: Declared | None = None) -> Path:
    """Write the report of a finished run into a member's state folder.

    Args:
        state: state folder of the member.
        run: the run, if it was laid out already.

    Returns:
        Path of the page.

    Raises:
        ConfigError: the run has not finished, or a file is missing or does not fit the others.
        RuntimeFailure: the page could not be written.
    """
    found = read_finished(state)
    return tacit.report.html.write_report(state / REPORT, report_data(found, run))


def render_report(found: Finished, run: Declared | None = None) -> str:
    """The page of a finished run as HTML.

    Args:
        found: what the member has.
        run: the run, if it was laid out already.
    """
    return tacit.report.html.render(report_data(found, run))


def report_data(found: Finished, run: Declared | None = None) -> ReportData:
    """The contents of the report.

    Args:
        found: what the member has.
        run: the run, if it was laid out already.
    """
    run = found.laid_out() if run is None else run
    manifest, study, agreed = found.manifest, run.source.study, run.contract
    own = found.guarantee
    owners: list[Guarantee] = list(agreed.guarantee)
    if own is not None:
        owners[found.number] = own
    worst = own or agreed.guarantee.worst
    answer = found.answer(run)
    records = [each.records for each in manifest.agents]
    shown = counts_are_public(run.source, manifest.names) and not run.source.costs
    counted = records if shown else None
    minimised = isinstance(answer, Minimiser)
    with run.source.blamed():
        method = build_method(run.source, manifest.names)
        mean = tacit._engine.planning.mean_noise(
            run.problem, agreed.network, method, rounds=study.run.rounds, seed=study.run.shared_seed
        )
    return ReportData(
        title=study.title,
        summary=_summary(found, run, counted),
        guarantee_sentence=(own or agreed.guarantee).sentence(assumptions=False),
        guarantee_status=worst.status.value,
        noise=worst.noise.value,
        status=_ending(found),
        seconds=None,
        assumptions=worst.assumptions,
        guarantee_table=guarantee_rows(manifest.names, owners, counted),
        epsilon_budget=None if study.privacy is None else largest(study.privacy.epsilon),
        network=picture(agreed.network, manifest.names),
        phases=phase_rows(agreed.method, agreed.network, agreed.table, worst),
        history=_history(found, run),
        averaged=getattr(agreed.method, "average", None) is True,
        coefficients=[
            {"feature": name, "agreed": float(value)}
            for name, value in zip(agreed.numbers, found.solution, strict=True)
        ]
        if minimised
        else [],
        numbers=run.source.held.numbers,
        **answered(answer),
        mean_noise=mean,
        adversary=capital(adversary(worst)),
        members=_members(found, run),
        agreement=_agreement(found),
        files=() if found.simulated or own is None else _covered(found, answer),
        environment=found.versions,
        public=True,
    )


def _covered(found: Finished, answer: Answer) -> tuple[str, ...]:
    """Names of the files that follow from releases and declared numbers."""
    regression = (NAME,) if isinstance(answer, REGRESSIONS) else ()
    model = (MODEL,) if found.predicts else ()
    return (*files_of(answer), "guarantee.json", *model, "model.npz", *regression, REPORT)


def _summary(found: Finished, run: Declared, records: list[int] | None) -> list[str]:
    """What was run, and whose page this is."""
    sites, source = len(found.manifest.agents), run.source
    what = fitted(source, run.problem)
    held = "" if records is None else f"hold {sum(records):,} records, and "
    rounds = found.result["rounds"]
    many = "1 round" if rounds == 1 else f"{rounds:,} rounds"
    return [
        f"{sites} sites {what} {between(run.contract.network)}, {source.held.apart}.",
        f"They {held}ran {many} of {dict(source.study.method)['name']}, each as a process of its "
        f"own. This is the report of {found.name}.",
        *source.study.notes,
    ]


def _ending(found: Finished) -> str:
    """How the run ended; what a coordinator did wrong is told first."""
    compared = found.result.get("compared")
    if compared and (compared["own"] or compared["other"]):
        place = compared["own"] or ", ".join(compared["other"])
        return (
            f"The coordinator told members different things ({place}). Do not use the model before "
            "you have talked to the others"
        )
    return "finished"


def _history(found: Finished, run: Declared) -> dict[str, list[Any]]:
    """Epsilon along the run, of the owner that spends most."""
    rounds = min(found.result["rounds"], run.contract.rounds)
    if rounds < 1:
        return {}
    at = np.array([0, *stops(rounds, None)])
    with jax.enable_x64(True):
        epsilon = np.minimum(
            run.contract.spent(at), [each.epsilon for each in run.contract.guarantee]
        )
    return {"round": at.tolist(), "epsilon": epsilon.max(axis=1).tolist()}


def _members(found: Finished, run: Declared) -> list[dict[str, Any]]:
    """Who took part, and what this member knows of each."""
    manifest = found.manifest
    unsigned = set(manifest.unsigned(masked=run.masked))
    compared = found.result.get("compared")
    rows: list[dict[str, Any]] = []
    for member in manifest.members:
        row: dict[str, Any] = {
            "member": member.name,
            "role": "coordinator" if member is manifest.coordinator else "site",
            "signed": "no" if member.name in unsigned else "yes",
            "absent": _absent(found, member.name),
        }
        if compared is not None:
            row["told the same"] = _told(found, manifest, member.name)
        rows.append(row | {"fingerprint": member.card.fingerprint()})
    return rows


def _absent(found: Finished, name: str) -> str:
    """The rounds without a member."""
    gone = [each for each in found.result.get("absences", ()) if each["member"] == name]
    until = {None: "to the end"}
    spans = [
        f"from round {each['first_round']} "
        + until.get(each["back_in_round"], f"to before round {each['back_in_round']}")
        for each in gone
    ]
    return "; ".join(spans) or "never"


def _told(found: Finished, manifest: Manifest, name: str) -> str:
    compared = found.result["compared"]
    if name == found.name or (manifest.coordinator and name == manifest.coordinator.name):
        return ""
    if name in compared["other"]:
        return "no"
    return "yes" if name in compared["same"] else "not compared"


def _agreement(found: Finished) -> dict[str, Any]:
    """The facts of the run."""
    facts: dict[str, Any] = {"Run id": found.manifest.run.hex()}
    if ended := found.result.get("ended"):
        facts["Ended"] = ended[:16].replace("T", " ") + " UTC"
    if (spent := found.result["epsilon_spent"]) is not None:
        told = "" if found.guarantee is None else claim(found.guarantee.neighbours)
        facts["Epsilon charged to the ledger for this run"] = f"{spent} ({told})" if told else spent
    facts["Wait for a silent member"] = f"{found.manifest.patience:g} s, then " + (
        "go on without it" if found.manifest.silent == "skip" else "stop"
    )
    facts["Messages refused"] = found.result["refused_messages"]
    return facts
