# %% [markdown]
# # Stable-Baselines3 and FANS side by side
#
# One changing task, three agents: SB3's SAC, which is told nothing; the same SAC with the true
# factor appended to its observations (`tell="what"`), an oracle; and FANS, which is only told when
# the world may have changed. It needs stable-baselines3. The whole takes about half an hour on one
# core, nearly all of it SB3's; with `FANS_QUICK=1` it only shows that everything works.

# %%
import os

import fans_rl
import gymnasium
import numpy as np
from stable_baselines3 import SAC
from stable_baselines3.common.evaluation import evaluate_policy

QUICK = "FANS_QUICK" in os.environ
STEPS, EPISODES = (400, 1) if QUICK else (20_000, 20)
TASK = "fans/Pendulum-Flip-v0"
small = {"net_arch": [16, 16]} if QUICK else {"net_arch": [64, 64]}

# %% [markdown]
# ## Training

# %%
blind = SAC("MlpPolicy", gymnasium.make(TASK, tell="nothing"), policy_kwargs=small, seed=0).learn(STEPS)
told = SAC("MlpPolicy", gymnasium.make(TASK, tell="what"), policy_kwargs=small, seed=0).learn(STEPS)
quick = {"fans": {"initial": 200}, "fnvae": {"updates": 20, "window": 20}, "sac": {"random_steps": 100}} if QUICK else {}
fans = fans_rl.FANS(TASK, **quick).learn(STEPS)

# %% [markdown]
# ## Evaluation
#
# All three by SB3's own `evaluate_policy`, in the same new lifetime. It shows a policy no rewards, so
# FANS listens to the environment.


# %%
def score(model, env):
    env.reset(seed=1)
    returns, _ = evaluate_policy(model, env, n_eval_episodes=EPISODES, return_episode_rewards=True, warn=False)
    return f"{np.mean(returns):8.0f} ± {np.std(returns):.0f}"


print("SB3's SAC, told nothing      ", score(blind, gymnasium.make(TASK, tell="nothing")))
print("SB3's SAC, told the factor   ", score(told, gymnasium.make(TASK, tell="what")))
print("FANS, told when it may change", score(fans.policy, fans.listen(gymnasium.make(TASK))))
