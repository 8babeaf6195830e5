"""Stable-Baselines3, the real one: accepts the environments, trains on them, evaluates our policies."""

import gymnasium
import numpy as np
from common import NETWORKS, SMALL, ids, no_warnings
from fans_rl import FANS, SAC
from run import Skip

try:
    import stable_baselines3
    import torch
    from stable_baselines3.common.env_checker import check_env
    from stable_baselines3.common.evaluation import evaluate_policy

    torch.set_num_threads(1)
except ImportError:
    stable_baselines3 = None


def need_sb3():
    if stable_baselines3 is None:
        raise Skip("stable-baselines3 is not installed")


def test_check_env_has_no_complaints(build):
    need_sb3()
    for name in ids():
        for tell in "when", "what":
            with no_warnings():
                check_env(gymnasium.make(name, tell=tell))


def test_its_sac_trains(build):
    """Two thousand steps; with small networks, which take a fraction of the time."""
    need_sb3()
    for name in "fans/Pendulum-Flip-v0", "fans/HalfCheetah-AEP-R-v0":
        model = stable_baselines3.SAC("MlpPolicy", name, policy_kwargs={"net_arch": [32, 32]}, batch_size=32, seed=0)
        model.learn(2000)
        assert model.num_timesteps == 2000 and model._n_updates == 1900
        mean, _ = evaluate_policy(model, model.get_env(), n_eval_episodes=1, warn=False)
        assert np.isfinite(mean)


def test_it_evaluates_our_policies(build):
    need_sb3()
    agent, env = FANS("fans/Pendulum-Flip-v0", **SMALL).learn(800), gymnasium.make("fans/Pendulum-Flip-v0")
    with no_warnings():
        returns, lengths = evaluate_policy(agent.policy, agent.listen(env), n_eval_episodes=3, warn=False,
                                           return_episode_rewards=True)
    assert lengths == [200] * 3 and -2500 < min(returns)
    sac = SAC("fans/Pendulum-Flip-v0", sac=NETWORKS).learn(600)
    assert np.isfinite(evaluate_policy(sac, env, n_eval_episodes=1, warn=False)[0])
