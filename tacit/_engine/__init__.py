"""From problem, network and method to a result: contract, compiled run, simulation, guarantee.

`send` and `receive`, for one agent, apply mechanisms and carry messages. The
batched simulation and the exact engine share these two; nothing else applies a mechanism.
"""

from tacit._engine.step import context_of, receive, send

__all__ = ["context_of", "receive", "send"]
