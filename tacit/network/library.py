"""NetworkX, which is an extra: it draws graphs at random and finds places for their agents."""

from __future__ import annotations

from types import ModuleType

from tacit.errors import NetworkError


def networkx_for(what: str) -> ModuleType:
    """NetworkX.

    Args:
        what: what it is needed for.

    Raises:
        NetworkError: it is not installed.
    """
    try:
        import networkx
    except ImportError as error:
        raise NetworkError(
            f"{what} needs networkx; install it with: pip install 'tacit[graphs]'"
        ) from error
    return networkx
