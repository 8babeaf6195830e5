"""fans_rl.acting: predict is the library's act and observe, with the signature of SB3."""

import functools
import pathlib
import subprocess
import sys
import tempfile
import warnings

import gymnasium
import numpy as np
from common import NETWORKS, SMALL, SOURCE, changing_gravity, no_warnings, refused
from fans_rl import FANS, SAC, load
from fans_rl._library import check, ffi, lib

FLIP = "fans/Pendulum-Flip-v0"


@functools.cache
def trained():
    return FANS(FLIP, **SMALL).learn(800)


class Raw:
    """One life of the library, without the package."""

    def __init__(self, run):
        out = ffi.new("fans_policy **")
        check(lib.fans_policy_open(out, str(run).encode(), ffi.NULL))
        self.policy = ffi.gc(out[0], lib.fans_policy_free)
        out = ffi.new("fans_life **")
        check(lib.fans_life_new(out, self.policy, 1, 0))
        self.life = ffi.gc(out[0], lib.fans_life_free)

    def act(self, obs, change, explore=False):
        action = ffi.new("float[1]")
        check(lib.fans_life_act(self.life, ffi.new("float[3]", list(obs)), ffi.new("uint8_t *", change), explore, action))
        return action[0]

    def observe(self, reward, obs):
        check(lib.fans_life_observe(self.life, ffi.NULL, ffi.new("float *", reward), ffi.NULL, ffi.new("float[3]", list(obs))))


def test_predict_is_the_librarys(build):
    for explore in False, True:
        policy, raw, env = load(trained().path), Raw(trained().path), gymnasium.make(FLIP)
        (obs, _), state, reward, start = env.reset(seed=1), None, None, True
        for _ in range(450):
            action, state = policy.predict(obs, state, start, not explore, reward=reward)
            assert action[0] == raw.act(obs, start, explore)
            before = obs
            obs, reward, terminated, truncated, _ = env.step(action)
            start = terminated or truncated
            if start:
                obs, reward = env.reset()[0], None
            else:
                raw.observe(reward, obs)
            assert obs is not before
        assert state.belief.shape == (1, 2 * policy.theta) and np.isfinite(state.belief).all()


def test_a_state_remembers(build):
    policy = load(trained().path)
    rng = np.random.default_rng(0)
    _, state = policy.predict(np.zeros(3), None, True, True)
    new = state.belief.copy()
    for _ in range(30):
        _, state = policy.predict(rng.normal(size=3), state, False, True, reward=-1.0)
    learned = state.belief.copy()
    assert not np.allclose(new, learned)
    policy.predict(np.zeros(3), state, True, True)  # a new episode: the belief goes on from there
    assert not np.allclose(state.belief, new, atol=1e-4)
    state.restart()
    policy.predict(np.zeros(3), state, True, True)
    assert np.allclose(state.belief, new)
    _, fresh = policy.predict(np.zeros(3), None, True, True)
    assert np.allclose(fresh.belief, new)


def test_rows_are_independent(build):
    policy, rng = load(trained().path), np.random.default_rng(1)
    many, single = None, [None] * 4
    for step in range(60):
        obs, reward, start = rng.normal(size=(4, 3)), rng.normal(size=4), rng.random(4) < 0.1
        actions, many = policy.predict(obs, many, start, True, reward=reward)
        assert actions.shape == (4, 1) and actions.dtype == np.float32
        for i in range(4):
            action, single[i] = policy.predict(obs[i], single[i], start[i:i + 1], True, reward=reward[i])
            assert np.array_equal(action, actions[i]), (step, i)
    refused(lambda: policy.predict(obs[:2], many), "obs has 2 rows, the state 4", ValueError)
    refused(lambda: policy.predict(obs, many, reward=[1.0, 2.0]), "2 values for 4 rows", ValueError)
    refused(lambda: policy.predict(np.full(3, np.nan)), "obs", ValueError)


def play(policy, env, told):
    """The actions of two episodes; `told` says who tells the rewards."""
    (obs, _), state, reward, start, actions = env.reset(seed=3), None, None, True, []
    for _ in range(400):
        action, state = policy.predict(obs, state, start, True, reward=reward if told else None)
        obs, reward, terminated, truncated, _ = env.step(action)
        start = terminated or truncated
        if start:
            (obs, _), reward = env.reset(), None
        actions.append(action[0])
    return np.array(actions)


def test_listening(build):
    policy = load(trained().path)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        deaf = play(policy, gymnasium.make(FLIP), False)
        play(policy, gymnasium.make(FLIP), False)
    assert len(caught) == 1 and "is told no rewards" in str(caught[0].message) and caught[0].filename == __file__
    told = play(policy, gymnasium.make(FLIP), True)
    policy = load(trained().path)
    with no_warnings():
        heard = play(policy, policy.listen(gymnasium.make(FLIP)), False)
        sac = SAC("Pendulum-v1", sac=NETWORKS).learn(200)
        sac.predict(np.zeros(3), sac.predict(np.zeros(3))[1])
    assert np.array_equal(told[:200], heard[:200])
    assert not np.array_equal(told[200:], heard[200:])  # it also hears how the episode ended
    assert not np.array_equal(deaf, told)
    refused(lambda: policy.listen(gymnasium.make_vec(FLIP, 2)), "listen to those of a vector one by one", TypeError)


def test_an_own_environment_gets_its_own_actions(build):
    with tempfile.TemporaryDirectory() as folder:
        FANS(changing_gravity(), run=f"{folder}/run", **SMALL).learn(600)
        policy, env = load(folder), changing_gravity()  # the folder above a single run
        (obs, _), state, reward, low = env.reset(seed=0), None, None, 0
        for _ in range(200):
            action, state = policy.predict(obs, state, reward=reward)
            assert env.action_space.contains(action)
            low = min(low, action[0])
            obs, reward, *_ = env.step(action)
        assert low < -1
        described = pathlib.Path(folder, "run", "spaces.json")
        right = described.read_text()
        wrong = {"{": "spaces.json: Expecting", "[1]": "no shapes and bounds",
                 right.replace("[3]", "[4]"): "not those of 3 observed numbers", right.replace("[-2.0]", "[2.0]"): "its bounds are not"}
        for text, line in wrong.items():
            described.write_text(text)
            refused(lambda: load(folder), line, ValueError)


def test_runs_of_the_tool(build):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([build / "fans", "train", SOURCE / "configs" / "pendulum_flip.ini", "--algo", "stack", "--steps", "400",
                        "--threads", "1", "--quiet", "--out", folder, "--set", "sac.width=16"], check=True, capture_output=True)
        policy = load(folder)
        action, state = policy.predict(np.zeros((5, 3)))
        assert action.shape == (5, 1) and state.belief is None and policy.algo == "stack"
        refused(lambda: load(f"{folder}/nothing"), "not the folder of a run", OSError)


OUTLIVES = """
import sys, fans_rl, gymnasium
env = gymnasium.make("fans/Pendulum-v0")
env.reset()
env.policy = fans_rl.load(sys.argv[1])
env.self = env  # collected at the very end, when the package is gone
"""


def test_handles_may_outlive_the_module(build):
    done = subprocess.run([sys.executable, "-c", OUTLIVES, trained().path], capture_output=True, text=True)
    assert done.returncode == 0, (done.returncode, done.stderr)
