"""Acting by a trained run, with the signature of Stable-Baselines3's `predict`.

>>> policy = load("runs/pendulum_flip-fans/seed-0")
>>> state = None
>>> obs, info = env.reset(seed=0)
>>> while True:
...     action, state = policy.predict(obs, state, episode_start, reward=reward)
"""

from __future__ import annotations

import json
import os
import pathlib
import warnings
from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np

from ._config import Path
from ._lanes import Spaces
from ._library import FormatError, check, ffi, lib
from ._memory import pointer, view
from .runs import Run

__all__ = ["Life", "Policy", "load"]

SPACES = "spaces.json"  # beside a run's other files, where the environment was Python's


def load(run: Path) -> Policy:
    """The policy of a run's folder, or of one above a single run."""
    path = pathlib.Path(run)
    if not (path / "config.ini").is_file() and len(below := sorted(path.glob("**/config.ini"))) == 1:
        path = below[0].parent
    algo = Run(path).algo
    out, described = ffi.new("fans_policy **"), path / SPACES
    check(lib.fans_policy_open(out, os.fsencode(path), ffi.NULL))
    policy = Policy(out[0], None, algo)
    if described.exists():
        try:
            policy.spaces = Spaces.from_json(json.loads(described.read_text()), policy.spaces.obs_width, policy.spaces.act_width)
        except ValueError as error:
            raise FormatError(f"{described}: {error}") from None
    return policy


class Policy:
    """What was learned, constant. `theta` is the width of its belief's mean; 0: it has none."""

    def __init__(self, handle: Any, spaces: Spaces | None, algo: str) -> None:
        self._handle = ffi.gc(handle, lib.fans_policy_free)
        shape = ffi.new("fans_shape *", {"size": ffi.sizeof("fans_shape")})
        check(lib.fans_policy_shape(handle, shape))
        self.spaces = spaces or Spaces.of_library(shape.obs, shape.act)
        self.theta, self.algo = int(shape.theta), algo
        self._heard: dict[int, _Heard] = {}
        self._warned = algo == "sac"  # which needs no reward

    @classmethod
    def of_trainer(cls, trainer: Any, spaces: Spaces, algo: str) -> Policy:
        out = ffi.new("fans_policy **")
        check(lib.fans_trainer_policy(out, trainer))
        return cls(out[0], spaces, algo)

    def life(self, n: int, seed: int = 0) -> Life:
        """`n` new lives side by side: what `predict` begins with when its state is None."""
        return Life(self, n, seed)

    def predict(
        self, obs: np.ndarray, state: Life | None = None, episode_start: np.ndarray | Sequence[bool] | bool | None = None,
        deterministic: bool = False, reward: np.ndarray | Sequence[float] | float | None = None,
    ) -> tuple[np.ndarray, Life]:
        """The action for an observation, or for a row per environment, and the state to pass next.

        `state=None` begins a new life, which has seen nothing; the state is changed in place.
        `episode_start` says where a new episode begins: a new segment, for which the belief is
        kept. `reward` is the last step's, so that the belief can learn from it; environments from
        `listen` tell it by themselves. Not deterministic, actions are sampled.
        """
        x = np.asarray(obs, np.float32)
        single = x.shape == self.spaces.obs_shape
        rows = x.reshape(1 if single else -1, self.spaces.obs_width)
        if state is None:
            state = self.life(len(rows))
        elif state.n != len(rows):
            raise ValueError(f"obs has {len(rows)} rows, the state {state.n}: pass state=None to begin anew")
        state._tell(rows, _rows(episode_start, len(rows), np.bool_), _rows(reward, len(rows), np.float32), self)
        actions = self.spaces.actions(state._act(rows, not deterministic))
        return (actions[0] if single else actions), state

    def listen(self, env: Any, row: int = 0) -> Any:
        """An environment like `env` whose rewards, ends and changes `predict` hears by itself.

        For programs that call `predict` without rewards, such as SB3's `evaluate_policy`; `row` is
        the environment's place among those that step together.
        """
        heard = self._heard[row] = _Heard()
        if isinstance(env, str):
            env = gymnasium.make(env)
        if not isinstance(env, gymnasium.Env):
            raise TypeError(f"listen: a {type(env).__name__}; it must be a Gymnasium environment; listen to those of a "
                            "vector one by one, with row=")
        return _Listening(env, heard)

    def _miss_reward(self) -> None:
        if self._warned:
            return
        self._warned = True
        warnings.warn(f"{self.algo} is told no rewards, so it learns of changes from observations alone: "
                      "predict(…, reward=…), or let it listen: env = policy.listen(env)", stacklevel=4)


def _rows(value: Any, n: int, dtype: Any) -> np.ndarray | None:
    if value is None:
        return None
    found = np.asarray(value, dtype).reshape(-1)
    if len(found) not in (1, n):
        raise ValueError(f"{len(found)} values for {n} rows")
    return np.broadcast_to(found, (n,))


# ---- listening ----------------------------------------------------------------------------------


class _Heard:
    """What the last step of an environment led to, until an act takes it in."""

    def __init__(self) -> None:
        self.fresh = self.change = self.terminated = False
        self.reward, self.obs = 0.0, np.zeros(0)


class _Listening(gymnasium.Wrapper[Any, Any, Any, Any]):
    def __init__(self, env: Any, heard: _Heard) -> None:
        super().__init__(env)
        self._heard = heard

    def reset(self, **arguments: Any) -> tuple[Any, dict[str, Any]]:
        obs, info = self.env.reset(**arguments)
        self._heard.change = bool(info.get("change", False))
        return obs, info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        obs, reward, terminated, truncated, info = self.env.step(action)
        h = self._heard
        h.fresh, h.obs, h.reward, h.terminated = True, np.ravel(obs).copy(), float(reward), bool(terminated)
        h.change = bool(info.get("change", False))
        return obs, reward, terminated, truncated, info


# ---- lives --------------------------------------------------------------------------------------


class Life:
    """What a policy believes and remembers, for `n` rows: the state of `predict`."""

    def __init__(self, policy: Policy, n: int, seed: int) -> None:
        self.n, self.theta, spaces = n, policy.theta, policy.spaces
        self._obs = np.zeros((n, spaces.obs_width), np.float32)
        self._next, self._action = np.zeros_like(self._obs), np.zeros((n, spaces.act_width), np.float32)
        self._reward, self._terminated = np.zeros(n, np.float32), np.zeros(n, np.uint8)
        self._change, self._acted = np.zeros(n, np.uint8), False
        out = ffi.new("fans_life **")
        check(lib.fans_life_new(out, policy._handle, n, seed))
        self._life = ffi.gc(out[0], lib.fans_life_free)
        self._now, self._to = (pointer(self._obs), pointer(self._change)), pointer(self._action)
        self._outcome = pointer(self._reward), pointer(self._terminated), pointer(self._next)

    @property
    def belief(self) -> np.ndarray | None:
        """(n, 2 theta): mean and log standard deviation at the last action; None: it has none."""
        if self.theta == 0:
            return None
        return view(self._life, lib.fans_life_belief(self._life), (self.n, 2 * self.theta), np.float32).copy()

    def restart(self, row: int = -1) -> None:
        """Forgets what a row, or all (-1), has seen."""
        check(lib.fans_life_restart(self._life, row))

    def _tell(self, obs: np.ndarray, start: np.ndarray | None, reward: np.ndarray | None, policy: Policy) -> None:
        """What the last step led to, before the next action."""
        acted, self._acted = self._acted, True
        self._change[:] = 0 if start is None else start
        self._next[:] = obs
        self._reward[:] = np.nan if reward is None else reward
        self._terminated[:] = 0
        if start is not None:
            self._next[start] = np.nan  # the last observation of the old episode is not known
        for i, heard in policy._heard.items():
            if i < self.n:
                self._hear(i, heard)
        if not acted:
            return
        if not policy._warned and (np.isnan(self._reward) & ~np.isnan(self._next[:, 0])).any():
            policy._miss_reward()
        check(lib.fans_life_observe(self._life, ffi.NULL, *self._outcome))

    def _hear(self, i: int, heard: _Heard) -> None:
        self._change[i] |= heard.change
        if heard.fresh:
            self._next[i], self._reward[i], self._terminated[i] = heard.obs, heard.reward, heard.terminated
        heard.fresh = False

    def _act(self, obs: np.ndarray, explore: bool) -> np.ndarray:
        self._obs[:] = obs
        check(lib.fans_life_act(self._life, *self._now, explore, self._to))
        return self._action
