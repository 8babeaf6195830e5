"""Writes fnvae.json: the costs and all gradients of one step of algorithm A1, computed by PyTorch.

    python make_fnvae.py [fnvae.json]

Run it again only when the model changes; the C test reads the file. Every group of parameters gets the
gradient of its own costs in a pass of its own, as the paper's algorithm has it, while the library does all in
one. Random operators draw from the streams STREAMS below: the C test says when a name has changed.
"""
import json
import math
import sys

import torch
import torch.nn.functional as F

from make_golden import bank, hold, kl, lstm, nll, normals, row_mean, shift, unit, words

torch.set_default_dtype(torch.float64)
Z = dict(d=3, m=2, p=2, q=1)
O = dict(encoder=5, lstm=3, prior=3, bank=4, dense=5, window=4, batch=2, sd=0.5, sd_least=0.45, sd_from=0, price_first=1, k1=0.8, k2=0.7, k3=0.5, k4=0.1,
         k5=0.02, w_ss=0.3, w_as=0.2, w_ts=0.4, w_sr=0.5, w_ar=0.6, w_tt=0.7, diagonal=0.1, temperature=0.67)
STREAMS = dict(
    C_s="gate 0", c_r="gate 1", C_tt_s="gate 2", C_tt_r="gate 3", theta_s="gauss_sample 4", theta_r="gauss_sample 5")
T, B = O["window"], O["batch"]
random = torch.Generator().manual_seed(5)


def draw(*shape, low=-1.0, high=1.0):
    x = torch.rand(*shape, generator=random, dtype=torch.float32) * (high - low) + low
    return x.double()


# ---- inputs and parameters -----------------------------------------------------------------------

d, m, p, q = (Z[k] for k in "dmpq")
widths = dict(s=d, a=m, s1=d, r=1)
inputs = {name: draw(T, B, n) for name, n in widths.items()}
inputs["ds"] = inputs["s1"] - inputs["s"]
decoded = torch.tensor([[2, 1], [0, 3], [3, 0], [1, 1]])  # which row of its window each posterior decodes
inputs |= {"dec_" + k: torch.gather(v, 0, decoded.unsqueeze(-1).expand_as(v)) for k, v in list(inputs.items())}
flags = {  # rows of T, columns of B
    "change": [[1, 0], [0, 1], [1, 0], [0, 0]], "w_rec": [[0, 1], [1, 1], [0, 1], [1, 0]], "w_pred": [[0, 0], [1, 0], [0, 1], [1, 1]],
    "w_move": [[0, 0], [0, 1], [1, 0], [0, 0]], "w_next": [[0, 1], [0, 1], [1, 0], [1, 1]], "w_stay": [[1, 1], [1, 0], [0, 1], [1, 1]],
    "w_smooth": [[0, 0], [1, 1], [1, 1], [1, 1]]}
inputs |= {name: torch.tensor(rows).double().unsqueeze(-1) for name, rows in flags.items()}
params = {}


def param(group, name, *shape, low=-0.7, high=0.7):
    full = f"{group}.{name}"
    if full not in params:
        params[full] = draw(*shape, low=low, high=high).requires_grad_()
    return params[full]


def dense(group, name, x, N, shared, units, act):
    i = x.shape[-1] if shared else x.shape[-1] // N
    W = param(group, name + ".W", 1 if shared else N, i, N * units if shared else units)
    b = param(group, name + ".b", N, 1, units)
    return act(x @ W[0] + b.reshape(-1) if shared else bank(x, W, b))


def first(group, name, x, N, width, C):
    """A linear map of a bank's shared inputs, behind a mask where there is one."""
    W = param(group, name + ".W", 1, x.shape[-1], N * width)
    b = param(group, name + ".b", N, 1, width)
    return x @ (W if C is None else W * C.repeat_interleave(width, 2))[0] + b.reshape(-1)


def mlp(group, name, x, N, hidden, width, act, units, C=None, by=None):
    """With `by`, the first layer's units are scaled by 1 + a map of it; behind a mask, it is the last of x."""
    h = act(first(group, name + ".1", x, N, width, C))
    if by is not None:
        if C is not None:
            by = torch.cat([torch.zeros_like(x[..., :-by.shape[-1]]), by], -1)
        h = h * (1 + first(group, name + ".gain", by, N, width, C))
    for i in range(2, hidden + 1):
        h = dense(group, f"{name}.{i}", h, N, False, width, act)
    return dense(group, name + ".out", h, N, False, units, lambda x: x)


# ---- the model -----------------------------------------------------------------------------------

def mask(name, causes, effects, weight):
    logits = param("masks", name, 1, causes, effects, low=-2, high=2)
    u = torch.tensor([unit(w) for w in words(STREAMS[name], causes * effects)]).reshape(1, causes, effects)
    s = torch.sigmoid((logits + torch.log(u / (1 - u))) / O["temperature"])
    opened = torch.sigmoid(logits - O["temperature"] * torch.log(torch.tensor(0.1 / 1.1)))
    return (s * 1.2 - 0.1).clamp(0, 1), (opened * weight).sum()


def infer(kind, x, n):
    same = lambda x: x
    h = dense("phi", kind + ".left", x, 1, True, O["encoder"], same) * dense("phi", kind + ".right", x, 1, True, O["encoder"], same)
    h = dense("phi", kind + ".fc", h, 1, True, O["encoder"], F.relu)
    gates = dense("phi", kind + ".lstm", h, 1, True, 4 * O["lstm"], lambda x: x)
    hc = lstm(gates, param("phi", kind + ".lstm.h.W", 1, O["lstm"], 4 * O["lstm"]))
    out = dense("phi", kind + ".head", hc[..., :O["lstm"]], 1, True, 2 * n, lambda x: x)
    mean, log_std = out[..., :n], (out[..., n:] - 2).clamp(-7, 2)
    eps = normals(STREAMS["theta_" + kind], T * B * n).reshape(T, B, n)
    return mean, log_std, mean + log_std.exp() * eps


def news(group, x, target):
    """What is unexpected, in units of its spread, and the cost of expecting."""
    plain = mlp(group, "plain", torch.cat(x, -1), 1, 2, O["dense"], torch.tanh, target.shape[-1])
    log_sd = param(group, "plain_sd", 1, 1, target.shape[-1]).clamp(-7, 2)
    cost = nll(target, plain, log_sd.expand_as(plain), torch.ones(T, B, 1))
    return ((target - plain) / log_sd.exp()).clamp(-10, 10).detach(), cost


def noise(group, target, guess, weight):
    """The spread of a decoder, and the cost that it follows."""
    log_sd = param(group, "log_sd", 1, 1, target.shape[-1], low=-1, high=0).clamp(math.log(O["sd_least"]), 0)
    return log_sd.detach(), nll(target, guess.detach(), log_sd.expand_as(guess), weight)


def gauss(target, mean, log_sd, weight):
    return row_mean((((target - mean) / log_sd.exp()) ** 2).sum(-1, keepdim=True) / 2, weight)


def dynamics(kind, mean, C):
    """The mean of p_gamma on the ends of the last two segments, both behind the same mask."""
    n, width, h = mean.shape[-1], O["prior"], 0
    for lag in range(2):
        mean = hold(shift(mean), inputs["change"])
        W = param("gamma", f"{kind}.1.W{lag}", 1, n, n * width)
        h = h + mean @ (W * C.repeat_interleave(width, 2))[0]
    h = torch.tanh(h + param("gamma", kind + ".1.b", 1, 1, n * width))
    h = dense("gamma", kind + ".2", h, n, False, width, torch.tanh)
    return dense("gamma", kind + ".out", h, n, False, 1, lambda x: x)


def costs():
    I = inputs
    w = torch.cat([torch.full((d, d), O["w_ss"]), torch.full((m, d), O["w_as"]), torch.full((p, d), O["w_ts"])])
    w[:d] -= torch.eye(d) * O["w_ss"] * (1 - O["diagonal"])
    w_r = torch.cat([torch.full((d, 1), O["w_sr"]), torch.full((m, 1), O["w_ar"]), torch.full((d, 1), O["w_sr"]),
                     torch.zeros(q, 1)])
    C, open_s = mask("C_s", d + m + p, d, w)
    c, open_r = mask("c_r", 2 * d + m + q, 1, w_r)
    c = torch.cat([c[:, :-q], torch.ones(1, q, 1)], 1)  # theta_r always reaches r
    C_tt, open_tt = {}, 0
    for kind, n in (("s", p), ("r", q)):
        C_tt[kind], opened = mask("C_tt_" + kind, n, n, torch.full((n, n), O["w_tt"]))
        open_tt = open_tt + opened
    news_s, plain_s = news("alpha", [I["s"], I["a"]], I["ds"])
    news_r, plain_r = news("beta", [I["s"], I["a"], I["s1"]], I["r"])
    theta = {"s": infer("s", torch.cat([I["s"], I["a"], news_s, I["change"]], -1), p),
             "r": infer("r", torch.cat([I["s"], I["a"], I["s1"], I["r"], news_r, I["change"]], -1), q)}
    ts, tr = theta["s"][2], theta["r"][2]
    rec = mlp("alpha", "rec", torch.cat([I["dec_s"], I["dec_a"], ts], -1), d, 2, O["bank"], torch.tanh, 1, C, ts)
    rec_r = mlp("beta", "rec", torch.cat([I["dec_s"], I["dec_a"], I["dec_s1"], tr], -1), 1, 2, O["dense"],
                torch.tanh, 1, c, tr)
    x, x_r = torch.cat([I["s"], I["a"], shift(ts)], -1), torch.cat([I["s"], I["a"], I["s1"], shift(tr)], -1)
    pred = mlp("alpha", "pred", x, 1, 2, O["dense"], torch.tanh, d, None, x)
    pred_r = mlp("beta", "pred", x_r, 1, 2, O["dense"], torch.tanh, 1, None, x_r)
    sd_s, noise_s = noise("alpha", I["ds"], pred, I["w_pred"])
    sd_r, noise_r = noise("beta", I["r"], pred_r, I["w_pred"])
    stay = move = after = smooth = 0
    for kind, n in (("s", p), ("r", q)):
        mean, log_std, sample = theta[kind]
        prior = dynamics(kind, mean, C_tt[kind])
        spread = param("gamma", kind + ".log_std", 1, 1, n).clamp(-7, 2).expand(T, B, n)
        move = move + kl(mean, log_std, prior.detach(), spread.detach(), I["w_move"])
        after = after + kl(mean.detach(), log_std.detach(), prior, spread, I["w_next"])
        stay = stay + kl(mean, log_std, shift(mean), shift(log_std), I["w_stay"])
        smooth = smooth + row_mean((mean - shift(mean)).abs().sum(-1, keepdim=True), I["w_smooth"])
    return dict(rec_dyn=gauss(I["dec_ds"], rec, sd_s, I["w_rec"]), rec_rw=gauss(I["dec_r"], rec_r, sd_r, I["w_rec"]),
                pred_dyn=gauss(I["ds"], pred, sd_s, I["w_pred"]), pred_rw=gauss(I["r"], pred_r, sd_r, I["w_pred"]),
                kl_stay=stay, kl_move=move, kl_next=after, noise=noise_s + noise_r, noise_s=noise_s, noise_r=noise_r,
                plain=plain_s + plain_r, plain_s=plain_s, plain_r=plain_r,
                sparse=O["k4"] * (open_s + open_r + open_tt), smooth=smooth)


c = costs()
share = float(inputs["w_move"].mean())
follows = {
    "phi": O["k1"] * (c["rec_dyn"] + c["rec_rw"]) + O["k2"] * (c["pred_dyn"] + c["pred_rw"])
    + O["k3"] * ((1 - share) * c["kl_stay"] + share * (c["kl_move"] + c["kl_next"])) + O["k5"] * c["smooth"],
    "gamma": c["kl_next"],
    "alpha": c["rec_dyn"] + c["pred_dyn"] + c["noise_s"] + c["plain_s"],
    "beta": c["rec_rw"] + c["pred_rw"] + c["noise_r"] + c["plain_r"],
    "masks": c["rec_dyn"] + c["rec_rw"] + c["kl_next"] + c["sparse"],
}
grads = {}
for group, total in follows.items():
    own = [name for name in params if name.startswith(group + ".")]
    found = torch.autograd.grad(total.sum(), [params[name] for name in own], retain_graph=True)
    grads |= dict(zip(own, found))

numbers = lambda x: [float(f"{v:.9g}") for v in x.detach().reshape(-1).tolist()]
json.dump(dict(dims=Z, options=O, streams=STREAMS, decoded=decoded.flatten().tolist(), inputs={k: numbers(v) for k, v in inputs.items()},
               costs={k: float(v.detach()) for k, v in c.items()}, params={k: numbers(v) for k, v in params.items()},
               grads={k: numbers(v) for k, v in grads.items()}),
          open(sys.argv[1] if len(sys.argv) > 1 else "fnvae.json", "w"), separators=(",", ":"))
