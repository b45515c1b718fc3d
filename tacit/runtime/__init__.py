"""Where mechanisms are applied and messages carried: `send` and `receive` for one agent.

The batched simulation and the exact engine share these two; nothing else applies a mechanism.
"""

from tacit.runtime.agent import context_of, receive, send

__all__ = ["context_of", "receive", "send"]
