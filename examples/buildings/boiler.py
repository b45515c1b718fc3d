"""A building with a boiler, as a program: prints the cost of a day for a setting.

It gets {"x": [temperature, flow], "agent": 0} on its standard input. NEED says how much heat it
needs, from 0 to 1.
"""

import json
import math
import os
import sys


def day(temperature: float, flow: float, need: float) -> float:
    """The cost of 24 hours: discomfort, and what is spent."""
    inside, cost = need, 0.0
    for hour in range(24):
        cold = 0.3 + 0.2 * math.cos(2 * math.pi * hour / 24)
        inside += 0.5 * (temperature * math.sqrt(flow + 0.01) - cold * inside)
        cost += (inside - need) ** 2 / 8 + 0.01 * temperature + 0.01 * flow**2
    return cost


temperature, flow = json.load(sys.stdin)["x"]
print(day(temperature, flow, float(os.environ["NEED"])))
