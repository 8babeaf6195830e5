"""Lanes: the user's environments as a trainer sees them, a row per world.

Whatever was given (an environment, a list of makers, a vector environment), a lane has the moment
before its next action (obs, change, truth) and what its last step led to (reward, terminated,
truncated, next_obs). Episodes follow each other in the same step.
"""

from __future__ import annotations

import abc
import math
import struct
from collections.abc import Callable, Sequence
from typing import Any, Union, cast

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv

from .envs import FansEnv, FansVectorEnv

Env = gymnasium.Env[Any, Any]
Envs = Union[Env, VectorEnv[Any, Any, Any], Sequence[Callable[[], Env]]]


class Spaces:
    """Widths of observations and actions, and the way from [-1, 1] to the environment's actions."""

    def __init__(self, obs: Any, act: Any) -> None:
        self.obs_shape, self.act_shape = _shape(obs, "observations"), _shape(act, "actions")
        self.obs_width, self.act_width = int(np.prod(self.obs_shape)), int(np.prod(self.act_shape))
        low, high = np.asarray(act.low, float).ravel(), np.asarray(act.high, float).ravel()
        if not (np.isfinite(low).all() and np.isfinite(high).all()):
            raise ValueError("actions have no bounds; wrap the environment in gymnasium.wrappers.RescaleAction or ClipAction")
        self._use(low, high, act.dtype)

    def _use(self, low: np.ndarray, high: np.ndarray, dtype: Any) -> None:
        self.low, self.high, self.dtype = low, high, np.dtype(dtype)
        self.centre, self.half = (low + high) / 2, (high - low) / 2
        self.plain = bool((low == -1).all() and (high == 1).all())

    @classmethod
    def of_library(cls, obs: int, act: int) -> Spaces:
        """Those of the library's own worlds."""
        box = gymnasium.spaces.Box
        return cls(box(-np.inf, np.inf, (obs,)), box(-1, 1, (act,)))

    def as_json(self) -> dict[str, Any]:
        return {"obs_shape": self.obs_shape, "act_shape": self.act_shape, "low": self.low.tolist(),
                "high": self.high.tolist(), "dtype": self.dtype.name}

    @classmethod
    def from_json(cls, found: Any, obs: int, act: int) -> Spaces:
        """What as_json made, of so many numbers; ValueError where it is something else."""
        try:
            obs_shape, act_shape = (tuple(map(int, found[name])) for name in ("obs_shape", "act_shape"))
            low, high = (np.array(found[name], float) for name in ("low", "high"))
            dtype = np.dtype(str(found["dtype"]))
        except (KeyError, TypeError, OverflowError) as error:
            raise ValueError(f"no shapes and bounds ({error!r})") from None
        if _size(obs_shape) != obs or _size(act_shape) != act or low.shape != (act,) or high.shape != (act,):
            raise ValueError(f"its shapes are not those of {obs} observed numbers and {act} actions")
        if not (np.isfinite(low).all() and np.isfinite(high).all() and (low < high).all() and dtype.kind in "fiu"):
            raise ValueError("its bounds are not those of actions")
        box = gymnasium.spaces.Box
        low, high = (bound.reshape(act_shape).astype(dtype) for bound in (low, high))
        return cls(box(-np.inf, np.inf, obs_shape), box(low, high, dtype=dtype.type))

    def actions(self, action: np.ndarray) -> np.ndarray:
        """(n, act) in [-1, 1] as actions of the environment, (n, *act_shape)."""
        own = action if self.plain else self.centre + action * self.half
        return own.astype(self.dtype).reshape(len(action), *self.act_shape)


def _size(shape: tuple[int, ...]) -> int:
    return math.prod(shape) if min(shape, default=1) > 0 else -1


def _shape(space: Any, what: str) -> tuple[int, ...]:
    if not isinstance(space, gymnasium.spaces.Box):
        hint = "; wrap the environment in gymnasium.wrappers.FlattenObservation" if what == "observations" else ""
        raise TypeError(f"{what} are a {type(space).__name__}, not a Box{hint}")
    return tuple(space.shape)


class Lanes(abc.ABC):
    """`n` environments. `own` is the library's environment, if each is one as it stands."""

    n: int
    spaces: Spaces
    horizon: int  # of an episode; 0: not known
    own: FansEnv | FansVectorEnv | None

    def prepare(self, horizon: int, names: Sequence[str]) -> None:
        n = self.n
        self.length, self.names, self.horizon = [0] * n, list(names), horizon
        self.obs = np.zeros((n, self.spaces.obs_width), np.float32)
        self.next_obs = np.zeros_like(self.obs)
        self.reward = np.zeros(n, np.float32)
        self.change, self.terminated, self.truncated = (np.zeros(n, np.uint8) for _ in range(3))
        self.truth = np.zeros((n, len(self.names)))
        self.tells = self.knows = False  #: info has "change", "factors"

    @abc.abstractmethod
    def begin(self, seed: int) -> None:
        """Resets all environments."""

    @abc.abstractmethod
    def step(self, action: np.ndarray) -> None: ...

    @abc.abstractmethod
    def _restart(self, which: np.ndarray) -> None:
        """A new episode where `which` says so."""

    @abc.abstractmethod
    def state(self) -> bytes | None:
        """All environments as they are; None where they cannot say (no get_state)."""

    @abc.abstractmethod
    def resume(self, state: bytes) -> None: ...

    def checkpoint(self, must: bool) -> bytes | None:
        """The state to save now; without `must`, None where the end of an episode should come first."""
        state = self.state()
        if state is not None:
            return state
        if not must and not (self.terminated[0] or self.truncated[0]):
            return None
        self.cut()
        return b""

    def cut(self) -> None:
        """Gives up the episodes that the last step did not end; their rows count as truncated."""
        going = (self.terminated | self.truncated) == 0
        if going.any():
            self.truncated[going] = 1
            self._restart(going)

    def _hear(self, i: int, info: dict[str, Any]) -> None:
        """What an environment tells in `info`, of the step to come."""
        if "change" in info:
            self.tells = True
            self.change[i] = bool(info["change"])
        if self.names and "factors" in info:
            self.knows, found = True, info["factors"]
            self.truth[i] = [found[name] for name in self.names] if isinstance(found, dict) else found


# The state of all environments: for each its bytes' number, steps of its episode, and the bytes. No
# pickle: a run's folder may come from someone else.
_HEAD = struct.Struct("<qq")


def _pack(states: Sequence[bytes], length: Sequence[int]) -> bytes:
    return b"".join(_HEAD.pack(len(one), steps) + one for one, steps in zip(states, length))


def _unpack(packed: bytes, n: int) -> tuple[list[bytes], list[int]]:
    states, length, at = [], [0] * n, 0
    for i in range(n):
        if len(packed) < at + _HEAD.size:
            break
        size, length[i] = _HEAD.unpack_from(packed, at)
        at += _HEAD.size + size
        states.append(packed[at - size:at])
    if len(states) < n or at != len(packed):
        raise ValueError(f"the checkpoint's state is not one of {n} environments")
    return states, length


# ---- environments one by one --------------------------------------------------------------------

_TRANSPARENT = ("OrderEnforcing", "PassiveEnvChecker")  # what gymnasium.make wraps around everything


def _is_bare(env: Env) -> bool:
    while isinstance(env, gymnasium.Wrapper):
        if type(env).__name__ not in _TRANSPARENT:
            return False
        env = env.env
    return True


def _own(envs: Sequence[Env]) -> FansEnv | None:
    """The first, if they are the library's worlds of one config, with nothing around them."""
    inner: list[Any] = [env.unwrapped for env in envs]
    for env, one in zip(envs, inner):
        if not (isinstance(one, FansEnv) and _is_bare(env) and one._told.tell != "what"):
            return None
    tasks = [(one.worlds.config, one.worlds.options) for one in inner]
    return inner[0] if all(task == tasks[0] for task in tasks) else None


class Singles(Lanes):
    def __init__(self, envs: list[Env]) -> None:
        first = envs[0]
        self.envs, self.n = envs, len(envs)
        self.spaces = Spaces(first.observation_space, first.action_space)
        for i, env in enumerate(envs):
            if (env.observation_space.shape, env.action_space) != (first.observation_space.shape, first.action_space):
                raise ValueError(f"environment {i} has other spaces than environment 0")
        self.horizon = _horizon(first)
        self.own = _own(envs)

    def begin(self, seed: int) -> None:
        for i, env in enumerate(self.envs):
            self._begin(i, *env.reset(seed=seed + i))

    def _begin(self, i: int, obs: Any, info: dict[str, Any]) -> None:
        self.obs[i] = np.ravel(obs)
        self._hear(i, info)

    def step(self, action: np.ndarray) -> None:
        done = self.spaces.actions(action)
        for i, env in enumerate(self.envs):
            obs, reward, terminated, truncated, info = env.step(done[i])
            self.next_obs[i], self.reward[i] = np.ravel(obs), reward
            self.length[i] += 1
            truncated = truncated or (self.length[i] >= self.horizon and not terminated)
            self.terminated[i], self.truncated[i] = terminated, truncated
            if terminated or truncated:
                self._next_episode(i)
            else:
                self._begin(i, obs, info)

    def _next_episode(self, i: int) -> None:
        self.length[i] = 0
        self._begin(i, *self.envs[i].reset())

    def _restart(self, which: np.ndarray) -> None:
        for i in np.flatnonzero(which).tolist():
            self._next_episode(i)

    def state(self) -> bytes | None:
        inner = [env.unwrapped for env in self.envs]
        if not all(hasattr(env, "get_state") and hasattr(env, "set_state") for env in inner):
            return None
        return _pack([env.get_state() for env in inner], self.length)  # type: ignore[attr-defined]

    def resume(self, state: bytes) -> None:
        states, self.length = _unpack(state, self.n)
        for i, (env, one) in enumerate(zip(self.envs, states)):
            env.reset()  # wrappers want one
            self._begin(i, *env.unwrapped.set_state(one))  # type: ignore[attr-defined]


def _horizon(env: Any) -> int:
    """An episode's length, as far as the environment says; else 0."""
    own = getattr(env.unwrapped, "horizon", 0)
    return int(own or (env.spec and env.spec.max_episode_steps) or 0)


# ---- vector environments ------------------------------------------------------------------------


class Vector(Lanes):
    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        mode = env.metadata.get("autoreset_mode")
        if mode != AutoresetMode.SAME_STEP:
            name = getattr(mode, "name", mode)
            raise ValueError(f"the vector environment resets in mode {name}; it must be SAME_STEP "
                             "(vector_kwargs={'autoreset_mode': AutoresetMode.SAME_STEP})")
        self.env, self.n = env, env.num_envs
        self.spaces = Spaces(env.single_observation_space, env.single_action_space)
        inner = env.unwrapped
        self.own = inner if inner is env and isinstance(inner, FansVectorEnv) and inner._told.tell != "what" else None
        self.horizon = _horizon(env) or next((_horizon(one) for one in getattr(inner, "envs", [])), 0)

    def begin(self, seed: int) -> None:
        self._begin(self.env.reset(seed=seed), np.ones(self.n, np.bool_))

    def _begin(self, moment: tuple[Any, dict[str, Any]], which: np.ndarray) -> None:
        obs, info = moment
        self.obs[:] = np.reshape(obs, (self.n, -1))
        self._hear_all(info, which)

    def _hear_all(self, info: dict[str, Any], which: np.ndarray) -> None:
        if not self.names and "change" not in info:
            return
        for i in np.flatnonzero(which).tolist():
            self._hear(i, {key: _of(info[key], i) for key in ("change", "factors") if key in info})

    def step(self, action: np.ndarray) -> None:
        obs, reward, terminated, truncated, info = self.env.step(self.spaces.actions(action))
        self.next_obs[:] = np.reshape(obs, (self.n, -1))
        self.obs[:] = self.next_obs
        self.reward[:], self.terminated[:], self.truncated[:] = reward, terminated, truncated
        for i in np.flatnonzero(terminated | truncated):
            self.next_obs[i] = np.ravel(info["final_obs"][i])
        self._hear_all(info, np.ones(self.n, np.bool_))
        self._end_long_ones((terminated | truncated).tolist())

    def _end_long_ones(self, ended: list[bool]) -> None:
        """As the trainer does: an episode of `horizon` steps is over."""
        self.length = [0 if end else steps + 1 for end, steps in zip(ended, self.length)]
        if max(self.length) >= self.horizon:
            late = np.array(self.length) >= self.horizon
            self.truncated[late] = 1
            self._restart(late)

    def _restart(self, which: np.ndarray) -> None:
        self.length = [0 if new else steps for new, steps in zip(which.tolist(), self.length)]
        self._begin(self.env.reset(options={"reset_mask": which.copy()}), which)

    def state(self) -> bytes | None:
        if not isinstance(self.own, FansVectorEnv):
            return None
        return _pack(self.own.get_state(), self.length)

    def resume(self, state: bytes) -> None:
        states, self.length = _unpack(state, self.n)
        assert isinstance(self.own, FansVectorEnv)
        self._begin(self.own.set_state(states), np.ones(self.n, np.bool_))


def _of(value: Any, i: int) -> Any:
    """Entry i of what Gymnasium stacked: arrays, and dictionaries of arrays."""
    return {name: one[i] for name, one in value.items()} if isinstance(value, dict) else value[i]


def lanes(env: Envs | str) -> Lanes:
    """What `FANS(env)` takes: an environment, an id, a list of makers, a vector environment."""
    if isinstance(env, str):
        return Singles([gymnasium.make(env)])
    if isinstance(env, VectorEnv):
        return Vector(env)
    if isinstance(env, gymnasium.Env):
        return Singles([env])
    if isinstance(env, Sequence) and env and all(map(callable, env)):
        return Singles([make() for make in cast("Sequence[Callable[[], Env]]", env)])
    raise TypeError(f"env: a {type(env).__name__}; it must be a Gymnasium environment, an id, a list of functions "
                    "that make environments, or a VectorEnv in mode SAME_STEP")
