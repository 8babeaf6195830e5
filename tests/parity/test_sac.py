"""One update of soft actor-critic against PyTorch: losses, gradients, Adam, targets."""

import json
import subprocess

import numpy as np
import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)
GAMMA, TAU, LR = 0.99, 0.005, 3e-4


def tensors(group, grad=False):
    return {k.split(".", 1)[1]: torch.tensor(v["value"]).reshape(v["shape"]).requires_grad_(grad) for k, v in group.items()}


def mlp(p, name, x, members):
    """A bank of perceptrons, (rows, in) -> (rows, members * out); the first layer is one wide one."""
    x = F.relu(x @ p[f"{name}.1.W"][0] + p[f"{name}.1.b"].reshape(-1))
    for layer in ("2", "out"):
        W, b = p[f"{name}.{layer}.W"], p[f"{name}.{layer}.b"].reshape(-1)
        x = torch.einsum("rni,nio->rno", x.reshape(len(x), members, -1), W).reshape(len(x), -1) + b
        x = F.relu(x) if layer == "2" else x
    return x


def policy(p, x, eps):
    mean, log_std = mlp(p, "pi", x, 1).chunk(2, 1)
    log_std = log_std.clamp(-20, 2)
    u = mean + log_std.exp() * eps
    base = torch.distributions.Normal(mean, log_std.exp())
    logp = (base.log_prob(u) - torch.log(1 - torch.tanh(u) ** 2)).sum(1, keepdim=True)
    return torch.tanh(u), logp


def close(name, ours, theirs, tolerance):
    ours, theirs = np.asarray(ours).ravel(), theirs.detach().numpy().ravel()
    scale = max(1e-3, np.abs(theirs).max())
    assert np.abs(ours - theirs).max() <= tolerance * scale, (name, np.abs(ours - theirs).max() / scale)


def test_update_equals_pytorchs(build):
    compare(build, "0")


def test_update_with_hindsight_equals_pytorchs(build):
    compare(build, "1")


def compare(build, hindsight):
    d = json.loads(subprocess.run([build / "parity_sac", hindsight], check=True, capture_output=True, text=True).stdout)
    A, B = d["sizes"]
    batch = {k: torch.tensor(v).reshape(B, -1) for k, v in d["batch"].items()}
    eps_next, eps = (torch.tensor(d[k]).reshape(B, A) for k in ("noise_next", "noise"))
    actor, critic, target = tensors(d["before"]["actor"], True), tensors(d["before"]["critic"], True), tensors(d["before"]["target"])
    log_temp = tensors(d["before"]["temp"], True)["log"]
    temp = log_temp.detach().exp()

    with torch.no_grad():
        a2, logp2 = policy(actor, batch["next"], eps_next)
        q2 = mlp(target, "q", torch.cat([batch["critic_next"], a2], 1), 2).min(1, keepdim=True).values
        y = batch["reward"] + GAMMA * (1 - batch["terminated"]) * (q2 - temp.reshape(1, 1) * logp2)
    q = mlp(critic, "q", torch.cat([batch["critic"], batch["action"]], 1), 2)
    critic_loss = 0.5 * ((q - y) ** 2).sum(1).mean()
    adam = torch.optim.Adam(critic.values(), lr=LR)
    critic_loss.backward()
    gradients = {k: v.grad.clone() for k, v in critic.items()}
    adam.step()

    a, logp = policy(actor, batch["input"], eps)
    q = mlp({k: v.detach() for k, v in critic.items()}, "q", torch.cat([batch["critic"], a], 1), 2)
    actor_loss = (temp.reshape(1, 1) * logp - q.min(1, keepdim=True).values).mean()
    temp_loss = -(log_temp.reshape(1, 1) * (logp.detach() - A)).mean()
    adam_actor = torch.optim.Adam([*actor.values(), log_temp], lr=LR)
    (actor_loss + temp_loss).backward()
    actor_gradients = {k: v.grad.clone() for k, v in actor.items()}
    adam_actor.step()

    close("critic loss", d["losses"]["critic"], critic_loss, 1e-5)
    close("actor loss", d["losses"]["actor"], actor_loss, 1e-5)
    close("entropy", d["losses"]["entropy"], -logp.mean(), 1e-5)
    close("temp gradient", d["gradients"]["temp"]["temp.log"]["value"], log_temp.grad, 1e-5)
    for name, ours, theirs in (("critic", d["gradients"]["critic"], gradients), ("actor", d["gradients"]["actor"], actor_gradients)):
        for k in theirs:
            close(f"gradient of {name} {k}", ours[f"{name}.{k}"]["value"], theirs[k], 1e-5)
    for name, theirs in (("critic", critic), ("actor", actor), ("temp", {"log": log_temp})):
        for k in theirs:
            close(f"{name} {k} after", d["after"][name][f"{name}.{k}"]["value"], theirs[k], 1e-5)
    for k in target:
        follow = target[k] + TAU * (critic[k].detach() - target[k])
        close(f"target {k}", d["after"]["target"][f"target.{k}"]["value"], follow, 1e-5)
