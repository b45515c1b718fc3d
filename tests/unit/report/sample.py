"""A report as a run on eight hospitals would fill it in."""

import math
from typing import Any

from tacit.report import NetworkPicture, ReportData


def sample(**changes: Any) -> ReportData:
    """The data of a report, with some fields replaced."""
    sites = [f"site {i + 1}" for i in range(8)]
    rounds = list(range(0, 121, 4))
    fields: dict[str, Any] = {
        "title": "Any outpatient visit: eight sites, one model",
        "summary": (
            "Eight sites on a ring fitted a logistic regression without pooling their records.",
            "The data have no site column: the sites were drawn at random.",
        ),
        "findings": ("On held-out records the agreed model reaches an AUC of 0.669.",),
        "guarantee_sentence": "Everything that a site sends is (1, 1e-6)-differentially private.",
        "guarantee_status": "proved",
        "noise": "simulated",
        "status": "finished",
        "seconds": 12.4,
        "assumptions": ("The number of records of every site is public.",),
        "guarantee_table": [
            {
                "owner": site,
                "epsilon": 1.0,
                "delta": 1e-6,
                "unit": "record",
                "relation": "replace one",
                "records": 2019,
                "noise_multiplier": 49.83,
            }
            for site in sites
        ],
        "epsilon_budget": 1.0,
        "network": NetworkPicture(
            sites, [(i, (i + 1) % 8) for i in range(8)], "ring", facts={"Spectral gap": 0.195}
        ),
        "phases": [
            {
                "phase": "gradient step",
                "sender": "peer",
                "query": "gradient of its own records, each clipped",
                "release": "noised gradient",
                "receiver": "its neighbours",
                "mechanism": "Gaussian",
                "sensitivity": 2 / 2019,
                "noise_scale": 0.04936,
                "charged": 120,
            }
        ],
        "history": {
            "round": rounds,
            "objective_gap": [0.6 * 0.93**r + 0.002 for r in rounds],
            "distance": [2 * 0.96**r + 0.05 for r in rounds],
            "consensus": [0.02 * math.exp(-r / 40) * math.tanh(r) for r in rounds],
            "evaluations": [2019 * r for r in rounds],
            "bytes": [160 * r for r in rounds],
            "epsilon": [math.sqrt(r / 120) for r in rounds],
        },
        "accuracy": [
            {"name": "pooled, no privacy", "auc": 0.671, "log_loss": 0.5871},
            {"name": "agreed by the sites", "auc": 0.669, "log_loss": 0.5902},
            {"name": "base rate", "auc": 0.5, "log_loss": 0.6183},
        ],
        "coefficients": [
            {"feature": "log coinsurance", "agreed": -0.3125, "pooled": -0.3},
            {"feature": "chronic diseases", "agreed": 0.42, "pooled": 0.44},
        ],
        "files": ("model.npz", "guarantee.json"),
        "environment": {"tacit": "0.2.0.dev5", "Machine": "Linux x86_64, 2 cores", "Seed": "20190"},
    }
    return ReportData(**{**fields, **changes})
