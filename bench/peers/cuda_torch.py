"""The steps of bench_cuda in PyTorch, eager and captured in a CUDA graph: prints "name mode seconds".

    python cuda_torch.py [seconds per measurement] [name …]

Banks of networks and of replicas are batched products with the bank in front, which is the fastest
form here; fused (capturable) Adam, one for all replicas. torch.nn.LSTM is cuDNN's, and runs without
the resets that ours handles. Precision is set by torch.backends.cuda.matmul.
"""
import sys
import time

import torch
import torch.nn.functional as F

import methods
from common import LayerNorm, Scale, hard_concrete, param

BUDGET = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
ONLY = sys.argv[2:]
D = "cuda"


def clock(fn):
    for _ in range(5):
        fn()
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(5):
        fn()
    torch.cuda.synchronize()
    repeat, times = int(BUDGET / 5 / ((time.perf_counter() - start) / 5)) + 1, []
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(repeat):
            fn()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - start) / repeat)
    return sorted(times)[2]


def captured(fn):
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(4):
            fn()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        fn()
    return graph.replay


def compute_in(precision):
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision == "tf32"


def adam(params, lr=3e-4):
    return torch.optim.Adam(params, lr=lr, fused=True, capturable=True)


class Bank(torch.nn.Module):
    """N perceptrons in - width - width - out; x (N or 1, rows, in) -> (N, rows, out)"""

    def __init__(self, N, i, width, o, norm=False):
        super().__init__()
        self.norm = torch.nn.ModuleList([LayerNorm(N, width, D) for _ in range(2)] if norm else [])
        self.W = torch.nn.ParameterList([param(N, a, b, device=D) for a, b in ((i, width), (width, width), (width, o))])
        self.b = torch.nn.ParameterList([param(N, 1, a, device=D) for a in (width, width, o)])

    def forward(self, x, C=None):
        W = self.W[0] if C is None else self.W[0] * C.T.unsqueeze(2)
        x = x.expand(W.shape[0], *x.shape[-2:])
        h = torch.baddbmm(self.b[0], x, W)
        h = F.relu(self.norm[0](h) if self.norm else h)
        h = torch.baddbmm(self.b[1], h, self.W[1])
        h = F.relu(self.norm[1](h) if self.norm else h)
        return torch.baddbmm(self.b[2], h, self.W[2])


# ---- SAC: R replicas of 57 observations, 6 actions, 2x256, twin critics, batch 256 ----------------

def sac(R, precision="fp32", norm=False):
    compute_in(precision)
    B, O, A, H = 256, 57, 6, 256
    obs, act, nxt = (torch.rand(R, B, n, device=D) for n in (O, A, O))
    reward, end = torch.rand(R, B, 1, device=D), torch.zeros(R, B, 1, device=D)
    actor, qs, target = Bank(R, O, H, 2 * A), *(Bank(2 * R, O + A, H, 1, norm) for _ in range(2))
    target.load_state_dict(qs.state_dict())
    log_temp = torch.zeros(R, 1, 1, device=D, requires_grad=True)
    opt_q, opt_pi, opt_t = adam(qs.parameters()), adam(actor.parameters()), adam([log_temp])
    targets, sources = list(target.parameters()), list(qs.parameters())

    def q(net, o, a):
        x = torch.cat([o, a], 2)
        return net(torch.cat([x, x], 0)).view(2, R, B, 1)

    def policy(o):
        mean, log_std = actor(o).chunk(2, 2)
        log_std = log_std.clamp(-20, 2)
        eps = torch.randn_like(mean)
        u = mean + log_std.exp() * eps
        logp = (-0.5 * eps * eps - log_std - 0.9189385 - 2 * (0.6931472 - u - F.softplus(-2 * u))).sum(2, keepdim=True)
        return torch.tanh(u), logp

    def step():
        with torch.no_grad():
            temp = log_temp.exp()
            a2, logp2 = policy(nxt)
            y = reward + 0.99 * (1 - end) * (q(target, nxt, a2).amin(0) - temp * logp2)
        loss = 0.5 * ((q(qs, obs, act) - y) ** 2).mean((2, 3)).sum()
        for p, g in zip(sources, torch.autograd.grad(loss, sources)):
            p.grad = g
        opt_q.step()
        a, logp = policy(obs)
        loss = (temp * logp - q(qs, obs, a).amin(0)).mean((1, 2)).sum()
        own = list(actor.parameters())
        for p, g in zip(own, torch.autograd.grad(loss, own)):
            p.grad = g
        opt_pi.step()
        loss = -(log_temp * (logp.detach() - A)).mean((1, 2)).sum()
        log_temp.grad = torch.autograd.grad(loss, log_temp)[0]
        opt_t.step()
        with torch.no_grad():
            torch._foreach_lerp_(targets, sources, 0.005)

    return step


# ---- FN-VAE at the paper's sizes: algorithm A1 in one pass ----------------------------------------

def mlp(sizes):
    layers = []
    for i, o in zip(sizes, sizes[1:]):
        layers += [torch.nn.Linear(i, o, device=D), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1])


def fnvae(precision):
    compute_in(precision)
    T, B, d, m, p, q, encoder, width, dense = 50, 256, 17, 6, 20, 20, 256, 512, 512
    s, a, r, s1, ds = (torch.rand(T, B, n, device=D) * 2 - 1 for n in (d, m, 1, d, d))
    valid = (torch.arange(T * B, device=D) % 7 != 3).float().reshape(T, B, 1)
    total = valid.sum()

    class Encoder(torch.nn.Module):
        def __init__(self, i, n):
            super().__init__()
            self.fc = mlp([i, encoder, encoder])
            self.lstm = torch.nn.LSTM(encoder, encoder, device=D)
            self.head = torch.nn.Linear(encoder, 2 * n, device=D)

        def forward(self, *x):
            h, _ = self.lstm(F.relu(self.fc(torch.cat(x, 2))))
            mean, log_std = self.head(h).chunk(2, 2)
            log_std = log_std.clamp(-10, 2)
            return mean, log_std, mean + log_std.exp() * torch.randn_like(mean)

    q_s, q_r = Encoder(2 * d + m, p), Encoder(2 * d + m + 1, q)
    rec, pred = Bank(d, d + m + p, width, 1), mlp([d + m + p, dense, dense, d])
    rec_r, pred_r = mlp([2 * d + m + q, dense, dense, 1]), mlp([2 * d + m + q, dense, dense, 1])
    prior_s, prior_r = mlp([p, dense, dense, 2 * p]), mlp([q, dense, dense, 2 * q])
    masks = [torch.randn(i, o, device=D, requires_grad=True)
             for i, o in ((d + m + p, d), (2 * d + m + q, 1), (p, 1), (q, 1))]
    groups = [[*q_s.parameters(), *q_r.parameters()], [*prior_s.parameters(), *prior_r.parameters()],
              [*rec.parameters(), *pred.parameters()], [*rec_r.parameters(), *pred_r.parameters()], masks]
    opts = [adam(g, 1e-3) for g in groups]

    def mean(rows):
        return (rows.sum(-1, keepdim=True) * valid).sum() / total

    def shift(x):
        return F.pad(x[:-1], (0, 0, 0, 0, 1, 0))

    def masked(net, x, logits):
        return net[2:](F.relu(F.linear(x, net[0].weight * hard_concrete(logits).T, net[0].bias)))

    def divergence(mu, log_std, sample, prior, logits):
        mq, sq = Scale.apply(mu, 0.5), Scale.apply(log_std, 0.5)
        mp, sp = masked(prior, shift(Scale.apply(sample, 0.5)), logits).chunk(2, 2)
        sp = sp.clamp(-10, 2)
        return mean(sp - sq + 0.5 * ((2 * (sq - sp)).exp() + ((mq - mp) * (-sp).exp()) ** 2) - 0.5)

    def smooth(mu):
        x = Scale.apply(mu, 0.02)
        return mean((x - shift(x)).abs())

    def step():
        ms, ss, ts = q_s(s, a, s1)
        mr, sr, tr = q_r(s, a, s1, r)
        x = torch.cat([s, a, Scale.apply(ts, 0.8)], 2).reshape(1, T * B, -1)
        out = rec(x, hard_concrete(masks[0])).squeeze(2).T.reshape(T, B, d)
        loss = mean(0.5 * (ds - out) ** 2)
        loss = loss + mean(0.5 * (ds - pred(torch.cat([s, a, shift(Scale.apply(ts, 0.8))], 2))) ** 2)
        loss = loss + mean(0.5 * (r - masked(rec_r, torch.cat([s, a, s1, Scale.apply(tr, 0.8)], 2), masks[1])) ** 2)
        loss = loss + mean(0.5 * (r - pred_r(torch.cat([s, a, s1, shift(Scale.apply(tr, 0.8))], 2))) ** 2)
        loss = loss + divergence(ms, ss, ts, prior_s, masks[2]) + divergence(mr, sr, tr, prior_r, masks[3])
        loss = loss + smooth(ms) + smooth(mr)
        loss = loss + 0.01 * sum(torch.sigmoid(c + 0.67 * 2.3979).sum(1).mean() for c in masks)
        every = [x for g in groups for x in g]
        for x, g in zip(every, torch.autograd.grad(loss, every)):
            x.grad = g
        for g, o in zip(groups, opts):
            torch.nn.utils.clip_grad_norm_(g, 1.0, foreach=True)
            o.step()

    return step


def lstm(precision):
    """cuDNN's LSTM alone, forward and backward, at the encoder's size."""
    compute_in(precision)
    net = torch.nn.LSTM(256, 256, device=D)
    x, own = torch.rand(50, 256, 256, device=D, requires_grad=True), list(net.parameters())

    def step():
        torch.autograd.grad(net(x)[0].sum(), [x, *own])

    return step


def method(form, precision, *how):
    compute_in(precision)
    return form(adam, *how, device=D)


STEPS = {
    "sac-1": lambda: sac(1), "sac-10": lambda: sac(10), "sac-54": lambda: sac(54),
    "sac-10-tf32": lambda: sac(10, "tf32"), "sac-54-tf32": lambda: sac(54, "tf32"),
    "sac-1-norm": lambda: sac(1, norm=True), "sac-10-norm": lambda: sac(10, norm=True),
    "sac-54-norm": lambda: sac(54, norm=True), "sac-10-norm-tf32": lambda: sac(10, "tf32", True),
    "sac-54-norm-tf32": lambda: sac(54, "tf32", True),
    "fnvae-fp32": lambda: fnvae("fp32"), "fnvae-tf32": lambda: fnvae("tf32"),
    "rsac-fp32": lambda: method(methods.rsac, "fp32", True), "rsac-tf32": lambda: method(methods.rsac, "tf32", True),
    "varibad-fp32": lambda: method(methods.varibad, "fp32"),
    "lstm-fp32": lambda: lstm("fp32"), "lstm-tf32": lambda: lstm("tf32"),
}

for name, form in STEPS.items():
    if ONLY and name not in ONLY:
        continue
    for mode in ("eager", "graph"):
        try:
            step = form()
            print(name, mode, clock(captured(step) if mode == "graph" else step), flush=True)
        except RuntimeError as e:  # what cannot be captured
            print(f"{name}, {mode}: {e}", file=sys.stderr, flush=True)
