"""Gymnasium environments: every config of the package is an id, such as fans/HalfCheetah-AEP-R-v0.

>>> import fans_rl, gymnasium
>>> env = gymnasium.make("fans/Pendulum-Flip-v0")
>>> obs, info = env.reset(seed=0)        # a lifetime begins: the changes of seed 0
>>> obs, info = env.reset()              # its next episode

`fans/Task-v0` takes any config (`config=`, a path or a name) and options (`set=`). An id whose
behaviour changes gets another version.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from ._config import CONFIGS, Path, Settings, config_names
from ._worlds import Factor, Worlds, scale

__all__ = ["FansEnv", "FansVectorEnv", "env_id", "register_envs"]

TELL = ("when", "nothing", "what")
FPS = 30
LARGE = float(np.finfo(np.float32).max)  # checkers warn of infinity


# ---- what both kinds of environment share -------------------------------------------------------


class _Telling:
    """What the agent is told beside the observation: `tell` of an environment."""

    def __init__(self, worlds: Worlds, tell: str) -> None:
        if tell not in TELL:
            raise ValueError(f"tell = {tell!r}: one of {', '.join(TELL)}")
        self.worlds, self.tell = worlds, tell
        self.moving = worlds.moving if tell == "what" else []
        centre, half = scale([worlds.factors[k] for k in self.moving])
        self.centre, self.half = centre, half
        width = worlds.obs_width
        low = np.r_[np.full(width, -LARGE), np.full(len(self.moving), -1.0)].astype(np.float32)
        self.observation_space = gymnasium.spaces.Box(low, -low, dtype=np.float32)
        self.action_space = gymnasium.spaces.Box(-1, 1, (worlds.act_width,), np.float32)

    def join(self, obs: np.ndarray, values: np.ndarray) -> np.ndarray:
        """A copy of the observation; for "what" with the moving factors, scaled to [-1, 1]."""
        if not self.moving:
            return obs.copy()
        shown = (values[..., self.moving] - self.centre) / self.half
        return np.concatenate([obs, shown.astype(np.float32)], axis=-1)


def _render_modes(worlds: Worlds, wanted: str | None) -> list[str]:
    modes = ["rgb_array"] if worlds.draws() else []
    if wanted is not None and wanted not in modes:
        raise ValueError(f"render_mode = {wanted!r}: this environment has {modes or 'none'}")
    return modes


# ---- one world ----------------------------------------------------------------------------------


class _OfWorlds:
    """What both environments say of their worlds."""

    _worlds: Worlds

    @property
    def horizon(self) -> int:
        """Steps after which an episode is truncated."""
        return self._worlds.horizon

    @property
    def factors(self) -> list[Factor]:
        """What may change, in the order of `info["factors"]`."""
        return self._worlds.factors

    @property
    def worlds(self) -> Worlds:
        return self._worlds


class FansEnv(_OfWorlds, gymnasium.Env[np.ndarray, np.ndarray]):
    """One world of a config, whose factors change as its schedule says.

    Args:
        config: the path of a config, or the name of one of the package ('pendulum_flip').
        set: options over the config: {"change.torque.values": "-0.5, 0.5"}.
        tell: "when" tells in `info` when a segment begins; "what" also appends the factors that
            move, scaled to [-1, 1], to the observation: an oracle for any algorithm; "nothing"
            leaves `info` empty.
        render_mode: None or "rgb_array", of `width` × `height`.

    `reset(seed=…)` begins a lifetime, `reset()` its next episode. `info` is about the step to come:
    `factors` (the truth, for plots and oracles), `segment` (which stretch of constant factors) and
    `change` (it is the first of a segment). After an episode's last step it repeats the factors.
    """

    def __init__(
        self, config: Path, set: Settings | None = None, tell: str = "when", render_mode: str | None = None,
        width: int = 480, height: int = 480,
    ) -> None:
        self._worlds = Worlds(config, set, 1, 1)
        self._told = _Telling(self._worlds, tell)
        self.metadata = {"render_modes": _render_modes(self._worlds, render_mode), "render_fps": FPS}
        self.render_mode, self._size = render_mode, (width, height)
        self.observation_space, self.action_space = self._told.observation_space, self._told.action_space
        self._born = False
        self._values = self._worlds.values[0].copy()

    metadata = {"render_modes": ["rgb_array"], "render_fps": FPS}

    def hold(self, factor: str, value: float | None) -> None:
        """Holds a factor at a value from the next step on; None: as the schedule says again."""
        self._worlds.hold(0, factor, value)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        if seed is None and not self._born:
            seed = int(self.np_random.integers(2**31))
        if seed is None:
            self._worlds.give_up(0)  # nothing to give up where the last step ended the episode
        else:
            self._worlds.start(0, seed)
        self._born = True
        return self._moment()

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        w = self._worlds
        w.action[0] = action
        w.step()
        terminated, truncated = bool(w.terminated[0]), bool(w.truncated[0])
        if terminated or truncated:
            obs, info = self._told.join(w.final_obs[0], self._values), self._last_info()
        else:
            obs, info = self._moment()
        return obs, float(w.reward[0]), terminated, truncated, info

    def _moment(self) -> tuple[np.ndarray, dict[str, Any]]:
        w = self._worlds
        self._values = w.values[0].copy()
        obs = self._told.join(w.obs[0], self._values)
        if self._told.tell == "nothing":
            return obs, {}
        self._segment = int(w.segment[0])
        return obs, {"factors": self._values, "segment": self._segment, "change": bool(w.change[0])}

    def _last_info(self) -> dict[str, Any]:
        if self._told.tell == "nothing":
            return {}
        return {"factors": self._values.copy(), "segment": self._segment, "change": False}

    def render(self) -> np.ndarray | None:
        return self._worlds.picture(0, *self._size) if self.render_mode else None

    def get_state(self) -> bytes:
        """The state of the world, without held factors; `set_state` resumes from it, bit-identical."""
        return self._worlds.save(0)

    def set_state(self, state: bytes) -> tuple[np.ndarray, dict[str, Any]]:
        """Returns what `reset` would: the observation and the info of the moment."""
        self._worlds.restore(0, state)
        self._born = True
        return self._moment()

    def close(self) -> None:
        self._worlds.close()


# ---- many worlds --------------------------------------------------------------------------------


class FansVectorEnv(_OfWorlds, VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """`num_envs` worlds of a config that step together, on `threads` threads; SAME_STEP autoreset.

    World i of `reset(seed=s)` is a `FansEnv` with seed s + i. With `copy=False` observations,
    rewards and ends are the library's own arrays, which the next step overwrites.
    """

    def __init__(
        self, num_envs: int, config: Path, set: Settings | None = None, tell: str = "when", copy: bool = True,
        threads: int = 1, render_mode: str | None = None, width: int = 480, height: int = 480,
    ) -> None:
        self._worlds = Worlds(config, set, num_envs, threads)
        self._told = _Telling(self._worlds, tell)
        modes = _render_modes(self._worlds, render_mode)
        self.metadata = {"render_modes": modes, "render_fps": FPS, "autoreset_mode": AutoresetMode.SAME_STEP}
        self.num_envs, self.render_mode, self._size, self.copy = num_envs, render_mode, (width, height), copy
        self.single_observation_space = self._told.observation_space
        self.single_action_space = self._told.action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._born = False
        self._all = np.ones(num_envs, np.bool_)
        self._all.flags.writeable = False
        self._values = self._worlds.values.copy()

    metadata = {"render_modes": ["rgb_array"], "render_fps": FPS, "autoreset_mode": AutoresetMode.SAME_STEP}

    def hold(self, i: int, factor: str, value: float | None) -> None:
        """Holds a factor of world i at a value; None: as the schedule says again."""
        self._worlds.hold(i, factor, value)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """`options={"reset_mask": mask}` resets only where the mask is true."""
        super().reset(seed=seed if isinstance(seed, int) else None)
        mask = (options or {}).get("reset_mask", self._all)
        for i, one in enumerate(self._seeds(seed)):
            if not mask[i]:
                continue
            if one is None:
                self._worlds.give_up(i)
            else:
                self._worlds.start(i, one)
        self._born = True
        return self._moment()

    def _seeds(self, seed: int | Sequence[int | None] | None) -> Sequence[int | None]:
        if isinstance(seed, int):
            return range(seed, seed + self.num_envs)
        if seed is None:
            return [None if self._born else int(self.np_random.integers(2**31)) for _ in range(self.num_envs)]
        if len(seed) != self.num_envs:
            raise ValueError(f"seed: {len(seed)} seeds for {self.num_envs} worlds")
        return seed

    def step(
        self, actions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        w = self._worlds
        w.action[:] = actions
        before = self._values
        w.step()
        obs, info = self._moment()
        ended = w.terminated | w.truncated
        if ended.any():
            self._add_last(info, ended, before)
        if not self.copy:
            return obs, w.reward, w.terminated, w.truncated, info
        return obs, w.reward.astype(np.float64), w.terminated.copy(), w.truncated.copy(), info

    def _moment(self) -> tuple[np.ndarray, dict[str, Any]]:
        w = self._worlds
        self._values = w.values.copy()
        obs = self._told.join(w.obs, self._values) if self.copy or self._told.moving else w.obs
        if self._told.tell == "nothing":
            return obs, {}
        info = {"factors": self._values, "segment": w.segment.copy(), "change": w.change.copy()}
        return obs, info | {"_factors": self._all, "_segment": self._all, "_change": self._all}

    def _add_last(self, info: dict[str, Any], ended: np.ndarray, values: np.ndarray) -> None:
        last = np.full(self.num_envs, None, dtype=object)
        for i in np.flatnonzero(ended):
            last[i] = self._told.join(self._worlds.final_obs[i], values[i])
        info["final_obs"], info["_final_obs"] = last, ended

    def render(self) -> tuple[np.ndarray, ...] | None:
        if not self.render_mode:
            return None
        return tuple(self._worlds.picture(i, *self._size) for i in range(self.num_envs))

    def get_state(self) -> list[bytes]:
        """The state of the worlds; `set_state` resumes from it, bit-identical."""
        return [self._worlds.save(i) for i in range(self.num_envs)]

    def set_state(self, state: Sequence[bytes]) -> tuple[np.ndarray, dict[str, Any]]:
        for i, one in enumerate(state):
            self._worlds.restore(i, one)
        self._born = True
        return self._moment()

    def close_extras(self, **kwargs: Any) -> None:
        self._worlds.close()


# ---- ids ----------------------------------------------------------------------------------------


def env_id(config: str, environment: str) -> str:
    """The id of a config: half_cheetah_aep_r of half_cheetah is fans/HalfCheetah-AEP-R-v0.

    The environment's name is one word in capitals and small letters. So are other words of the
    config; but those of up to three letters, or with a digit, are abbreviations.
    """
    rest = config.removeprefix(environment)
    parts = [_joined(environment)] if rest != config else []
    for short, words in itertools.groupby(filter(None, rest.split("_")), _is_short):
        parts.extend(map(str.upper, words) if short else [_joined("_".join(words))])
    return f"fans/{'-'.join(parts)}-v0"


def _is_short(word: str) -> bool:
    return len(word) <= 3 or any(map(str.isdigit, word))


def _joined(words: str) -> str:
    return "".join(word.capitalize() for word in words.split("_"))


def register_envs() -> None:
    """Makes the ids known to Gymnasium; `import fans_rl` does."""
    entry: dict[str, Any] = {"entry_point": "fans_rl.envs:FansEnv", "vector_entry_point": "fans_rl.envs:FansVectorEnv"}
    gymnasium.register("fans/Task-v0", **entry)
    for name in config_names():
        found = re.search(r"^name\s*=\s*(\w+)", (CONFIGS / f"{name}.ini").read_text(encoding="utf-8"), re.M)
        gymnasium.register(env_id(name, found[1] if found else ""), kwargs={"config": name}, **entry)
