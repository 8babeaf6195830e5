"""tigramite's PCMCI on the steps of `fans rollout --csv`: which states, actions and factors drive each state and the
reward. The factors, hidden from FANS, are shown to it. Needs numpy and tigramite."""
import csv

import numpy as np
from tigramite import data_processing
from tigramite.independence_tests.parcorr import ParCorr
from tigramite.pcmci import PCMCI


def episodes_in(path):
    """For each episode an array (steps + 1, variables): states and the reward that led there, then the action and the
    factors of the step that follows. So every cause acts with a lag of one row. And the number of each kind."""
    with open(path) as f:
        names, *rows = csv.reader(f)
    x = np.array([[float(cell or "nan") for cell in row] for row in rows])
    kinds = {kind: [i for i, name in enumerate(names) if name.startswith(kind)]
             for kind in ("obs.", "action.", "theta_", "next_obs.")}
    reward = names.index("reward")
    found = {}
    for number in np.unique(x[:, 0]):
        steps = x[x[:, 0] == number]
        last = steps[-1:]
        states = np.vstack([steps[:, kinds["obs."]], last[:, kinds["next_obs."]]])
        rewards = np.concatenate([steps[:1, reward], steps[:, reward]])
        drives = [i for kind in ("action.", "theta_") for i in kinds[kind]]
        found[int(number)] = np.column_stack([states, rewards, np.vstack([steps[:, drives], last[:, drives]])])
    return found, len(kinds["obs."]), len(kinds["action."]), len(kinds["theta_"])


def levels(path):
    """p-values: effects (the states, then the reward) by causes (states, actions, then factors)."""
    series, d, m, n = episodes_in(path)
    causes = [*range(d), *range(d + 1, d + 1 + m + n)]
    links = {v: ({(c, -1): "-?>" for c in causes} if v <= d else {}) for v in range(d + 1 + m + n)}
    frame = data_processing.DataFrame(series, analysis_mode="multiple")
    found = PCMCI(dataframe=frame, cond_ind_test=ParCorr(), verbosity=0).run_pcmci(
        link_assumptions=links, tau_min=1, tau_max=1, pc_alpha=0.01)
    return found["p_matrix"][causes, : d + 1, 1].T


def edges_at(p, level, d, m):
    """Effects by causes, in the order of results/graphs.py: the last cause is any hidden factor."""
    seen = p[:, : d + m] <= level
    return np.column_stack([seen, (p[:, d + m:] <= level).any(1)])


def f1(found, truth):
    """Of edges between states, from actions and to the reward, and of which states factors touch."""
    found, truth = np.asarray(found, bool).copy(), np.asarray(truth, bool).copy()
    found[-1, -1] = truth[-1, -1] = False  # the reward's own factor is not looked for
    return 2 * (found & truth).sum() / (found.sum() + truth.sum())


def best(p, truth, d, m):
    """The highest F1 over all levels, which only the truth can choose; and that level."""
    return max((f1(edges_at(p, level, d, m), truth), level) for level in np.append(np.unique(p), 0))
