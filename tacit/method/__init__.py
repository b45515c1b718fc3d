"""Methods of distributed optimisation, one file each."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tacit.checks import absent

if TYPE_CHECKING:
    from tacit.method._dp_iadmm_step import GrowingPenalty
    from tacit.method.admm import ADMM
    from tacit.method.answer import Answer, Minimiser, Refused
    from tacit.method.coefficients import Checks, CoefficientTable, Wald
    from tacit.method.comparison import Comparison
    from tacit.method.counts import CountTable, PrivateCounts
    from tacit.method.cox import PrivateCox
    from tacit.method.cox_answer import HazardRatios
    from tacit.method.d_zoa import DZOA
    from tacit.method.d_zoa_claim import PaperClaim
    from tacit.method.d_zoa_solver import DZOASolver
    from tacit.method.d_zoa_star import DZOAStar
    from tacit.method.dgd import DGD
    from tacit.method.dp_admm import DPADMM
    from tacit.method.dp_fed_sgd import DPFedSGD
    from tacit.method.dp_iadmm_prox import DPIADMMProx
    from tacit.method.dp_iadmm_trust import DPIADMMTrust
    from tacit.method.dpsg import DPSG
    from tacit.method.extra import EXTRA
    from tacit.method.fed_avg import FedAvg
    from tacit.method.fed_prox import FedProx
    from tacit.method.fitted import FittedRegression, load_regression
    from tacit.method.fitted_hazards import FittedHazards
    from tacit.method.fitted_model import FittedModel, load_model
    from tacit.method.functional import FunctionalPerturbation
    from tacit.method.functional_ball import RecordBall, record_ball
    from tacit.method.functional_basis import LegendreBasis, QuadraticBasis
    from tacit.method.functional_distance import (
        RecordDistance,
        metric_epsilon,
        record_distance,
    )
    from tacit.method.functional_projection import CurvatureBounds
    from tacit.method.glm import PrivateGLM
    from tacit.method.gradient_descent import GradientDescent
    from tacit.method.gradient_tracking import GradientTracking
    from tacit.method.hazards_file import load_hazards
    from tacit.method.masked_gossip import MaskedGossip
    from tacit.method.or_zo import ORZO
    from tacit.method.outp import OutP
    from tacit.method.pdop import PDOP
    from tacit.method.phase import AbstractMethod, Phase
    from tacit.method.preconditioned_descent import PreconditionedDescent
    from tacit.method.pvp import PVP
    from tacit.method.rounds import Rounds
    from tacit.method.survival import PrivateSurvival
    from tacit.method.survival_answer import SurvivalCurves
    from tacit.method.table_one import PrivateTableOne
    from tacit.method.table_one_answer import TableOne
    from tacit.method.zoo_admm import ZOOADMM

_HOMES = {
    "ADMM": "admm",
    "DGD": "dgd",
    "DPADMM": "dp_admm",
    "DPSG": "dpsg",
    "DZOA": "d_zoa",
    "EXTRA": "extra",
    "ORZO": "or_zo",
    "PDOP": "pdop",
    "PVP": "pvp",
    "ZOOADMM": "zoo_admm",
    "AbstractMethod": "phase",
    "Answer": "answer",
    "Checks": "coefficients",
    "CoefficientTable": "coefficients",
    "Comparison": "comparison",
    "CountTable": "counts",
    "CurvatureBounds": "functional_projection",
    "DPFedSGD": "dp_fed_sgd",
    "DPIADMMProx": "dp_iadmm_prox",
    "DPIADMMTrust": "dp_iadmm_trust",
    "DZOASolver": "d_zoa_solver",
    "DZOAStar": "d_zoa_star",
    "FedAvg": "fed_avg",
    "FedProx": "fed_prox",
    "FittedHazards": "fitted_hazards",
    "FittedModel": "fitted_model",
    "FittedRegression": "fitted",
    "FunctionalPerturbation": "functional",
    "GradientDescent": "gradient_descent",
    "GradientTracking": "gradient_tracking",
    "GrowingPenalty": "_dp_iadmm_step",
    "HazardRatios": "cox_answer",
    "LegendreBasis": "functional_basis",
    "MaskedGossip": "masked_gossip",
    "Minimiser": "answer",
    "OutP": "outp",
    "PaperClaim": "d_zoa_claim",
    "Phase": "phase",
    "PreconditionedDescent": "preconditioned_descent",
    "PrivateCounts": "counts",
    "PrivateCox": "cox",
    "PrivateGLM": "glm",
    "PrivateSurvival": "survival",
    "PrivateTableOne": "table_one",
    "QuadraticBasis": "functional_basis",
    "RecordBall": "functional_ball",
    "RecordDistance": "functional_distance",
    "Refused": "answer",
    "Rounds": "rounds",
    "SurvivalCurves": "survival_answer",
    "TableOne": "table_one_answer",
    "Wald": "coefficients",
    "load_hazards": "hazards_file",
    "load_model": "fitted_model",
    "load_regression": "fitted",
    "metric_epsilon": "functional_distance",
    "record_ball": "functional_ball",
    "record_distance": "functional_distance",
}
"""The module that defines each public name; it is imported when the name is first used."""

__all__ = [
    "ADMM",
    "DGD",
    "DPADMM",
    "DPSG",
    "DZOA",
    "EXTRA",
    "ORZO",
    "PDOP",
    "PVP",
    "ZOOADMM",
    "AbstractMethod",
    "Answer",
    "Checks",
    "CoefficientTable",
    "Comparison",
    "CountTable",
    "CurvatureBounds",
    "DPFedSGD",
    "DPIADMMProx",
    "DPIADMMTrust",
    "DZOASolver",
    "DZOAStar",
    "FedAvg",
    "FedProx",
    "FittedHazards",
    "FittedModel",
    "FittedRegression",
    "FunctionalPerturbation",
    "GradientDescent",
    "GradientTracking",
    "GrowingPenalty",
    "HazardRatios",
    "LegendreBasis",
    "MaskedGossip",
    "Minimiser",
    "OutP",
    "PaperClaim",
    "Phase",
    "PreconditionedDescent",
    "PrivateCounts",
    "PrivateCox",
    "PrivateGLM",
    "PrivateSurvival",
    "PrivateTableOne",
    "QuadraticBasis",
    "RecordBall",
    "RecordDistance",
    "Refused",
    "Rounds",
    "SurvivalCurves",
    "TableOne",
    "Wald",
    "load_hazards",
    "load_model",
    "load_regression",
    "metric_epsilon",
    "record_ball",
    "record_distance",
]


if not TYPE_CHECKING:  # type checkers read the names above; this would let any name pass

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise absent(__name__, name, __all__)
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)

    def __dir__() -> list[str]:
        return __all__
