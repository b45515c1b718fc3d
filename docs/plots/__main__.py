"""Make all plots, or those that are named: `python -m docs.plots dpsg pdop`."""

from __future__ import annotations

import argparse
import time

from docs.plots.examples import EXAMPLES
from docs.plots.front import FRONT
from docs.plots.gallery import GALLERY
from docs.plots.methods import METHODS
from docs.plots.page import DOCS


def main() -> None:
    """Make them, one after the other."""
    plots = {f"{folder}/{name}": draw for folder, found in (
        ("front", FRONT), ("methods", METHODS), ("examples", EXAMPLES), ("gallery", GALLERY)
    ) for name, draw in found.items()}  # fmt: skip
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("names", nargs="*", help=f"of {', '.join(plots)}")
    for name in parser.parse_args().names or plots:
        path = DOCS / "images" / f"{name}.svg"
        path.parent.mkdir(parents=True, exist_ok=True)
        began = time.perf_counter()
        plots[name](path)
        print(f"{path.relative_to(DOCS.parent)}  {time.perf_counter() - began:.1f} s", flush=True)


if __name__ == "__main__":
    main()
