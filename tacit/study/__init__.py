"""Running study files: `assemble` builds what a file describes, `execute` runs it.

`account` says what it guarantees without running it, and `mean_noise` what masks save in it.
"""

from tacit.study.account import account, mean_noise
from tacit.study.execute import Assembled, Outcome, assemble, execute

__all__ = ["Assembled", "Outcome", "account", "assemble", "execute", "mean_noise"]
