"""fans_rl.envs: every config is an environment that Gymnasium accepts, and is the C library's."""

import json
import pathlib
import subprocess
import sys
import tempfile
from ctypes.util import find_library
from importlib.util import find_spec

import fans_rl
import gymnasium
import numpy as np
from common import actions, ids, no_warnings, refused, SOURCE
from fans_rl._library import check, ffi, lib
from fans_rl.envs import env_id
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from run import Skip

SIGNATURES = pathlib.Path(__file__).parent / "signatures.json"
FLIP = "fans/Pendulum-Flip-v0"


def test_every_config_has_an_id(build):
    assert len(ids()) == len(list((SOURCE / "configs").glob("*.ini")))
    assert env_id("half_cheetah_aep_r", "half_cheetah") == "fans/HalfCheetah-AEP-R-v0"
    assert env_id("half_cheetah_aep_d_gravity_friction", "half_cheetah") == "fans/HalfCheetah-AEP-D-GravityFriction-v0"
    assert env_id("half_cheetah_1d1r", "half_cheetah") == "fans/HalfCheetah-1D1R-v0"
    assert env_id("pendulum", "pendulum") == "fans/Pendulum-v0"
    assert env_id("mine", "pendulum") == "fans/Mine-v0"
    assert gymnasium.make("fans_rl:fans/Minitaur-Cont-D-v0").spec.kwargs["config"] == "minitaur_cont_d"


def test_gymnasium_has_no_complaints(build):
    for name in ids():
        for tell in "when", "what":
            with no_warnings():
                env = gymnasium.make(name, tell=tell, disable_env_checker=True).unwrapped
                check_env(env, skip_render_check=tell == "what")
    with no_warnings():  # it would complain
        refused(lambda: check_env(gymnasium.make("Pendulum-v1").unwrapped), "normalized space", UserWarning)


class Raw:
    """A world of the library, without the package."""

    def __init__(self, config, seed):
        out = ffi.new("fans_config **")
        check(lib.fans_config_new(out, str(config).encode(), ffi.NULL))
        config = ffi.gc(out[0], lib.fans_config_free)
        check(lib.fans_config_set(config, b"train.seed", str(seed).encode()))
        out = ffi.new("fans_worlds **")
        check(lib.fans_worlds_open(out, config, 1, 1))
        self.worlds = ffi.gc(out[0], lib.fans_worlds_free)
        self.view = ffi.new("fans_view *", {"size": ffi.sizeof("fans_view")})
        check(lib.fans_worlds_view(self.worlds, self.view))

    def step(self, action):
        for k, a in enumerate(action):
            self.view.action[k] = a
        check(lib.fans_worlds_step(self.worlds))


def test_a_hundred_steps_are_the_librarys(build):
    for name in ids():
        env = gymnasium.make(name).unwrapped
        obs, info = env.reset(seed=7)
        raw, width = Raw(SOURCE / "configs" / f"{env.spec.kwargs['config']}.ini", 7), len(obs)
        for action in actions(100, env.action_space.shape[0]):
            assert obs.tolist() == list(raw.view.obs[0:width]), name
            assert info["factors"].tolist() == list(raw.view.factors[0:len(env.factors)])
            assert (info["segment"], info["change"]) == (raw.view.segment[0], bool(raw.view.change[0]))
            obs, reward, terminated, truncated, info = env.step(action)
            raw.step(action)
            assert obs.tolist() == list(raw.view.final_obs[0:width]), name
            assert (reward, terminated, truncated) == (raw.view.reward[0], raw.view.terminated[0], raw.view.truncated[0])
            if terminated or truncated:
                obs, info = env.reset()


def signature(name):
    """Twenty steps as a few numbers. They may differ in the last digits from machine to machine."""
    env = gymnasium.make(name, tell="what").unwrapped
    seen = [env.reset(seed=0)[0]]
    rewards = []
    for action in actions(20, env.action_space.shape[0]):
        obs, reward, *_ = env.step(action)
        seen.append(obs)
        rewards.append(reward)
    return [len(seen[0]), float(np.abs(seen).mean()), float(np.std(seen)), float(np.sum(rewards))]


def test_an_id_keeps_its_behaviour(build):
    """A change here is another version of the id: fans/…-v1. `python test_envs.py` adds new ids."""
    stored = json.loads(SIGNATURES.read_text())
    assert len(stored) >= 35 and set(stored) <= set(ids()), set(stored) - set(ids())
    for name, numbers in stored.items():
        assert np.allclose(signature(name), numbers, rtol=1e-3, atol=1e-4), (name, signature(name), numbers)


def test_lifetimes_and_episodes(build):
    env = gymnasium.make(FLIP)
    first, info = env.reset(seed=5)
    assert info["segment"] == 0
    second, info = env.reset()  # without a step there is nothing to give up
    assert np.array_equal(first, second) and info["segment"] == 0
    env.step(np.zeros(1, np.float32))
    third, info = env.reset()
    assert not np.array_equal(first, third) and info["segment"] == 1 and info["change"]
    again, info = env.reset(seed=5)
    assert np.array_equal(first, again) and info["segment"] == 0
    steps, ended = 0, False
    while not ended:
        obs, _, _, ended, info = env.step(np.zeros(1, np.float32))
        steps += 1
    assert steps == env.unwrapped.horizon == 200
    assert info["segment"] == 0 and not info["change"]  # of the episode that ended
    assert env.reset()[1]["segment"] == 1
    assert not np.array_equal(gymnasium.make(FLIP).reset()[0], gymnasium.make(FLIP).reset()[0])


def test_what_is_told(build):
    told = gymnasium.make(FLIP, tell="what")
    plain, silent = gymnasium.make(FLIP), gymnasium.make(FLIP, tell="nothing")
    for seed in range(5):
        obs, info = told.reset(seed=seed)
        same, _ = plain.reset(seed=seed)
        torque = [f.name for f in told.unwrapped.factors].index("torque")
        assert np.array_equal(obs[:-1], same) and obs[-1] == info["factors"][torque]
        assert silent.reset(seed=seed)[1] == {} and silent.step([0.0])[-1] == {}
    refused(lambda: gymnasium.make(FLIP, tell="all"), "tell = 'all': one of when, nothing, what")


def test_any_schedule(build):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "mine.ini")
        path.write_text("[env]\nname = pendulum\n[change.gravity]\nclock = episode\nfunction = uniform\nlow = 5\nhigh = 9\n")
        env = gymnasium.make("fans/Task-v0", config=path, set={"env": {"horizon": 30}, "change.gravity.high": 6}).unwrapped
    assert env.horizon == 30
    gravity = next(f for f in env.factors if f.moves)
    assert (gravity.name, gravity.start, gravity.end) == ("gravity", 5, 6) and gravity.low <= 5 and gravity.help
    env.reset(seed=1)
    env.hold("gravity", 5.5)
    assert env.step([0.0])[-1]["factors"][env.factors.index(gravity)] == 5.5
    refused(lambda: env.hold("gravty", 1), "did you mean 'gravity'", ValueError)
    refused(lambda: gymnasium.make("fans/Task-v0", config="pendulum_flop"), "did you mean 'pendulum_flip'")
    refused(lambda: gymnasium.make("fans/Task-v0", config="pendulum", set={"env.horizn": 3}), "horizon")


def test_vectors_are_single_environments(build):
    for copy in True, False:
        envs = gymnasium.make_vec(FLIP, 3, copy=copy, threads=2)
        assert envs.metadata["autoreset_mode"] == AutoresetMode.SAME_STEP
        singles = [gymnasium.make(FLIP) for _ in range(3)]
        obs, info = envs.reset(seed=4)
        moments = [env.reset(seed=4 + i) for i, env in enumerate(singles)]
        for step in actions(450, 1, 3):
            assert obs.dtype == np.float32 and obs.tolist() == [o.tolist() for o, _ in moments]
            assert info["segment"].tolist() == [i["segment"] for _, i in moments]
            assert info["factors"].tolist() == [i["factors"].tolist() for _, i in moments]
            obs, reward, terminated, truncated, info = envs.step(step)
            for i, env in enumerate(singles):
                last, r, te, tr, told = env.step(step[i])
                assert (r, te, tr) == (reward[i], terminated[i], truncated[i])
                if te or tr:
                    assert np.array_equal(info["final_obs"][i], last) and info["_final_obs"][i]
                moments[i] = env.reset() if te or tr else (last, told)
        obs, info = envs.reset(options={"reset_mask": np.array([False, True, False])})
        assert info["segment"].tolist() == [2, 3, 2]
        envs.close()
        obs.sum()  # arrays outlive the environment
        refused(lambda: envs.unwrapped.step(step), "set of worlds is NULL", ValueError)


def test_worlds_go_on_from_a_state(build):
    env, other = gymnasium.make(FLIP).unwrapped, gymnasium.make(FLIP).unwrapped
    env.reset(seed=2)
    for action in actions(150, 1):
        env.step(action)
    other.set_state(env.get_state())
    for action in actions(100, 1):
        ours, theirs = env.step(action), other.step(action)
        assert np.array_equal(ours[0], theirs[0]) and ours[1:4] == theirs[1:4]
        if ours[3]:
            env.reset(), other.reset()
    refused(lambda: other.set_state(b"too short"), "a state of this task has .* bytes, not 9", ValueError)


def test_pictures(build):
    env = gymnasium.make("fans/HalfCheetah-AEP-R-v0", render_mode="rgb_array", width=64, height=48)
    env.reset(seed=0)
    picture = env.render()
    assert picture.shape == (48, 64, 3) and picture.dtype == np.uint8 and picture.std() > 5
    refused(lambda: gymnasium.make("fans/Fnmdp-AEP-v0", render_mode="rgb_array"), "render_mode = 'rgb_array'")
    assert fans_rl.FansVectorEnv(2, "pendulum", render_mode="rgb_array").render()[1].shape == (480, 480, 3)


def test_pictures_leave_room_for_another_llvm(build):
    """Drawing without a GPU loads an LLVM; that of PyTorch's Triton must still find its own symbols."""
    if not (find_spec("triton") and find_library("OSMesa")):
        raise Skip("Triton or OSMesa is not installed")
    program = """
import gymnasium, fans_rl
env = gymnasium.make("fans/HalfCheetah-AEP-R-v0", render_mode="rgb_array")
env.reset()
env.render()
import triton"""
    subprocess.run([sys.executable, "-c", program], check=True)


if __name__ == "__main__":
    SIGNATURES.write_text(json.dumps({name: signature(name) for name in ids()}, indent=1) + "\n")
