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
from tacit.method.pdop import PDOP
from tacit.method.pdop_printed import PDOPPrinted
from tacit.method.pdop_tuning import PDOPConstants, tune_pdop
from tacit.method.phase import AbstractMethod, Phase

__all__ = [
    "DGD",
    "DPSG",
    "DZOA",
    "EXTRA",
    "PDOP",
    "AbstractMethod",
    "DZOASolver",
    "FedAvg",
    "GradientDescent",
    "GradientTracking",
    "PDOPConstants",
    "PDOPPrinted",
    "PaperClaim",
    "Phase",
    "tune_pdop",
]
