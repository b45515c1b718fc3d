"""What to cite for a method, and answers in LaTeX."""

from __future__ import annotations

import re
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

import tacit
from tacit import Privacy, network, problem
from tacit.method import (
    ADMM,
    DGD,
    EXTRA,
    FunctionalPerturbation,
    GradientDescent,
    GradientTracking,
)
from tacit.method.citation import bibtex, papers_of
from tacit.method.latex import noted, table, tabular
from tacit.privacy import Masks
from tests.public_calls import methods

ROOT = Path(__file__).parents[3]


def test_a_method_names_its_papers_and_those_of_methods_inside_it() -> None:
    assert papers_of(ADMM()) == ("Shi et al. (2014)",)
    assert papers_of(DGD(step=0.1)) == ("Nedic, Ozdaglar (2009)",)
    (outer,) = [each for each in methods() if each.target is FunctionalPerturbation]
    found = papers_of(outer.target(**outer.given))
    assert found[0] == "Nozari, Tallapragada, Cortes (2018)"
    assert found[-1] == "Nedic, Ozdaglar (2009)"


def test_masks_name_their_paper_too() -> None:
    budget = Privacy(clip=1.0, epsilon=1.0, masks=Masks())
    masked = papers_of(GradientDescent(step=0.1, privacy=budget))
    plain = papers_of(GradientDescent(step=0.1, privacy=replace(budget, masks=None)))
    assert masked == (*plain, "Bonawitz et al. (2017)")


def test_every_paper_of_every_method_has_an_entry() -> None:
    named = {
        paper
        for each in methods()
        if isinstance(each.target, type)
        for paper in papers_of(each.target(**each.given))
    }
    assert len(named) >= 10
    text = bibtex(sorted(named))
    keys = re.findall(r"@\w+\{(\w+),", text)
    assert len(keys) == len(set(keys)) == len(named) + 1
    assert text.count("{") == text.count("}")


def test_entries_are_bibtex() -> None:
    assert bibtex(["Allouah et al. (2024)", "Bonawitz et al. (2017)"]).split("\n\n")[0] == (
        "@inproceedings{allouahetal2024,\n"
        "  author = {Allouah, Youssef and Koloskova, Anastasia and El Firdoussi, Aymane and Jaggi, "
        "Martin and Guerraoui, Rachid},\n"
        "  title = {The Privacy Power of Correlated Noise in Decentralized Learning},\n"
        "  year = {2024},\n"
        "  booktitle = {Proceedings of the 41st International Conference on Machine Learning},\n"
        "  series = {Proceedings of Machine Learning Research},\n"
        "  volume = {235},\n"
        "}"
    )
    assert bibtex(["Gratton et al. (2021)"]).split("\n\n")[0] == (
        "@article{grattonetal2021,\n"
        "  author = {Gratton, Cristiano and Venkategowda, Naveen K. D. and Arablouei, Reza and "
        "Werner, Stefan},\n"
        "  title = {Privacy-Preserved Distributed Learning with Zeroth-Order Optimization},\n"
        "  year = {2022},\n"
        "  journal = {IEEE Transactions on Information Forensics and Security},\n"
        "  volume = {17},\n"
        "  pages = {265--279},\n"
        "  doi = {10.1109/TIFS.2021.3139267},\n"
        "}"
    )
    for method, place in (
        (EXTRA(step=0.1), ("25", "2", "944--966")),
        (GradientTracking(step=0.1), ("27", "4", "2597--2633")),
    ):
        entry = bibtex(papers_of(method)).split("\n\n")[0]
        assert entry.startswith("@article{") and "{SIAM Journal on Optimization}" in entry
        volume, number, pages = place
        assert f"volume = {{{volume}}},\n  number = {{{number}}},\n  pages = {{{pages}}}" in entry
    assert "author = {Bonawitz, Keith and others}" in bibtex(["Bonawitz et al. (2017)"])
    assert "title = {{DP}-{ADMM}: {ADMM}-Based Distributed" in bibtex(["Huang et al. (2020)"])
    with pytest.raises(KeyError):
        bibtex(["Nobody (2000)"])


def test_authors_have_all_their_names() -> None:
    """In `bibtex` as in `authors`, and as in tacit's own file where that has the paper."""
    listed = tomllib.loads((ROOT / "tacit" / "papers" / "papers.toml").read_text(encoding="utf-8"))
    own = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    people = {
        (each["title"], str(each["year"])): " and ".join(
            f"{one['family-names']}, {one['given-names']}" for one in each["authors"]
        )
        for each in own["references"]
    }
    for paper in listed["paper"]:
        written = paper["bibtex"]["author"]
        names = written.removesuffix(" and others").split(" and ")
        assert [name.split(", ")[0] for name in names] == (
            paper["authors"].removesuffix(" et al.").split(", ")
        )
        assert all(name.count(", ") == 1 for name in names), names
        year = paper["bibtex"].get("year") or paper["cite"][-5:-1]
        assert people.pop((paper["title"], year), written) == written
    assert not people


def test_tacit_is_cited_as_its_own_file_says() -> None:
    said = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    title, version, dated = (
        re.findall(rf'^{key}: "?(.*?)"?$', said, re.MULTILINE)[0]
        for key in ("title", "version", "date-released")
    )
    assert f"title = {{{title}}}" in bibtex([])
    assert f"version {version}" in bibtex([])
    assert f"year = {{{dated[:4]}}}" in bibtex([])


def test_a_result_can_be_cited_and_printed_in_latex() -> None:
    rng = np.random.default_rng(0)
    features = [rng.normal(size=(20, 2)) for _ in range(3)]
    task = problem.empirical_risk(
        features,
        [x.sum(axis=1) for x in features],
        problem.Squared(),
        feature_names=["a_b", "50 %"],
    )
    result = tacit.run(task, network.ring(3), DGD(step=0.1), rounds=2)
    assert result.papers == ("Nedic, Ozdaglar (2009)",)
    assert result.cite() == bibtex(result.papers)
    lines = result.to_latex().splitlines()
    assert lines[0] == r"\begin{tabular}{lr}"
    assert lines[2] == r"Parameter & Value \\"
    assert lines[4].startswith(r"a\_b & 0.") and lines[5].startswith(r"50 \% & 0.")
    assert lines[-3:] == [
        r"\multicolumn{2}{l}{no guarantee} \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]


def test_a_note_stands_below_any_table() -> None:
    whole = table(["", "n"], [["age", "3"]], "of 5 %")
    assert whole.count(r"\midrule") == 2 and r"\multicolumn{2}{l}{of 5 \%} \\" in whole
    assert noted(whole, "proved").splitlines()[-4:-2] == [
        r"\midrule",
        r"\multicolumn{2}{l}{proved} \\",
    ]
    assert noted("\\begin{longtable}", "proved") == "% proved\n\\begin{longtable}"


def test_a_frame_in_latex() -> None:
    frame = pd.DataFrame(
        {"level": ["a&b", "c"], "count": [3, -4], "share": [0.25, np.nan], "note": ["5 %", "<"]}
    )
    assert tabular(frame).splitlines()[2:6] == [
        r"Level & Count & Share & Note \\",
        r"\midrule",
        r"a\&b & 3 & 0.2500 & 5 \% \\",
        r"c & $-4$ &  & $<$ \\",
    ]
