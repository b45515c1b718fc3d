"""Files of an earlier tacit (tests/golden/version-1) are read for ever, or refused in a sentence.

Ledgers, manifests, guarantees, results and studies are read. What is bound to one version, as a
member's journal, is refused, and nothing is sent.
"""

from __future__ import annotations

import base64
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import tacit
from tacit import DPSG, GradientDescent, Privacy, network, problem
from tacit.cli import app
from tacit.deploy.agreement.manifest import _AGREED, Manifest, Member, read_manifest
from tacit.deploy.identity.keys import Card
from tacit.deploy.messages.handshake import Question, read_hello
from tacit.deploy.messages.journal import Journal
from tacit.deploy.messages.outgoing import Account, Outgoing
from tacit.deploy.messages.wire import Address, decode
from tacit.errors import EnvironmentMismatch, LedgerError, RuntimeFailure, WireError
from tacit.privacy import Masks
from tacit.privacy.event import GaussianRelease
from tacit.privacy.guarantees import Guarantees
from tacit.privacy.ledger import Ledger, verify

GOLDEN = Path(__file__).parents[1] / "golden" / "version-1"
NAMES = ("north", "south", "east", "west")
ABOUT = {
    "gauss": "record, replace_one",
    "laplace": "record, replace_one",
    "sampled": "record, add_remove",
    "masked": "record, replace_one, sums, at most 1 agents corrupted",
    "people": "person, replace_one, 1 sites, 2 records a site",
}
"""What the epsilons of each dataset are about: a key in the ledger, and no sentence."""


def budgeted(**values: Any) -> Privacy:
    return Privacy(clip=1.0, epsilon=1.0, delta=1e-5, **values)


METHODS = {
    "gauss": DPSG(step=0.1, privacy=budgeted()),
    "laplace": DPSG(step=0.1, privacy=budgeted(noise="laplace")),
    "sampled": GradientDescent(step=0.1, privacy=budgeted(relation="add_remove", sampling=0.5)),
    "masked": GradientDescent(step=0.1, privacy=budgeted(masks=Masks(coalition=1))),
    "people": DPSG(step=0.1, privacy=budgeted(records_per_person=2)),
}


@pytest.fixture
def ledger_file(tmp_path: Path) -> Path:
    return Path(shutil.copy(GOLDEN / "simulated.ledger", tmp_path))


def test_a_ledger_says_what_was_spent(ledger_file: Path) -> None:
    written = json.loads((GOLDEN / "simulated.json").read_text())
    assert verify(ledger_file).sound
    with Ledger.open(ledger_file) as ledger:
        found = {(each.owner, each.dataset): each.spent for each in ledger.balances()}
    expected = {(each["owner"], each["dataset"]): each["spent"] for each in written["balances"]}
    # the events are composed anew, and bounds become tighter
    assert found == pytest.approx(expected, rel=1e-4)
    assert len(found) == len(NAMES) * len(ABOUT)


@pytest.mark.parametrize("dataset", ABOUT)
def test_a_ledger_goes_on(ledger_file: Path, dataset: str) -> None:
    rng = np.random.default_rng(0)
    features = [rng.uniform(-1, 1, size=(8, 2)) for _ in NAMES]
    targets = [(rng.random(8) < 0.5).astype(float) for _ in NAMES]
    task = problem.empirical_risk(
        features, targets, problem.Logistic(), names=list(NAMES), normaliser=8.0
    )
    method = METHODS[dataset]
    peers = isinstance(method, DPSG)
    where = network.ring(4) if peers else network.Coordinator(4)
    about = tacit.account(task, where, method, rounds=4).guarantee.worst.neighbours
    assert about == ABOUT[dataset]
    events = {"north": [GaussianRelease(10.0)]}
    with Ledger.open(ledger_file) as ledger:
        before = ledger.balance("north", dataset).spent
        ledger.charge_run("another", events, dataset=dataset, neighbours=about)
        assert before < ledger.balance("north", dataset).spent < before + 1.0
        with pytest.raises(LedgerError, match="neighbours of another kind"):
            ledger.charge_run("a third", events, dataset=dataset, neighbours="agent, replace_one")


@pytest.mark.parametrize("name", ["site.ledger", "masked_site.ledger"])
def test_ledgers_of_sites(tmp_path: Path, name: str) -> None:
    file = Path(shutil.copy(GOLDEN / name, tmp_path))
    assert verify(file).sound
    with Ledger.open(file) as ledger:
        (balance,) = ledger.balances()
    assert (balance.owner, balance.releases) == ("east", 6)
    assert 0.999 < balance.spent <= 1.0


@pytest.mark.parametrize(
    ("name", "run"),
    [
        ("manifest.toml", "5a17c9bdc8fc030f2d4b9496294c2b74dd9bf604ab209e61d66fe665d153ab21"),
        (
            "masked_manifest.toml",
            "a3e0e7da0a35397baa995b12a3762d79ece9e3d10723d3a4bae908a412b7b734",
        ),
    ],
    ids=["plain", "masked"],
)
def test_signatures_of_a_manifest_fit(name: str, run: str) -> None:
    manifest = read_manifest(GOLDEN / name)
    assert manifest.run.hex() == run
    assert manifest.unsigned() == []


def test_format_1_of_manifests_has_no_other_fields() -> None:
    beside = {"signatures", "mask_keys", "vouchers"}
    first, second = _AGREED
    assert set(Manifest.model_fields) == set(first) | beside | {"parts"}
    assert second == {**first, "parts": True}
    assert set(Member.model_fields) == first["agents"]["__all__"] == first["coordinator"]


def test_guarantees() -> None:
    found = Guarantees.from_json((GOLDEN / "guarantee.json").read_text())
    assert [each.owner for each in found] == ["east", "north", "south"]
    assert found.worst.epsilon == pytest.approx(1.0)


@pytest.fixture
def study(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    rows = [
        f"{NAMES[i % 3]},{rng.integers(20, 90)},{rng.choice(['yes', 'no'])},"
        f"{rng.choice(['many', 'few'])}"
        for i in range(90)
    ]
    (tmp_path / "visits.csv").write_text("\n".join(["hospital,age,smoker,visits", *rows]))
    return Path(shutil.copy(GOLDEN / "study.toml", tmp_path))


def test_a_study_runs_and_its_results_have_what_they_had(study: Path, tmp_path: Path) -> None:
    ran = CliRunner().invoke(app, ["run", str(study), "--output", str(tmp_path / "results")])
    assert ran.exit_code == 0, ran.output
    now = json.loads((tmp_path / "results" / "result.json").read_text())
    then = json.loads((GOLDEN / "result.json").read_text())
    assert now["format"] == then["format"]
    assert then.keys() <= now.keys()


def test_a_checkpoint_is_of_its_version_and_beginning_afresh_is_charged(
    study: Path, tmp_path: Path
) -> None:
    """Nothing is charged for what is refused, and a run from the start is another run."""
    text = study.read_text()
    paid = 'ledger = "clinics.ledger"\ndataset = "visits"\nclip = 1.0 '
    study.write_text(text.replace("clip = 1.0 ", paid))
    file = shutil.copy(GOLDEN / "interrupted.ledger", tmp_path / "clinics.ledger")
    shutil.copy(GOLDEN / "interrupted.checkpoint", tmp_path / "results.checkpoint")
    command = ["run", str(study), "--output", str(tmp_path / "results")]

    def spent() -> dict[str, tuple[float, int]]:
        with Ledger.open(file) as ledger:
            return {each.owner: (each.spent, each.releases) for each in ledger.balances()}

    before = spent()
    refused = CliRunner().invoke(app, [*command, "--resume"])
    assert refused.exit_code == 1
    assert "results.checkpoint belongs to another study" in refused.stderr
    assert "delete it to start afresh, or run what it was made from" in refused.stderr
    assert spent() == before and not (tmp_path / "results").exists()
    ran = CliRunner().invoke(app, [*command, "--force"])
    assert ran.exit_code == 0, ran.output
    for owner, (epsilon, releases) in spent().items():
        assert epsilon > 1.3 * before[owner][0] and releases == 2 * before[owner][1]


@pytest.mark.long
def test_answers_of_other_code_are_not_shown(study: Path, tmp_path: Path) -> None:
    """A sweep in the folder of an earlier one computes anew, whatever is stored there."""
    swept = Path(shutil.copytree(GOLDEN / "swept", tmp_path / "swept"))
    older = sorted((swept / "pieces").iterdir())
    for file in older:
        document = json.loads(file.read_text())
        measured = document["answer"]["measured"]
        document["answer"]["measured"] = {name: [-7.0] * 3 for name in measured}
        file.write_text(json.dumps(document))
    command = ["sweep", str(study), "-n", "3", "-e", "0.5,1", "--output", str(swept)]
    ran = CliRunner().invoke(app, command)
    assert ran.exit_code == 0, ran.output
    assert len(set((swept / "pieces").iterdir()) - set(older)) == len(older) == 2
    table = pd.read_csv(swept / "results.csv")
    assert len(table) == 6 and not (table == -7.0).any(axis=None)


def test_a_journal_is_of_its_version(tmp_path: Path) -> None:
    path = Path(shutil.copy(GOLDEN / "journal.db", tmp_path))
    path.chmod(0o600)
    run = read_manifest(GOLDEN / "manifest.toml").run.hex()
    with pytest.raises(RuntimeFailure, match=r"journal\.db is of another version of tacit\. "):
        Journal(path, run)


def test_what_another_version_sent_is_known_for_that() -> None:
    sent = json.loads((GOLDEN / "sent.json").read_text())
    card, run = Card(sent["name"], "", sent["signing_key"], ""), bytes.fromhex(sent["run"])
    with pytest.raises(
        EnvironmentMismatch, match=r"'south' runs tacit 0\.1\.0 .*; install the ver"
    ):
        read_hello(sent["hello"].encode(), Question(1, 0), run, card)
    message = base64.b64decode(sent["message"])
    with pytest.raises(WireError, match=r"of version 1, and 2 is read: .*; install one version"):
        decode(message, Address(run, 1, 0, 0), [("<f8", (2,))], card.public_key())


def test_a_site_without_its_state_does_not_go_on_from_the_ledger_of_another_version(
    tmp_path: Path,
) -> None:
    file = Path(shutil.copy(GOLDEN / "site.ledger", tmp_path))
    run = read_manifest(GOLDEN / "manifest.toml").run.hex()
    with Ledger.open(file) as ledger:
        account = Account(ledger, "east", "records", ABOUT["gauss"])
        begun = ledger.latest("east", run)
        path = tmp_path / "journal.db"
        outgoing = Outgoing(path, run, account, {}, 0, lambda address: address.round)
        with pytest.raises(RuntimeFailure, match=r"of another version of tacit\. Finish the run"):
            outgoing.resume({"x": np.zeros(2)})
        outgoing.close()
        assert begun is not None and ledger.latest("east", run) == begun
