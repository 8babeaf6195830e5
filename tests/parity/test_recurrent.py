"""A critic's gradient through a recurrent encoder, in double precision, against PyTorch's autograd."""

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


def policy(p, x, eps):
    mean, log_std = mlp(p, "pi", x, 1).chunk(2, -1)
    log_std = log_std.clamp(-20, 2)
    u = mean + log_std.exp() * eps
    logp = torch.distributions.Normal(mean, log_std.exp()).log_prob(u) - torch.log(1 - torch.tanh(u) ** 2)
    return torch.tanh(u), logp.sum(-1, keepdim=True)


def encode(p, obs, reset):
    """The hidden states of an LSTM with gates i, f, g, o that is cleared where an episode begins."""
    h = c = torch.zeros(obs.shape[1], UNITS)
    out = []
    for t in range(obs.shape[0]):
        h, c = h * (1 - reset[t]), c * (1 - reset[t])
        i, f, g, o = (obs[t] @ p["lstm.W"][0] + p["lstm.b"].reshape(-1) + h @ p["lstm.h.W"][0]).chunk(4, 1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
        out.append(h)
    return torch.stack(out)


def close(name, ours, theirs, tolerance=1e-6):
    theirs = theirs.detach().numpy().ravel()
    error = np.abs(np.asarray(ours).ravel() - theirs).max() / max(1e-3, np.abs(theirs).max())
    assert error <= tolerance, (name, error)
    return error


def test_critics_train_a_recurrent_encoder_as_pytorch_would(build):
    d = json.loads(subprocess.run([build / "parity_recurrent_double"], check=True, capture_output=True, text=True).stdout)
    w = {k: torch.tensor(v["value"]).reshape(v["shape"]) for k, v in d["window"].items()}
    actor, critic, encoder = (tensors(d["before"][k], True) for k in ("actor", "critic", "encoder"))
    target, temp = tensors(d["before"]["target"]), tensors(d["before"]["temp"])["log"].exp().reshape(1)
    eps_next, eps = (torch.tensor(d[k]).reshape(w["action"].shape) for k in ("noise_next", "noise"))
    mean = lambda x: (x * w["weight"]).sum() / w["weight"].sum()

    seen = torch.cat([w["obs"], encode(encoder, w["obs"], w["reset"])], -1)
    now, after = seen[:-1], seen[1:].detach()
    with torch.no_grad():
        a, logp = policy(actor, after, eps_next)
        q = mlp(target, "q", torch.cat([after, a], -1), 2).min(-1, keepdim=True).values
        y = w["reward"] + GAMMA * (1 - w["terminated"]) * (q - temp * logp)
    q = mlp(critic, "q", torch.cat([now, w["action"]], -1), 2)
    critic_loss = 0.5 * mean(((q - y) ** 2).sum(-1, keepdim=True))
    critic_loss.backward()

    a, logp = policy(actor, now.detach(), eps)
    q = mlp({k: v.detach() for k, v in critic.items()}, "q", torch.cat([now.detach(), a], -1), 2)
    actor_loss = mean(temp * logp - q.min(-1, keepdim=True).values)
    actor_loss.backward()

    assert w["reset"].sum() > 0 and 0 < w["weight"].mean() < 1  # both matter
    close("critic loss", d["losses"]["critic"], critic_loss)
    close("actor loss", d["losses"]["actor"], actor_loss)
    for name, group in (("encoder", encoder), ("critic", critic), ("actor", actor)):
        worst = max(close(f"gradient of {name} {k}", d["gradients"][name][f"{name}.{k}"]["value"], v.grad) for k, v in group.items())
        print(f"  {name}: gradients within {worst:.1e} of PyTorch's")
