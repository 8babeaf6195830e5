# %% [markdown]
# # First steps
#
# A pendulum whose motor is wired the wrong way round in some episodes, at random. Nobody tells the
# agent when. FANS has to notice; SAC averages over both; the oracle is told.
#
# Run it as a script or open it as a notebook: cells begin with `# %%`. It takes about two minutes on
# one core. With `FANS_QUICK=1` it only shows that everything works.

# %%
import os

import fans_rl
import gymnasium
import numpy as np

QUICK = "FANS_QUICK" in os.environ
STEPS = 2_600 if QUICK else 20_000

# %% [markdown]
# ## The world
#
# `reset(seed=…)` begins a lifetime, `reset()` its next episode. `info` says what holds for the step
# to come: the true factors, and whether it is the first of a segment.

# %%
env = gymnasium.make("fans/Pendulum-Flip-v0")
obs, info = env.reset(seed=0)
moving = [k for k, factor in enumerate(env.unwrapped.factors) if factor.moves]
for episode in range(5):
    values = {env.unwrapped.factors[k].name: float(info["factors"][k]) for k in moving}
    print(f"episode {episode}: {values}, segment {info['segment']}")
    env.step(env.action_space.sample())
    obs, info = env.reset()

# %% [markdown]
# ## Three agents
#
# Options of the config go by section. On environments of the package a run is one of `fans train`.

# %%
options = {"fans": {"initial": 2000}, "fnvae": {"updates": 100}} if QUICK else {}
agents = {
    "fans": fans_rl.FANS("fans/Pendulum-Flip-v0", **options),
    "sac": fans_rl.SAC("fans/Pendulum-Flip-v0"),
    "oracle": fans_rl.Oracle("fans/Pendulum-Flip-v0"),
}
for name, agent in agents.items():
    agent.learn(STEPS)
    print(f"{name:7} mean return of the last ten episodes: {agent.run.final_return(10):7.0f}")

# %% [markdown]
# ## Acting
#
# `predict` has the signature of Stable-Baselines3, and takes the last step's reward: the belief
# learns from it.

# %%
policy, returns = agents["fans"].policy, []
for seed in range(4):
    (obs, _), state, reward, ended = env.reset(seed=seed), None, None, False
    total, start = 0.0, True
    while not ended:
        action, state = policy.predict(obs, state, start, deterministic=True, reward=reward)
        obs, reward, terminated, truncated, _ = env.step(action)
        ended, start, total = terminated or truncated, False, total + reward
    returns.append(total)
print("returns:", np.round(returns), "belief:", np.round(state.belief[0, :policy.theta], 2))

# %% [markdown]
# ## What it found
#
# The causal graph that FANS learned, as a NetworkX graph, and beliefs beside the truth as pandas.

# %%
run = agents["fans"].run
print("the reward depends on", sorted(run.graph.predecessors("r")))
print(run.beliefs.groupby("true.torque")[["theta0", "theta1"]].mean())
