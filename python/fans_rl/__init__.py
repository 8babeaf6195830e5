"""FANS: reinforcement learning in worlds that change while the agent lives in them."""

from ._library import (
    Error,
    FileError,
    FormatError,
    InvalidError,
    MemoryRanOutError,
    NumericError,
    UnsupportedError,
    version as __version__,
)
from ._worlds import Factor
from .acting import Life, Policy, load
from .envs import FansEnv, FansVectorEnv, register_envs
from .runs import Run, find_runs, scores
from .training import FANS, SAC, Agent, Oracle

__all__ = [
    "Error", "FileError", "FormatError", "InvalidError", "MemoryRanOutError", "NumericError", "UnsupportedError",
    "FANS", "SAC", "Agent", "Oracle", "Life", "Policy", "load", "FansEnv", "FansVectorEnv", "Factor", "Run", "find_runs", "scores", "__version__",
]

register_envs()
