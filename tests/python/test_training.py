"""fans_rl.training: the library's algorithms on the package's environments and on anyone's."""

import pathlib
import subprocess
import tempfile

import fans_rl
import gymnasium
import numpy as np
from common import NETWORKS, SMALL, SOURCE, changing_gravity, refused
from fans_rl import FANS, SAC, Agent, Oracle
from gymnasium.vector import AutoresetMode, SyncVectorEnv

FLIP = "fans/Pendulum-Flip-v0"


def metrics(folder):
    return pathlib.Path(folder, "metrics.csv").read_bytes()


def by_the_tool(build, folder, algo, options):
    words = [word for name, section in options.items() for key, value in section.items()
             for word in ("--set", f"{name}.{key}={value}")]
    subprocess.run([build / "fans", "train", SOURCE / "configs" / "pendulum_flip.ini", "--algo", algo, "--steps", "800",
                    "--threads", "1", "--quiet", "--out", folder, "--set", "train.seed=3", *words], check=True, capture_output=True)
    return metrics(pathlib.Path(folder, "seed-3"))


def test_same_run_as_the_tools(build):
    for maker, options in (FANS, SMALL), (SAC, {"sac": NETWORKS}), (Oracle, {"sac": NETWORKS}):
        with tempfile.TemporaryDirectory() as folder:
            agent = maker(FLIP, run=f"{folder}/ours", seed=3, **options).learn(800)
            assert agent.steps == 800 and agent.run.result["status"] == "done"
            assert metrics(f"{folder}/ours") == by_the_tool(build, f"{folder}/theirs", agent.algo, options), maker


def stop_at(steps):
    return lambda agent: agent.steps < steps


def test_resumes_bit_for_bit(build):
    with tempfile.TemporaryDirectory() as folder:
        whole = FANS(FLIP, run=f"{folder}/whole", **SMALL).learn(800)
        parts = FANS(FLIP, run=f"{folder}/parts", **SMALL)
        assert parts.learn(800, stop_at(333)).steps == 333
        assert parts.learn(800, stop_at(590)).steps == 590
        parts = FANS(FLIP, run=f"{folder}/parts", **SMALL).learn(800)
        assert parts.steps == 800 and metrics(f"{folder}/parts") == metrics(f"{folder}/whole")
        assert parts.learn(800).steps == 800  # it has them already
        longer = [agent.learn(1200) for agent in (whole, parts)]
        assert metrics(f"{folder}/parts") == metrics(f"{folder}/whole")
        assert [len(agent.run.metrics) for agent in longer] == [6, 6]
        refused(lambda: parts.learn(800), "has 1200 steps already", ValueError)
        refused(lambda: SAC(FLIP, run=f"{folder}/parts").learn(1200), "holds a different run", ValueError)


def test_many_worlds(build):
    options = SMALL | {"fans": {"initial": 600}}

    def ours(folder):
        return FANS(gymnasium.make_vec(FLIP, 3, copy=False), run=folder, **options)

    with tempfile.TemporaryDirectory() as folder:
        ours(f"{folder}/whole").learn(1200)
        ours(f"{folder}/parts").learn(1200, stop_at(500))
        assert ours(f"{folder}/parts").learn(1200).steps == 1200
        makers = [lambda: gymnasium.make(FLIP)] * 3
        FANS(makers, run=f"{folder}/makers", **options).learn(1200)
        sync = SyncVectorEnv(makers, autoreset_mode=AutoresetMode.SAME_STEP)
        FANS(sync, run=f"{folder}/sync", segments="info", **options).learn(1200)
        found = [metrics(f"{folder}/{name}") for name in ("whole", "parts", "makers", "sync")]
        assert found[0] == found[1] == found[2]
        returns = [[line.split(b",")[3] for line in one.splitlines()[1:4]] for one in found]
        assert returns[0] == returns[3]  # the random episodes; its config knows no factors


def test_worlds_of_several_configs(build):
    mixed = SAC([lambda: gymnasium.make(FLIP), lambda: gymnasium.make("fans/Pendulum-Gravity-v0")], sac=NETWORKS).learn(400)
    same = SAC([lambda: gymnasium.make(FLIP)] * 2, sac=NETWORKS).learn(400)
    assert [agent.run.config["env"]["name"] for agent in (mixed, same)] == ["own", "pendulum"]


class Recorder(gymnasium.Wrapper):
    """Keeps the actions it was given and the lengths of its episodes."""

    def __init__(self, env):
        super().__init__(env)
        self.actions, self.lengths = [], []

    def reset(self, **arguments):
        self.lengths.append(0)
        return self.env.reset(**arguments)

    def step(self, action):
        self.actions.append(action)
        self.lengths[-1] += 1
        return self.env.step(action)


def test_pendulum(build):
    env = Recorder(gymnasium.make("Pendulum-v1"))
    agent = FANS(env, **SMALL).learn(600)
    done = np.array(env.actions)
    assert done.dtype == np.float32 and done.shape == (600, 1) and np.abs(done).max() <= 2
    assert (np.abs(done) > 1).mean() > 0.3  # the whole range
    table = agent.run.metrics
    assert table["length"].tolist() == [200] * 3 and -2000 < table["return"].mean() < -500
    obs, _ = env.reset(seed=0)
    action, _ = agent.predict(obs, deterministic=True)
    assert env.action_space.contains(action)
    folder = agent.path
    assert folder.exists()
    del agent
    assert not folder.exists()


def test_gravity_that_changes(build):
    ranges = {"gravity": (5, 15)}
    agent = FANS(changing_gravity(), factors=ranges, **SMALL).learn(800)
    truth = agent.run.beliefs["true.gravity"]
    assert truth.nunique() == 4 and truth.between(5, 15).all()
    assert agent.run.config["change.gravity"]["low"] == "5"
    Oracle(changing_gravity(), factors=ranges, sac=NETWORKS).learn(400)
    SAC([changing_gravity] * 2, sac=NETWORKS).learn(800)
    vector = SyncVectorEnv([changing_gravity] * 2, autoreset_mode=AutoresetMode.SAME_STEP)
    FANS(vector, factors=ranges, segments="info", **(SMALL | {"fans": {"initial": 600}})).learn(800)
    refused(lambda: Oracle(changing_gravity()), "say between which values they move: factors=", ValueError)
    refused(lambda: Oracle("Pendulum-v1", factors=ranges).learn(400), "info has no 'factors'", ValueError)


def test_an_environment_without_state_begins_an_episode(build):
    with tempfile.TemporaryDirectory() as folder:
        env = Recorder(gymnasium.make("Pendulum-v1"))
        FANS(env, run=folder, **SMALL).learn(800, stop_at(250))
        assert [n for n in env.lengths if n] == [200, 50]
        again = Recorder(gymnasium.make("Pendulum-v1"))
        FANS(again, run=folder, **SMALL).learn(800)
        assert [n for n in again.lengths if n] == [200, 200, 150]
        assert fans_rl.Run(folder).metrics["length"].tolist() == [200, 50, 200, 200, 150]


def test_checkpoints_on_the_way(build):
    with tempfile.TemporaryDirectory() as folder:
        def fail(agent):
            if agent.steps >= 450:
                raise RuntimeError("the simulator has crashed")

        def train(env, callback=None):
            return SAC(env, run=folder, sac=NETWORKS, train={"checkpoint_every": 100}).learn(800, callback)

        refused(lambda: train("Pendulum-v1", fail), "the simulator has crashed", RuntimeError)
        steps = []
        train("Pendulum-v1", lambda agent: steps.append(agent.steps))
        assert steps[0] in (201, 401) and steps[-1] == 800  # checkpoints come with the end of an episode


class Endless(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1, 1, (2, 2))
    action_space = gymnasium.spaces.Box(-1, 3, (1, 2))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.resets = getattr(self, "resets", 0) + 1
        return np.zeros((2, 2), np.float32), {}

    def step(self, action):
        assert action.shape == (1, 2) and -1 <= action.min() and action.max() <= 3
        return np.full((2, 2), 0.5, np.float32), 1.0, False, False, {}


def test_shapes_and_horizons(build):
    env = Endless()
    agent = SAC(env, horizon=50, sac=NETWORKS).learn(200)
    assert env.resets == 5 and agent.run.metrics["return"].tolist() == [50] * 4
    action, _ = agent.predict(np.zeros((2, 2)))
    assert action.shape == (1, 2)
    actions, _ = agent.predict(np.zeros((3, 2, 2)))
    assert actions.shape == (3, 1, 2)


def test_callbacks_can_act(build):
    seen = []

    def look(agent):
        if agent.steps == 300:
            seen.append(agent.predict(np.zeros(3), deterministic=True)[0])

    agent = Agent(FLIP, algo="stack", sac=NETWORKS).learn(400, look)
    assert len(seen) == 1 and agent.run.algo == "stack"


def test_every_algorithm(build):
    names = subprocess.run([build / "fans", "list", "algos"], check=True, capture_output=True, text=True).stdout
    for algo in "rsac", "zeus", "lilac", "varibad", "random":
        assert algo in names
        Agent("Pendulum-v1", "small", algo=algo).learn(200)


def test_mistakes_are_one_line(build):
    make = gymnasium.make
    next_step = SyncVectorEnv([lambda: make("Pendulum-v1")])
    refused(lambda: FANS(next_step), "mode NEXT_STEP; it must be SAME_STEP", ValueError)
    refused(lambda: FANS("CartPole-v1"), "actions are a Discrete, not a Box", TypeError)
    refused(lambda: FANS(3), "env: a int; it must be", TypeError)
    refused(lambda: FANS(Endless()), "say horizon=", ValueError)
    refused(lambda: FANS("Pendulum-v1", segments="often"), "one of episode, info, never", ValueError)
    refused(lambda: FANS("Pendulum-v1", segments="info").learn(200), "has no 'change'", ValueError)
    refused(lambda: FANS("Pendulum-v1", "smal"), "there is no preset 'smal'", ValueError)
    refused(lambda: FANS("Pendulum-v1", lr=3), "options come by section", TypeError)
    refused(lambda: FANS("Pendulum-v1", sac={"lrr": 3}), "lrr", ValueError)
    refused(lambda: Agent("Pendulum-v1", algo="fns"), "fns", ValueError)
    refused(lambda: FANS([lambda: make("Pendulum-v1"), lambda: make(FLIP)]), "environment 1 has other spaces", ValueError)
    refused(lambda: SAC("fans/Pendulum-Pixels-v0").learn(200), "worlds of your own give no pixels", NotImplementedError)
    refused(lambda: Oracle(FLIP, sac=NETWORKS).learn(200).predict(np.zeros(3)), "must be told the true factors",
            NotImplementedError)
