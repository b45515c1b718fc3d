"""What draws is an extra: a page without it has its text and tables, a figure cannot be made."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, ParamSpec

from tacit.errors import ConfigError

if TYPE_CHECKING:
    import plotly.graph_objects as go

P = ParamSpec("P")


def can_draw() -> bool:
    """Whether Plotly is installed, and NetworkX, which finds places for agents."""
    return None not in map(find_spec, ("plotly", "networkx"))


def blank() -> go.Figure:
    """An empty figure.

    Raises:
        ConfigError: Plotly is not installed.
    """
    try:
        import plotly.graph_objects as go
    except ImportError as error:
        raise ConfigError(
            "figures need plotly; install it with: pip install 'tacit[report]'"
        ) from error
    return go.Figure()


def for_page(draw: Callable[P, go.Figure], *args: P.args, **kwargs: P.kwargs) -> go.Figure | None:
    """A figure for a page, which does without it if it cannot be drawn.

    Args:
        draw: function that draws it.
        args: its arguments.
        kwargs: its arguments by name.
    """
    return draw(*args, **kwargs) if can_draw() else None


def without_figures() -> str:
    """What to add to a line about a page: its lack of figures, or nothing."""
    return "" if can_draw() else " (without figures: pip install 'tacit[report]')"
