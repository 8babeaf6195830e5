"""What the tests of the package share."""

import contextlib
import pathlib
import re
import warnings

import gymnasium
import numpy as np

SOURCE = pathlib.Path(__file__).parents[2]
NETWORKS = {"width": 16, "batch": 16, "random_steps": 100}
SMALL = {"sac": NETWORKS, "fans": {"initial": 400},
         "fnvae": {"updates": 20, "window": 20, "encoder": 8, "lstm": 8, "dense": 8}}


def ids():
    """Every id of a config."""
    return [name for name in gymnasium.registry if name.startswith("fans/") and name != "fans/Task-v0"]


def refused(call, line, kind=Exception):
    """The call raises one line that says so."""
    try:
        call()
    except kind as error:
        assert re.search(line, str(error)) and "\n" not in str(error), repr(error)
    else:
        raise AssertionError(f"not refused: {line}")


@contextlib.contextmanager
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


class Gravity(gymnasium.Wrapper):
    """Pendulum-v1 whose gravity is drawn anew in every episode; info tells it and when it changed."""

    def reset(self, **arguments):
        obs, info = self.env.reset(**arguments)
        self.unwrapped.g = float(self.np_random.uniform(5, 15))
        return obs, info | self._info(True)

    def step(self, action):
        *outcome, info = self.env.step(action)
        return *outcome, info | self._info(False)

    def _info(self, change):
        return {"factors": {"gravity": self.unwrapped.g}, "change": change}


def changing_gravity():
    return Gravity(gymnasium.make("Pendulum-v1"))


def actions(count, width, rows=None):
    """The same for every test: within bounds, never constant."""
    shape = (count, width) if rows is None else (count, rows, width)
    return np.random.default_rng(3).uniform(-1, 1, shape).astype(np.float32)
