"""Methods of distributed optimisation, one file each."""

from tacit.method.d_zoa import DZOA
from tacit.method.d_zoa_claim import PaperClaim
from tacit.method.d_zoa_solver import DZOASolver
from tacit.method.dgd import DGD
from tacit.method.dpsg import DPSG
from tacit.method.extra import EXTRA
from tacit.method.fed_avg import FedAvg
from tacit.method.gradient_descent import GradientDescent
from tacit.method.gradient_tracking import GradientTracking
from tacit.method.phase import AbstractMethod, Phase

__all__ = [
    "DGD",
    "DPSG",
    "DZOA",
    "EXTRA",
    "AbstractMethod",
    "DZOASolver",
    "FedAvg",
    "GradientDescent",
    "GradientTracking",
    "PaperClaim",
    "Phase",
]
