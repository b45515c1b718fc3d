from pathlib import Path

import pytest

from tacit.errors import ConfigError, NetworkError, PrivacyError, ProblemError, RuntimeFailure
from tacit.study import parse_study, read_study
from tacit.study._described.catalogue import METHODS
from tacit.study._grammar.explain import descriptions
from tacit.study.build import build_method
from tacit.study.model import Study
from tests.end_to_end.study import STUDY, changed


def test_a_study_is_read_with_its_defaults() -> None:
    source = parse_study(STUDY)
    assert source.study.run.rounds == 20
    assert source.study.run.trials == 1
    assert source.study.privacy is not None
    assert source.study.privacy.sites_per_person == 1
    assert source.study.problem.constraint.kind == "free"
    assert source.text == STUDY


def test_a_study_cannot_be_changed() -> None:
    study = parse_study(STUDY).study
    with pytest.raises(ValueError, match="frozen"):
        study.run.rounds = 3


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('title = "Visits"', 'notes = "one"', r"study.toml:1: \[notes\] 'one' must be a list"),
        ("seed = 0", "seed = true", r"study.toml:33: \[run\] seed: True must be a whole number"),
        (
            "step = 0.5",
            "step = nan",
            r"study.toml:26: \[method\] step: nan must be a finite number",
        ),
        ('"drop"', '"dorp"', r"study.toml:4: \[data\] missing: 'dorp' must be"),
        ('kind = "boolean"', 'kind = "bool"', r"study.toml:12: .* did you mean 'boolean'\?"),
        ('title = "Visits"', "title = 3", r"study.toml:1: \[title\] 3 must be text in quotes"),
        ('by = "column"\n', "", r"study.toml:16: \[partition\] needs the key by"),
        ("[run]\nrounds = 20\nseed = 0\n", "", r"\[run\] is missing; add a section \[run\]"),
        ("[run]", "[run]\nplan = [1]", r"study.toml:32: \[run\] plan: unknown key"),
        (
            "[run]",
            "[run]\nmetrics = 'a:b'",
            r"study.toml:32: \[run\] metrics: 'a:b' must be a table",
        ),
        ("clip = 1.0", "clip = []", "must be a number, a list with one number a site"),
        ("clip = 1.0", "clip = { a = 'b' }", "must be a number, a list with one number a site"),
        (
            "clip = 1.0",
            "clip = 1.0\nmasks = 3",
            r"study.toml:31: \[privacy\] masks: 3 must be true",
        ),
        (
            "clip = 1.0",
            "clip = 1.0\nmasks = { colition = 1 }",
            r"study.toml:31: \[privacy.masks\] colition: unknown key; did you mean 'coalition'\?",
        ),
        (
            "clip = 1.0",
            "clip = 1.0\n[privacy.masks]\nattempts = 1.5",
            r"study.toml:32: \[privacy.masks\] attempts: 1.5 must be a whole number",
        ),
        (
            'graph = "ring"',
            'graph = "tree"\ntail = 4',
            r"study.toml:24: \[network\] tail: unknown key; possible here: weights, varying, "
            r"exact_sum, branching$",
        ),
        (
            'graph = "ring"',
            "edges = [[0, 1], [1, 2.5]]",
            r"study.toml:23: .*2.5 must be a whole number",
        ),
    ],
)
def test_mistakes_are_explained(old: str, new: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse_study(changed(old, new))


def test_a_missing_key_is_explained_in_the_words_of_its_own_method() -> None:
    with pytest.raises(ConfigError, match=r"step: is missing; add step = ...") as error:
        parse_study(changed("step = 0.5\n", ""))
    [step] = [each for each in METHODS["dpsg"].parameters if each.name == "step"]
    assert f"({step.text})" in str(error.value) and "rho" not in str(error.value)
    inner = 'name = "functional-perturbation"\ninner = { name = "extra" }'
    with pytest.raises(ConfigError) as error:
        parse_study(changed('name = "dpsg"\nstep = 0.5', inner))
    [step] = [each for each in METHODS["extra"].parameters if each.name == "step"]
    assert f"[method.inner] step: is missing; add step = ... ({step.text})" in str(error.value)
    assert '{ kind = "quadratic", lower = ' in str(error.value)  # the basis, as a study has it


def test_what_a_method_refuses_of_a_budget_stands_in_its_section() -> None:
    inner = """name = "functional-perturbation"
inner = { name = "dgd", step = 0.1 }
basis = { kind = "quadratic", lower = [-1, -1, -1, -1], upper = [1, 1, 1, 1] }"""
    source = parse_study(changed('name = "dpsg"\nstep = 0.5', inner))
    with pytest.raises(ConfigError, match=r"\[privacy\] noise='gaussian': .* noise='laplace'"):
        build_method(source, ("a", "b"))


def test_a_study_that_asks_for_dvp_is_told_why_there_is_none() -> None:
    with pytest.raises(ConfigError, match=r"'dvp' has no certified mode.*Jacobian.*Use 'pvp'"):
        parse_study(changed('name = "dpsg"', 'name = "dvp"'))


def test_an_edge_list_needs_no_graph() -> None:
    study = parse_study(changed('graph = "ring"', 'edges = [[0, 1], ["a", "b"]]')).study
    assert getattr(study.network, "edges", None) == ((0, 1), ("a", "b"))


def test_errors_of_deeper_parts_point_at_the_key_that_they_name() -> None:
    source = parse_study(STUDY)
    with (
        pytest.raises(ConfigError, match=r"study.toml:28: \[privacy\] epsilon: -1 must"),
        source.section("privacy"),
    ):
        raise PrivacyError("epsilon=-1 must be positive")
    with (
        pytest.raises(ConfigError, match=r"study.toml:5: \[data.features\] age: column 'age' is"),
        source.section("data"),
    ):
        raise ProblemError("column 'age' is not numeric")
    with (
        pytest.raises(ConfigError, match=r"study.toml:27: \[privacy\] the budget"),
        source.section("privacy"),
    ):
        raise PrivacyError("the budget cannot be met")


def test_errors_may_name_a_table_and_a_key_in_it() -> None:
    source = parse_study(changed("clip = 1.0", "clip = 1.0\nmasks = { coalition = 2 }"))
    for message, where in (
        ("masks: coalition=2 is wrong", r"\[privacy.masks\] coalition: 2 is wrong"),
        ("masks: min_cohort=2 is wrong", r"\[privacy\] masks: min_cohort=2"),
        ("masks: too many", r"\[privacy\] masks: too"),
        ("masks cancel in a sum", r"\[privacy\] masks cancel"),
    ):
        with (
            pytest.raises(ConfigError, match=rf"study.toml:\d+: {where}"),
            source.section("privacy"),
        ):
            raise PrivacyError(message)


def test_a_key_in_a_table_of_the_section_has_its_own_line() -> None:
    source = parse_study(STUDY)
    line = STUDY.splitlines().index('positive = "> 0"') + 1
    with (
        pytest.raises(ConfigError, match=rf"study.toml:{line}: \[data.target\] positive: 'x' is"),
        source.section("data"),
    ):
        raise ProblemError("positive='x' is no answer")


def test_an_error_is_placed_once() -> None:
    source = parse_study(STUDY)
    with (
        pytest.raises(ConfigError) as caught,
        source.section("run"),
        source.section("data"),
    ):
        raise ProblemError("wrong")
    assert str(caught.value) == "study.toml:2: [data] wrong"


@pytest.mark.parametrize(
    ("error", "section"),
    [
        (ProblemError("x"), r"\[problem\]"),
        (NetworkError("x"), r"\[network\]"),
        (PrivacyError("x"), r"\[privacy\]"),
        (ConfigError("x"), r"\[run\]"),
    ],
)
def test_blame_follows_the_kind_of_error(error: Exception, section: str) -> None:
    with pytest.raises(ConfigError, match=section), parse_study(STUDY).blamed():
        raise error


def test_a_failure_of_the_run_is_nobodys_mistake() -> None:
    with pytest.raises(RuntimeFailure, match=r"^disk$"), parse_study(STUDY).blamed():
        raise RuntimeFailure("disk")


def test_relative_paths_start_at_the_study_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(STUDY)
    source = read_study(path)
    assert source.folder == tmp_path
    assert source.name == "mine.toml"


def test_every_key_is_described() -> None:
    for section, keys in descriptions(Study).items():
        for key, meaning in keys.items():
            assert meaning or (section, key) in {
                ("method", "epsilon"),
                ("method", "delta"),
            }, f"[{section}] {key} has no description"
