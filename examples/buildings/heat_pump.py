"""Buildings with heat pumps, as functions of Python: the cost of a setting in each."""

import numpy as np


def library(x: np.ndarray, agent: int) -> float:
    """Little heat is needed."""
    return _cost(x, need=0.3, price=0.3)


def bakery(x: np.ndarray, agent: int) -> float:
    """Its ovens heat it."""
    return _cost(x, need=0.2, price=0.2)


def offices(x: np.ndarray, agent: int) -> float:
    """They are large, and heat is dear."""
    return _cost(x, need=0.7, price=0.5)


def _cost(x: np.ndarray, need: float, price: float) -> float:
    temperature, flow = x
    heat = temperature * flow
    return float(4 * (heat - need) ** 2 + price * (temperature**2 + flow**2))
