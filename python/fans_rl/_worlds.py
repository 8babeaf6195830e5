"""Worlds of a config: the library's handle, its arrays, and what is known about the factors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ._config import Path, Settings, find_config, new_config
from ._library import check, ffi, lib
from ._memory import view


class Factor(NamedTuple):
    """What may change in a world. Where the schedule moves it, it stays between `start` and `end`."""

    name: str
    help: str
    low: float  #: the range in which the environment accepts it, …
    high: float
    initial: float  #: … and its value where nothing moves it
    start: float
    end: float
    moves: bool


class Worlds:
    """`n` worlds side by side. Their arrays never move; `step` reads `action` and writes the rest."""

    def __init__(self, config: Path, options: Settings | None, n: int, threads: int) -> None:
        self.config, self.options, self.n = find_config(config), dict(options or {}), n
        out = ffi.new("fans_worlds **")
        check(lib.fans_worlds_open(out, new_config(self.config, None, options), n, threads))
        self.handle: Any = ffi.gc(out[0], lib.fans_worlds_free)
        task = ffi.new("fans_task *", {"size": ffi.sizeof("fans_task")})
        check(lib.fans_worlds_task(self.handle, task))
        self.obs_width, self.act_width, self.horizon = int(task.obs), int(task.act), int(task.horizon)
        self.factors = [self._factor(k) for k in range(task.factors)]
        self.moving = [k for k, factor in enumerate(self.factors) if factor.moves]
        self._look()

    def _factor(self, k: int) -> Factor:
        f = ffi.new("fans_factor_info *", {"size": ffi.sizeof("fans_factor_info")})
        check(lib.fans_worlds_factor(self.handle, k, f))
        name, text = ffi.string(f.name).decode(), ffi.string(f.help).decode()
        return Factor(name, text, f.low, f.high, f.initial, getattr(f, "from"), f.to, bool(f.moves))

    def _look(self) -> None:
        v = ffi.new("fans_view *", {"size": ffi.sizeof("fans_view")})
        check(lib.fans_worlds_view(self.handle, v))
        n, owner = self.n, self.handle
        self.action = view(owner, v.action, (n, self.act_width), np.float32)
        self.obs = view(owner, v.obs, (n, self.obs_width), np.float32)
        self.final_obs = view(owner, v.final_obs, (n, self.obs_width), np.float32)
        self.reward = view(owner, v.reward, (n,), np.float32)
        self.values = view(owner, v.factors, (n, len(self.factors)), np.float64)
        self.segment = view(owner, v.segment, (n,), np.int64)
        self.change = view(owner, v.change, (n,), np.bool_)
        self.terminated = view(owner, v.terminated, (n,), np.bool_)
        self.truncated = view(owner, v.truncated, (n,), np.bool_)
        self.success = view(owner, v.success, (n,), np.float32)

    def step(self) -> None:
        check(lib.fans_worlds_step(self.handle))

    def start(self, i: int, seed: int) -> None:
        """A new lifetime: that of the only world of a run with this seed."""
        check(lib.fans_worlds_start(self.handle, i, seed))

    def give_up(self, i: int) -> None:
        """The next episode of the lifetime begins; -1: in all worlds."""
        check(lib.fans_worlds_reset(self.handle, i))

    def hold(self, i: int, factor: str, value: float | None) -> None:
        check(lib.fans_worlds_hold(self.handle, i, factor.encode(), float("nan") if value is None else value))

    def picture(self, i: int, width: int, height: int) -> np.ndarray:
        rgb = np.empty((height, width, 3), np.uint8)
        check(lib.fans_worlds_picture(self.handle, i, width, height, ffi.from_buffer("uint8_t[]", rgb)))
        return rgb

    def draws(self) -> bool:
        """Whether the environment draws pictures."""
        return bool(lib.fans_worlds_draws(self.handle))

    def save(self, i: int) -> bytes:
        n = lib.fans_worlds_bytes(self.handle)
        check(n)
        state = ffi.new("char[]", n)
        check(lib.fans_worlds_save(self.handle, i, state, n))
        return bytes(ffi.buffer(state))

    def restore(self, i: int, state: bytes) -> None:
        check(lib.fans_worlds_restore(self.handle, i, state, len(state)))

    def close(self) -> None:
        """Arrays that were handed out stay; the memory goes with the last of them."""
        self.handle = ffi.NULL


def scale(factors: Sequence[Factor]) -> tuple[np.ndarray, np.ndarray]:
    """Centre and half width of the range in which each factor moves."""
    start, end = (np.array([getattr(f, name) for f in factors], float) for name in ("start", "end"))
    return (start + end) / 2, np.where(end > start, (end - start) / 2, 1)
