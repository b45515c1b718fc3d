"""Running study files: `assemble` builds what a file describes, `execute` runs it."""

from tacit.study.execute import Assembled, Outcome, assemble, execute

__all__ = ["Assembled", "Outcome", "assemble", "execute"]
