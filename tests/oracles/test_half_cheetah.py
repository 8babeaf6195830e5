"""half_cheetah against Gymnasium's HalfCheetah.

Two comparisons from the same states under the same actions:
 - our program (its own MuJoCo) with Gymnasium's environment: within 1e-6 over 5 steps and 1e-3 over
   50 where the MuJoCo versions differ, equal in every bit where they are the same;
 - our MJCF with Gymnasium's, both in Python's MuJoCo: equal in every bit.

Needs gymnasium and mujoco; exits with 77 (skipped) without them. FANS_BUILD names the build folder.
"""
import os
import pathlib
import subprocess
import sys
import unittest

try:
    import mujoco
    import numpy as np
    from gymnasium.envs.mujoco.half_cheetah_v5 import HalfCheetahEnv
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("FANS_BUILD", ROOT / "build"))
STEPS = 50


def start(seed):
    """A state as a reset makes it, and actions that are exact in single precision."""
    rng = np.random.default_rng(seed)
    qpos, qvel = rng.uniform(-0.1, 0.1, 9), 0.1 * rng.standard_normal(9)
    actions = rng.uniform(-1, 1, (STEPS, 6)).astype(np.float32).astype(np.float64)
    return qpos, qvel, actions


def ours(qpos, qvel, actions):
    """(MuJoCo's version, observations and rewards) of our program."""
    words = " ".join(repr(float(x)) for x in np.concatenate([qpos, qvel, actions.ravel()]))
    done = subprocess.run([BUILD / "oracle_half_cheetah"], input=words, text=True, check=True,
                          capture_output=True)
    version, *lines = done.stdout.splitlines()
    return version, np.array([[float(x) for x in line.split()] for line in lines])


def gymnasiums(env, qpos, qvel, actions):
    """The same from Gymnasium, with our reward computed from its observations."""
    env.reset(seed=0)
    env.set_state(qpos, qvel)
    rows = []
    for action in actions:
        obs = env.step(action)[0]
        rows.append([*obs, -abs(obs[8] - 1.5) - 0.05 * np.sum(action**2)])
    return np.array(rows)


def rollout(model, qpos, qvel, actions):
    """States of a model in Python's MuJoCo, five sub-steps per action."""
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = qpos, qvel
    rows = []
    for action in actions:
        data.ctrl[:] = action
        mujoco.mj_step(model, data, 5)
        rows.append(np.concatenate([data.qpos, data.qvel]))
    return np.array(rows)


class HalfCheetah(unittest.TestCase):
    def setUp(self):
        self.env = HalfCheetahEnv()

    def tearDown(self):
        self.env.close()

    def test_program(self):
        worst5 = worst50 = 0.0
        for seed in range(20):
            qpos, qvel, actions = start(seed)
            version, got = ours(qpos, qvel, actions)
            want = gymnasiums(self.env, qpos, qvel, actions)
            error = np.abs(got - want)
            worst5, worst50 = max(worst5, error[:5].max()), max(worst50, error.max())
        print(f"program: MuJoCo {version} against {mujoco.__version__}, 20 starts: "
              f"largest difference {worst5:.2g} over 5 steps, {worst50:.2g} over {STEPS}")
        if version == mujoco.__version__:
            self.assertEqual(worst50, 0)
        self.assertLess(worst5, 1e-6)
        self.assertLess(worst50, 1e-3)

    def test_model(self):
        model = mujoco.MjModel.from_xml_path(str(ROOT / "assets" / "half_cheetah.xml"))
        theirs = self.env.unwrapped.model
        np.testing.assert_array_equal(model.body_mass, theirs.body_mass)
        np.testing.assert_array_equal(model.body_inertia, theirs.body_inertia)
        for seed in range(20):
            qpos, qvel, actions = start(seed)
            got = rollout(model, qpos, qvel, actions)
            want = rollout(theirs, qpos, qvel, actions)
            np.testing.assert_array_equal(got, want)
        print(f"model: MuJoCo {mujoco.__version__}, 20 starts of {STEPS} steps: equal bits")


if __name__ == "__main__":
    unittest.main(verbosity=0)
