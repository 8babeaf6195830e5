"""Recurrent SAC: losses of policy and critics and their gradients through each one's memory, in double precision, against
PyTorch's autograd."""

import json
import subprocess

import numpy as np
import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)
GAMMA, UNITS = 0.99, 6


def tensors(group, grad=False):
    return {k.split(".", 1)[1]: torch.tensor(v["value"]).reshape(v["shape"]).requires_grad_(grad) for k, v in group.items()}


def mlp(p, name, x, members):
    x = F.relu(x @ p[f"{name}.1.W"][0] + p[f"{name}.1.b"].reshape(-1))
    for layer in ("2", "out"):
        W, b = p[f"{name}.{layer}.W"], p[f"{name}.{layer}.b"].reshape(-1)
        shape = x.shape[:-1]
        x = torch.einsum("...ni,nio->...no", x.reshape(*shape, members, -1), W).reshape(*shape, -1) + b
        x = F.relu(x) if layer == "2" else x
    return x


def dense(p, name, x):
    return F.relu(x @ p[f"{name}.W"][0] + p[f"{name}.b"].reshape(-1))


def remember(p, w):
    """The hidden states of an LSTM with gates i, f, g, o that is cleared where an episode begins."""
    rows = [dense(p, name, w[key]) for name, key in (("obs", "obs"), ("action", "last_action"), ("reward", "last_reward"))]
    rows, reset = torch.cat([*rows, w["first"]], -1), w["first"]
    h = c = torch.zeros(rows.shape[1], UNITS)
    out = []
    for t in range(rows.shape[0]):
        h, c = h * (1 - reset[t]), c * (1 - reset[t])
        i, f, g, o = (rows[t] @ p["lstm.W"][0] + p["lstm.b"].reshape(-1) + h @ p["lstm.h.W"][0]).chunk(4, 1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
        out.append(h)
    return torch.stack(out)


def policy(p, h, obs, eps):
    mean, log_std = mlp(p, "pi", torch.cat([h, dense(p, "shortcut", obs)], -1), 1).chunk(2, -1)
    log_std = log_std.clamp(-20, 2)
    u = mean + log_std.exp() * eps
    logp = torch.distributions.Normal(mean, log_std.exp()).log_prob(u) - torch.log(1 - torch.tanh(u) ** 2)
    return torch.tanh(u), logp.sum(-1, keepdim=True)


def values(p, h, obs, action):
    return mlp(p, "q", torch.cat([h, dense(p, "shortcut", torch.cat([obs, action], -1))], -1), 2)


def close(name, ours, theirs, tolerance=1e-6):
    theirs = theirs.detach().numpy().ravel()
    error = np.abs(np.asarray(ours).ravel() - theirs).max() / max(1e-3, np.abs(theirs).max())
    assert error <= tolerance, (name, error)
    return error


def test_recurrent_sac_learns_as_pytorch_would(build):
    d = json.loads(subprocess.run([build / "parity_recurrent_double"], check=True, capture_output=True, text=True).stdout)
    w = {k: torch.tensor(v["value"]).reshape(v["shape"]) for k, v in d["window"].items()}
    p = {name: tensors(group, name not in ("target", "target_memory", "temp")) for name, group in d["before"].items()}
    temp = p["temp"]["log"].exp().reshape(1)
    eps_next, eps = (torch.tensor(d[k]).reshape(w["action"].shape) for k in ("noise_next", "noise"))
    obs, after = w["obs"][:-1], w["obs"][1:]
    mean = lambda x: (x * w["weight"]).sum() / w["weight"].sum()

    h, h_critic, h_target = (remember(p[f"{name}_memory"], w) for name in ("actor", "critic", "target"))
    with torch.no_grad():
        a, logp = policy(p["actor"], h[1:], after, eps_next)
        q = values(p["target"], h_target[1:], after, a).min(-1, keepdim=True).values
        y = w["reward"] + GAMMA * (1 - w["terminated"]) * (q - temp * logp)
    q = values(p["critic"], h_critic[:-1], obs, w["action"])
    critic_loss = 0.5 * mean(((q - y) ** 2).sum(-1, keepdim=True))
    critic_loss.backward()

    a, logp = policy(p["actor"], h[:-1], obs, eps)
    q = values({k: v.detach() for k, v in p["critic"].items()}, h_critic[:-1].detach(), obs, a)
    actor_loss = mean(temp * logp - q.min(-1, keepdim=True).values)
    actor_loss.backward()

    assert w["first"].sum() > 0 and 0 < w["weight"].mean() < 1  # both matter
    close("critic loss", d["losses"]["critic"], critic_loss)
    close("actor loss", d["losses"]["actor"], actor_loss)
    for name, group in d["gradients"].items():
        worst = max(close(f"gradient of {name} {k}", group[f"{name}.{k}"]["value"], v.grad) for k, v in p[name].items())
        print(f"  {name}: gradients within {worst:.1e} of PyTorch's")
