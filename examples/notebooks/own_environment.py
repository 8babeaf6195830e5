# %% [markdown]
# # Your own environment
#
# Any Gymnasium environment with Box observations and bounded Box actions will do. This is
# Gymnasium's pendulum; a wrapper draws its gravity anew in every episode.

# %%
import os
import tempfile

import fans_rl
import gymnasium

QUICK = "FANS_QUICK" in os.environ
STEPS = 1_000 if QUICK else 20_000


class Gravity(gymnasium.Wrapper):
    """Gravity changes between episodes. `info` may say so: for reports, and for the oracle."""

    def reset(self, **arguments):
        obs, info = self.env.reset(**arguments)
        self.unwrapped.g = float(self.np_random.uniform(5, 15))
        return obs, info | {"factors": {"gravity": self.unwrapped.g}, "change": True}

    def step(self, action):
        *outcome, info = self.env.step(action)
        return *outcome, info | {"factors": {"gravity": self.unwrapped.g}, "change": False}


def make():
    return Gravity(gymnasium.make("Pendulum-v1"))


# %% [markdown]
# ## Training
#
# `factors` says what may change and between which values; without it FANS learns just as well, but
# reports cannot show the truth. Actions are rescaled from the library's [-1, 1] to the
# environment's bounds. `segments` follows `info["change"]`; without that, every episode is one.
#
# The run has a folder, so the same lines resume it: here training is interrupted once.

# %%
folder = tempfile.mkdtemp()
model = {"fans": {"initial": 400}, "fnvae": {"updates": 20, "window": 20}} if QUICK else {}
networks = {"width": 32, "random_steps": 100} if QUICK else {}


def train(callback=None):
    agent = fans_rl.FANS(make(), run=f"{folder}/gravity", factors={"gravity": (5, 15)}, sac=networks, **model)
    return agent.learn(STEPS, callback)


train(lambda agent: agent.steps < STEPS // 2)
agent = train()
print(agent.run.metrics[["episode", "step", "return"]].tail())

# %% [markdown]
# ## Many worlds at once
#
# A list of functions that make an environment, or a vector environment in mode SAME_STEP.

# %%
many = fans_rl.SAC([make] * 4, sac=networks).learn(4 * STEPS // 10)
print(f"{many.steps} steps of four worlds, {len(many.run.metrics)} episodes")

# %% [markdown]
# ## Acting elsewhere
#
# `load` needs only the folder. It answers in the environment's own units.

# %%
policy, env = fans_rl.load(f"{folder}/gravity"), make()
(obs, _), state, reward = env.reset(seed=0), None, None
for _ in range(100):
    action, state = policy.predict(obs, state, deterministic=True, reward=reward)
    obs, reward, *_ = env.step(action)
print("after 100 steps: action", action, "reward", round(float(reward), 2))
