"""Guarantees: what they say, refuse and store."""

import json
import math
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import NonPrivateRelease, PrivacyError
from tacit.privacy.digits import rounded_up
from tacit.privacy.guarantee import Adversary, Guarantee, NoiseSource, Scope, Status
from tacit.privacy.guarantees import Guarantees
from tacit.privacy.wording import ALONE, SEED, STANDING, STATUS, UNTUNED, brief_of
from tacit.types import Relation, Unit


def promise(**changes: Any) -> Guarantee:
    fields = {
        "owner": "north",
        "epsilon": 1.0,
        "delta": 1e-6,
        "unit": Unit.RECORD,
        "relation": Relation.REPLACE_ONE,
        "theorem": "Gaussian composition",
        "status": Status.PROVED,
        "noise": NoiseSource.SIMULATED,
        "releases": 200,
    }
    return Guarantee(**{**fields, **changes})


def model(**changes: Any) -> Guarantee:
    return promise(
        status=Status.MODEL,
        assumptions=("the iterates are normal",),
        reason="a bound on the variance stands in for the variance",
        **changes,
    )


def per_release(**changes: Any) -> Guarantee:
    return promise(status=Status.PER_RELEASE, scope=Scope.RELEASE, total_epsilon=812.34, **changes)


def exposed(**changes: Any) -> Guarantee:
    return promise(
        status=Status.NONE, epsilon=math.inf, delta=0.0, noise=NoiseSource.NONE, **changes
    )


def refuted(**changes: Any) -> Guarantee:
    claimed = model(**changes)
    return claimed.refuted(claimed.epsilon + 2.0, "at 95 % confidence, in 1,000 trials a side")


def test_what_anyone_may_learn_is_what_is_protected() -> None:
    assert exposed().sentence().endswith("may learn private records.")
    assert exposed(unit="agent").sentence().endswith("may learn private costs.")


def test_only_a_proof_with_secure_noise_is_a_certificate() -> None:
    assert promise(noise=NoiseSource.SECURE).certificate
    assert not promise().certificate
    assert not model(noise=NoiseSource.SECURE).certificate


def test_a_simulated_proof_says_what_that_means() -> None:
    said = promise().sentence()
    for part in ("north", "(200 releases)", "(1, 1e-6)-DP per record", "replace-one", "proved"):
        assert part in said, part
    assert "not a certificate" in said
    assert said.endswith(f"Assumed: {'; '.join(STANDING)}.")


def test_every_guarantee_rests_on_nothing_else_being_released() -> None:
    assert promise(noise=NoiseSource.SECURE).assumptions[-2:] == (UNTUNED, ALONE)
    assert model().assumptions[-3:] == (UNTUNED, ALONE, SEED)
    # once, and last, however often it is read and added to
    again = Guarantee.from_json(replace(promise(), assumptions=(SEED, "a", UNTUNED)).to_json())
    assert again.assumptions == ("a", *STANDING)
    assert replace(again, noise=NoiseSource.SECURE).assumptions == ("a", UNTUNED, ALONE)


def test_a_certificate_says_so() -> None:
    said = promise(noise=NoiseSource.SECURE).sentence()
    assert "this is a certificate" in said and "not a certificate" not in said


@pytest.mark.parametrize("noise", list(NoiseSource))
def test_a_model_claim_names_assumption_and_reason_in_the_sentence_of_its_epsilon(
    noise: NoiseSource,
) -> None:
    said = model(noise=noise).sentence()
    [stating] = [part for part in said.split(". ") if "-DP" in part]
    assert stating.startswith("Model claim, not a proof")
    assert "only if the iterates are normal" in stating
    assert "a bound on the variance stands in for the variance" in stating
    assert "is a certificate" not in said


def test_a_model_claim_says_each_assumption_once() -> None:
    made = model()
    said = made.sentence()
    for assumption in made.assumptions:
        assert said.count(assumption) == 1, assumption
    assert said.endswith(f"Also assumed: {'; '.join(STANDING)}.")


def test_a_claim_for_one_release_gives_the_total_in_the_same_sentence() -> None:
    said = per_release().sentence()
    [stating] = [part for part in said.split(". ") if "-DP" in part]
    assert stating.startswith("For one release only")
    assert "epsilon 812.4 at delta 1e-6" in stating


def test_a_refuted_claim_is_not_called_private() -> None:
    claimed = promise()
    broken = claimed.refuted(claimed.epsilon + 2.0, "at 95 % confidence, in 1,000 trials a side")
    said = broken.sentence()
    assert said.startswith("Refuted")
    assert "(at 95 % confidence, in 1,000 trials a side) that epsilon is at least" in said
    assert "-DP" not in said
    assert Guarantee.from_json(broken.to_json()) == broken
    assert Guarantees((claimed, broken)).worst is broken


def test_an_audit_below_the_claim_refutes_nothing() -> None:
    claimed = promise()
    with pytest.raises(PrivacyError, match="does not refute a claim"):
        claimed.refuted(claimed.epsilon, "at 95 % confidence")
    with pytest.raises(PrivacyError, match="go together"):
        promise(status=Status.REFUTED)
    with pytest.raises(PrivacyError, match="go together"):
        promise(measured_epsilon=9.0)


def test_no_guarantee_is_said_plainly() -> None:
    said = exposed().sentence()
    assert said.startswith("No guarantee for ") and "200 releases" in said
    assert "-DP" not in said


def test_a_person_at_several_sites_is_the_unit() -> None:
    said = promise(unit=Unit.PERSON, sites_per_person=3, records_per_person=2).sentence()
    assert "at most 2 records at each of at most 3 sites" in said


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"relation": Relation.ADD_REMOVE}, "per record under add/remove"),
        ({"unit": Unit.AGENT}, "per agent (its whole cost function) under replace-one"),
        ({"unit": Unit.PERSON, "records_per_person": 4}, "at most 4 records at one site"),
        ({"releases": 1}, "(1 release)"),
    ],
)
def test_unit_and_relation_in_words(changes: dict[str, Any], words: str) -> None:
    assert words in promise(**changes).sentence()


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"epsilon": -1.0}, "epsilon=-1.0"),
        ({"epsilon": math.nan}, "epsilon=nan"),
        ({"delta": 1.5}, "delta=1.5"),
        ({"releases": -1}, "releases=-1"),
        ({"sites_per_person": 0}, "sites_per_person=0"),
        ({"sites_per_person": 2}, "unit 'person'"),
        ({"epsilon": math.inf}, "infinite epsilon"),
        ({"status": Status.MODEL}, "needs the assumption"),
        ({"status": Status.PER_RELEASE}, "scope 'run'"),
        ({"scope": Scope.RELEASE}, "scope 'release'"),
        ({"status": Status.PER_RELEASE, "scope": Scope.RELEASE}, "total_epsilon"),
    ],
)
def test_contradictions_are_refused(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(PrivacyError, match=named):
        promise(**changes)


@pytest.mark.parametrize("made", [promise(), model(), per_release(), exposed()])
def test_json_keeps_everything_and_is_strict(made: Guarantee) -> None:
    text = made.to_json()
    assert Guarantee.from_json(text) == made
    assert "Infinity" not in text
    assert json.loads(text)["certificate"] is made.certificate


def test_an_infinite_epsilon_is_the_text_inf() -> None:
    assert exposed().to_dict()["epsilon"] == "inf"


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"format": 2}',
        '{"format": 1}',
        json.dumps({**promise().to_dict(), "status": "perfect"}),
        json.dumps({**promise().to_dict(), "surprise": 1}),
    ],
)
def test_what_is_no_guarantee_is_refused(text: str) -> None:
    with pytest.raises(PrivacyError, match=r"not a guarantee written by tacit|format"):
        Guarantee.from_json(text)


def test_equal_owners_share_one_sentence() -> None:
    both = Guarantees((promise(), promise(owner="south")))
    assert both.equal
    assert both.sentence().startswith("For each of the 2 agents: ")
    assert Guarantees((promise(),)).sentence() == promise().sentence()


def test_different_owners_are_listed_and_the_weakest_is_told_in_full() -> None:
    weak = promise(owner="south", epsilon=2.5)
    both = Guarantees((promise(), weak))
    assert both.worst is weak
    said = both.sentence()
    assert "epsilon from 1 to 2.5" in said
    assert "north: 1 at delta 1e-6 (proved), south: 2.5 at delta 1e-6 (proved)" in said
    assert weak.sentence() in said


def test_many_different_owners_are_not_all_listed() -> None:
    owners = tuple(promise(owner=f"o{i}", epsilon=1.0 + i) for i in range(25))
    assert "and 5 more in the table" in Guarantees(owners).sentence()


def test_the_weakest_status_comes_before_the_largest_epsilon() -> None:
    claim = model(epsilon=0.1)
    assert Guarantees((promise(epsilon=9.0), claim)).worst is claim


def test_certificate_needs_every_owner() -> None:
    secure = promise(noise=NoiseSource.SECURE)
    assert Guarantees((secure, secure)).certificate
    assert not Guarantees((secure, promise())).certificate


def test_a_table_has_one_row_an_owner() -> None:
    rows = Guarantees((promise(), exposed(owner="south"))).table()
    assert [row["owner"] for row in rows] == ["north", "south"]
    assert rows[0]["epsilon"] == 1.0
    assert rows[0]["unit"] == "record"
    assert rows[1]["status"] == "none"
    assert all(type(value) in (str, float, int, bool) for row in rows for value in row.values())


def test_requiring_a_status() -> None:
    Guarantees((promise(),)).require("proved")
    Guarantees((promise(), model())).require(Status.MODEL)
    with pytest.raises(PrivacyError, match="guarantee of north is 'model'"):
        Guarantees((promise(owner="south"), model())).require("proved")
    with pytest.raises(NonPrivateRelease, match="Give the method a privacy budget"):
        Guarantees((exposed(),)).require("proved")
    with pytest.raises(PrivacyError, match="unknown status 'perfect'"):
        Guarantees((promise(),)).require("perfect")


def test_a_collection_is_a_sequence_and_survives_json() -> None:
    both = Guarantees((promise(), exposed(owner="south")))
    assert len(both) == 2
    assert list(both) == [both[0], both[1]]
    assert Guarantees.from_json(both.to_json()) == both
    assert json.loads(both.to_json())["sentence"] == both.sentence()


def test_a_collection_without_owners_is_refused() -> None:
    with pytest.raises(PrivacyError, match="at least one owner"):
        Guarantees(())
    with pytest.raises(PrivacyError, match="no list 'owners'"):
        Guarantees.from_json('{"format": 1}')


@given(st.floats(0.0, 1e12, allow_subnormal=False))
def test_printed_numbers_are_never_smaller(value: float) -> None:
    printed = Decimal(rounded_up(value).replace(",", ""))
    assert printed >= Decimal(repr(value))
    assert printed <= Decimal(repr(value)) * Decimal("1.001001")


def test_infinity_is_a_word() -> None:
    assert rounded_up(math.inf) == "infinite"


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"observers": ("Oslo",)}, "does not fit 1 observers"),
        ({"adversary": Adversary.NEIGHBOUR}, "does not fit 0 observers"),
        ({"adversary": Adversary.COALITION, "observers": ("Oslo",)}, "does not fit 1 observers"),
        ({"adversary": Adversary.NEIGHBOUR, "observers": ("Oslo",)}, "'model', not 'proved'"),
    ],
)
def test_a_limited_adversary_is_named_and_never_proved(
    changes: dict[str, object], match: str
) -> None:
    with pytest.raises(PrivacyError, match=match):
        promise(**changes)


@pytest.mark.parametrize("made", [promise, model, per_release, refuted, exposed])
def test_a_few_words_of_a_sentence_have_its_status(made: Any) -> None:
    weak = made()
    # alone, of several that are equal, and as the weakest of several that differ
    for owners in ((weak,), (weak, replace(weak, owner="south")), (promise(epsilon=0.5), weak)):
        guarantees = Guarantees(owners)
        told = brief_of(guarantees.sentence())
        assert f", {STATUS[weak.status]}" in f", {told}"
        assert ("-DP per record" in told) == (weak.status not in ("none", "refuted"))
        assert ("simulated noise" in told) == (weak.noise == "simulated")
    assert brief_of("nothing") == ""
