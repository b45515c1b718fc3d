"""Advice for five settings, from hopeless to easy, with the seconds that each takes.

Five sites on a ring, ten parameters, squared loss, delta 1e-6 under replace-one: the sum over the
sites of the normalised squared errors, in which answering zero scores 5. Times depend on what else
the machine does; processor seconds stand beside.

    python benchmarks/advise.py
"""

import time

from tacit import network
from tacit.advise import Setting, advise
from tacit.privacy import Privacy

CASES = ((20, 1.7), (200, 1.72), (2000, 1.72), (200, 14.27), (2000, 14.27))


def main() -> None:
    print("records  epsilon  closed form  d-zoa    dpsg     verdict   seconds  processor")
    for records, epsilon in CASES:
        wall, processor = time.monotonic(), time.process_time()
        budget = Privacy(clip=1.0, epsilon=epsilon, delta=1e-6)
        advice = advise(Setting(records, 10, network.ring(5), budget))
        summed = {each.method: 5 * each.error for each in advice.measured}
        print(
            f"{records:7d}  {epsilon:7.2f}  {5 * advice.estimate.error:11.2g}"
            f"  {summed['d-zoa']:<7.2g}  {summed['dpsg']:<7.2g}  {advice.verdict.value:8s}"
            f"  {time.monotonic() - wall:7.1f}  {time.process_time() - processor:9.1f}"
        )


if __name__ == "__main__":
    main()
