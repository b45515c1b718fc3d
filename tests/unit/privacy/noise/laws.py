"""The law that the sampler draws, from its thresholds, and the law that it should draw."""

from collections.abc import Iterator
from decimal import Decimal

from tacit.privacy.noise.gaussian import GaussianLaw
from tacit.privacy.noise.laplace import LaplaceLaw
from tacit.privacy.noise.proposals import Law, high_bits, keeping_threshold


def proposed(law: Law) -> Iterator[tuple[int, int, Decimal]]:
    """Size, low part and probability of every proposal without its sign, in the open context."""
    shift, thresholds = high_bits(law.spread)
    high = [Decimal(1)]
    for threshold in thresholds:
        one = Decimal(threshold) / 2**144
        high = [p * (1 - one) for p in high] + [p * one for p in high]
    for number, p in enumerate(high):
        for low in range(2**shift):
            yield (number << shift) + low, low, p / 2**shift


def kept(law: Law) -> dict[int, Decimal]:
    """Probability that a proposal is each size and kept; both signs of a size together."""
    return {
        size: p * (Decimal("0.5") if size == 0 else 1) * keeping_threshold(law, size, low) / 2**181
        for size, low, p in proposed(law)
    }


def distance(law: Law, weights: dict[int, Decimal]) -> Decimal:
    """Total variation between what is drawn and a law with weights, given for both signs."""
    drawn = kept(law)
    total, of = sum(drawn.values()), sum(weights.values())
    return sum((abs(drawn[k] / total - weights[k] / of) for k in drawn), Decimal(0)) / 2


def weights(law: LaplaceLaw | GaussianLaw, sizes: list[int]) -> dict[int, Decimal]:
    """Both signs of each size together, up to a factor."""
    scale = Decimal(law.spread if isinstance(law, LaplaceLaw) else law.scale)

    def weight(k: int) -> Decimal:
        x = Decimal(k) / scale
        return (-(x * x) / 2 if isinstance(law, GaussianLaw) else -x).exp() * (1 if k == 0 else 2)

    return {k: weight(k) for k in sizes}
