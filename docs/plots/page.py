"""What the worked example of a page defines."""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from types import SimpleNamespace

DOCS = Path(__file__).parents[1]
_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def example(page: str, *names: str, section: str = "") -> SimpleNamespace:
    """Run the example of a page of `docs/methods` up to where all `names` are defined.

    Args:
        page: its name.
        names: what to take from it.
        section: title of the section to begin with; by default the first.

    Raises:
        LookupError: the page defines less.
    """
    found: dict[str, object] = {}
    text = (DOCS / "methods" / f"{page}.md").read_text(encoding="utf-8")
    for block in _BLOCK.findall(text[text.index(section) :]):
        for one in doctest.DocTestParser().get_examples(block):
            exec(one.source, found)
            if found.keys() >= set(names):
                return SimpleNamespace(**{name: found[name] for name in names})
    raise LookupError(f"{page}.md does not define {sorted(set(names) - found.keys())}")


def everything(page: str) -> dict[str, object]:
    """What all code of a page defines.

    Args:
        page: its path below `docs`, without the ending.
    """
    found: dict[str, object] = {}
    for block in _BLOCK.findall((DOCS / f"{page}.md").read_text(encoding="utf-8")):
        sessions = [one.source for one in doctest.DocTestParser().get_examples(block)]
        for source in sessions or [block]:
            exec(source, found)
    return found
