"""Training: FANS, SAC, the oracle and every other algorithm of the library on Gymnasium environments.

>>> agent = FANS("Pendulum-v1", preset="small", run="runs/pendulum").learn(20_000)
>>> action, state = agent.predict(obs, deterministic=True)
"""

from __future__ import annotations

import json
import math
import os
import pathlib
import shutil
import tempfile
import time
import weakref
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ._config import Path, new_config
from ._lanes import Envs, Lanes, lanes
from ._library import check, ffi, lib
from ._memory import pointer
from .acting import SPACES, Policy, load
from .runs import Run

__all__ = ["FANS", "SAC", "Agent", "Oracle"]

SEGMENTS = ("episode", "info", "never")
SAVING = 0.03  # of the time goes into checkpoints at most
Callback = Callable[["Agent"], Any]


class Agent:
    """An algorithm of the library that learns in Gymnasium environments.

    Args:
        env: an environment, its id, a list of functions that make one (they step side by side and
            share the agent), or a vector environment in mode SAME_STEP. Observations are a Box;
            actions a bounded Box, which is rescaled from the library's [-1, 1].
        preset: "standard", "small", "paper" or "classic", as in `fans train`.
        algo: a name of `fans list algos`, or the path of a plug-in.
        segments: where a stretch of constant factors begins: with every "episode"; where "info"
            says so (`info["change"]`, of the step to come); or "never". None: "info" where the
            environment says it, else "episode".
        run: the run's folder. Where it holds a checkpoint, training resumes. None: one that is
            removed with the agent.
        seed: of the agent; environment i is reset with seed + i.
        horizon: the length of an episode, if the environment has no time limit.
        factors: {"gravity": (5, 15)}, what changes in your environment and between which values,
            for algorithms that are told (`Oracle`) and for reports; the environment says the
            values in `info["factors"]`, as a mapping or an array. Environments of the package
            need none.
        threads, device: as in `fans train`; 0 threads: one per core.
        options: options of the config by section: sac={"lr": 3e-4}, fnvae={"window": 100}.

    On environments of the package the run is one of `fans train` with the same config and options:
    the tool can evaluate, play and report it.
    """

    def __init__(
        self, env: Envs | str, preset: str = "standard", *, algo: str, segments: str | None = None,
        run: Path | None = None, seed: int = 0, horizon: int | None = None,
        factors: Mapping[str, tuple[float, float]] | None = None, threads: int = 1, device: str = "auto",
        **options: Mapping[str, Any],
    ) -> None:
        if segments not in (None, *SEGMENTS):
            raise ValueError(f"segments = {segments!r}: one of {', '.join(SEGMENTS)}")
        self.algo, self.preset, self.segments, self.seed = algo, preset, segments, seed
        self.steps = 0  #: of all environments together
        self.lanes = lanes(env)
        self._factors, self._options = dict(factors or {}), _sections(options)
        self._threads, self._device = threads, device
        self._prepare(horizon)
        self.path = pathlib.Path(run) if run is not None else self._temporary()
        self._trainer: Any = None  # while it learns
        self._policy: Policy | None = None
        self._every = _number(self._config(1), b"train.checkpoint_every")  # mistakes in options are told here

    def _temporary(self) -> pathlib.Path:
        folder = tempfile.mkdtemp(prefix="fans-rl-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        return pathlib.Path(folder, "run")

    def _prepare(self, horizon: int | None) -> None:
        own = self.lanes.own
        horizon = horizon or self.lanes.horizon
        if horizon < 1:
            raise ValueError("how long is an episode? the environment has no time limit: say horizon=…")
        self._names = [factor.name for factor in own.factors] if own else list(self._factors)
        if self.algo == "oracle" and not self._names:
            raise ValueError("the oracle is told the factors: say between which values they move: factors={'gravity': (5, 15)}")
        self.lanes.prepare(horizon, self._names)

    # ---- the library's trainer ----

    def _config(self, episodes: int) -> Any:
        own = self.lanes.own
        layers: dict[str, Any] = dict(own.worlds.options) if own else {}
        for name, (low, high) in ({} if own else self._factors).items():
            clock = "random" if self.segments == "info" else "episode"
            layers |= {f"change.{name}": {"function": "uniform", "clock": clock, "low": low, "high": high}}
        train = {"train.algo": self.algo, "train.seed": self.seed, "train.episodes": episodes}
        return new_config(own.worlds.config if own else None, self.preset, layers | self._options | train)

    def _open(self, steps: int) -> Any:
        rows: Lanes = self.lanes
        names = [ffi.new("char[]", name.encode()) for name in self._names]
        task = ffi.new("fans_task *", {
            "size": ffi.sizeof("fans_task"), "obs": rows.spaces.obs_width, "act": rows.spaces.act_width,
            "horizon": rows.horizon, "worlds": rows.n, "factors": len(names), "threads": self._threads,
        })
        array, device = ffi.new("char *[]", names), ffi.new("char[]", self._device.encode())
        task.names, task.device = array, device
        out = ffi.new("fans_trainer **")
        check(lib.fans_trainer_new(out, task, self._config(self._episodes(steps)), os.fsencode(self.path)))
        if not rows.own:
            (self.path / SPACES).write_text(json.dumps(rows.spaces.as_json()))
        return ffi.gc(out[0], lib.fans_trainer_free)

    def _episodes(self, steps: int) -> int:
        return max(1, math.ceil(steps / self.lanes.horizon))

    def _length(self, steps: int) -> int:
        """What the library makes of so many steps: whole episodes, and whole steps of all environments."""
        return math.ceil(self._episodes(steps) * self.lanes.horizon / self.lanes.n) * self.lanes.n

    def _begin(self) -> None:
        """A fresh run begins with the seed; a resumed one where it was, if its environments can."""
        size = ffi.new("size_t *")
        yours = lib.fans_trainer_yours(self._trainer, size)
        self.steps = int(lib.fans_trainer_steps(self._trainer))
        if size[0] > 0:
            self.lanes.resume(bytes(ffi.buffer(yours, size[0])))
        elif self.steps > 0:
            self.lanes.begin(int(np.random.SeedSequence([self.seed, self.steps]).generate_state(1)[0] >> 1))
        else:
            self.lanes.begin(self.seed)

    # ---- learning ----

    def learn(self, steps: int, callback: Callback | None = None) -> Agent:
        """Learns until the run has so many steps of all environments together, in whole episodes.

        A run that has them already stays as it is, so the same script resumes it. `callback(agent)`
        is called after every step; if it returns False, learning stops with a checkpoint. So it
        does every `train.checkpoint_every` steps, and at the end.

        Environments with `get_state() -> bytes` and `set_state(bytes) -> (obs, info)`, as those of
        the package, resume bit for bit. Others begin a new episode at a checkpoint.
        """
        self._trainer = self._open(steps)
        try:
            self._begin()
            self._live(self._length(steps), callback)
        finally:
            trainer, self._trainer = self._trainer, None
            self._policy = None
            ffi.release(trainer)  # it holds the folder's lock
        return self

    def _live(self, total: int, callback: Callback | None) -> None:
        rows, action = self.lanes, np.zeros((self.lanes.n, self.lanes.spaces.act_width), np.float32)
        trainer, saves = self._trainer, _Saves(self._every, self.steps)
        obs, next_obs, reward = pointer(rows.obs), pointer(rows.next_obs), pointer(rows.reward)
        terminated, truncated = pointer(rows.terminated), pointer(rows.truncated)
        change, truth, out = self._change(), self._truth(), pointer(action)
        while True:
            rc = lib.fans_trainer_act(trainer, obs, change, truth, out)
            if rc == lib.FANS_ESTOP:
                return
            check(rc)
            check(lib.fans_trainer_update(trainer))
            rows.step(action)
            self.steps += rows.n
            stop = callback is not None and callback(self) is False
            last = stop or self.steps >= total
            state = rows.checkpoint(must=last) if last or saves.are_due(self.steps) else None
            check(lib.fans_trainer_observe(trainer, ffi.NULL, reward, terminated, truncated, next_obs))
            if state is not None:
                saves.save(trainer, state, self.steps)
            if stop:
                return

    def _change(self) -> Any:
        rows = self.lanes
        segments = self.segments or ("info" if rows.tells else "episode")
        if segments == "info" and not rows.tells:
            raise ValueError("segments = 'info': the environment's info has no 'change'")
        never = np.zeros(rows.n, np.uint8)
        return {"episode": ffi.NULL, "info": pointer(rows.change), "never": pointer(never)}[segments]

    def _truth(self) -> Any:
        rows = self.lanes
        if self._names and not rows.knows and (self.algo == "oracle" or not rows.own):
            raise ValueError(f"{', '.join(self._names)}: the environment's info has no 'factors' to say their values")
        return pointer(rows.truth) if rows.knows else ffi.NULL

    # ---- what came of it ----

    @property
    def run(self) -> Run:
        """Its folder: metrics, beliefs, graph."""
        return Run(self.path)

    @property
    def policy(self) -> Policy:
        """What was learned so far; within a callback, a copy as of now."""
        if self._trainer is not None:
            return Policy.of_trainer(self._trainer, self.lanes.spaces, self.algo)
        if self._policy is None:
            self._policy = load(self.path)
        return self._policy

    def predict(self, *args: Any, **kwargs: Any) -> tuple[np.ndarray, Any]:
        """`Policy.predict` of what was learned."""
        return self.policy.predict(*args, **kwargs)

    def listen(self, env: Any, row: int = 0) -> Any:
        """`Policy.listen`: an environment whose rewards `predict` hears."""
        return self.policy.listen(env, row)


def _sections(options: Mapping[str, Any]) -> dict[str, Any]:
    for name, section in options.items():
        if not isinstance(section, Mapping):
            raise TypeError(f"{name} = {section!r}: options come by section, such as sac={{'lr': 3e-4}}")
    return {f"{name}.{key}": value for name, section in options.items() for key, value in section.items()}


def _number(config: Any, key: bytes) -> int:
    text = ffi.new("char[32]")
    check(lib.fans_config_get(config, key, text, 32))
    return int(ffi.string(text))


class _Saves:
    """Checkpoints every so many steps; fewer if they would take over 3 % of the time."""

    def __init__(self, every: int, steps: int) -> None:
        self.every, self.last, self.took, self.when = every, steps, 0.0, time.monotonic()

    def are_due(self, steps: int) -> bool:
        return steps - self.last >= self.every and time.monotonic() - self.when >= self.took / SAVING

    def save(self, trainer: Any, state: bytes, steps: int) -> None:
        start = time.monotonic()
        check(lib.fans_trainer_save(trainer, ffi.from_buffer(state), len(state)))
        self.when = time.monotonic()
        self.last, self.took = steps, self.when - start


class FANS(Agent):
    """FANS-RL: infers what changes and adapts to it. Arguments are those of `Agent`."""

    def __init__(self, env: Envs | str, preset: str = "standard", **arguments: Any) -> None:
        super().__init__(env, preset, algo="fans", **arguments)


class SAC(Agent):
    """Soft actor-critic that knows nothing of change. Arguments are those of `Agent`."""

    def __init__(self, env: Envs | str, preset: str = "standard", **arguments: Any) -> None:
        super().__init__(env, preset, algo="sac", **arguments)


class Oracle(Agent):
    """Soft actor-critic that sees the true factors. Arguments are those of `Agent`.

    It cannot act outside of training, where nobody knows the truth: `predict` is refused.
    """

    def __init__(self, env: Envs | str, preset: str = "standard", **arguments: Any) -> None:
        super().__init__(env, preset, algo="oracle", **arguments)
