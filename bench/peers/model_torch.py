"""The updates of bench_model in PyTorch: prints "preset seconds" for masks that are learned.

    python model_torch.py [seconds per measurement] [preset …]

Half-Cheetah's sizes with 20 + 20 factors; eager mode, fused Adam, masks folded into the first-layer weights, all
costs in one backward pass. The banks are tried as batched products with the bank in front and as one wide first
layer, on one thread and on all; the fastest counts. Windows are as in bench_model: segments of ten steps.
"""
import sys

import torch
import torch.nn.functional as F

from common import Scale, clock, param

BUDGET = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0
ONLY = sys.argv[2:]
D, M, P, Q = 17, 6, 20, 20
SIZES = {  # window, windows, encoder, lstm, prior, bank, dense
    "small": (200, 2, 32, 32, 16, 16, 32),
    "standard": (200, 4, 64, 64, 32, 32, 64),
    "paper": (200, 8, 256, 256, 512, 512, 512),
}


def mlp(i, width, o):
    return torch.nn.Sequential(torch.nn.Linear(i, width), torch.nn.Tanh(), torch.nn.Linear(width, width), torch.nn.Tanh(),
                               torch.nn.Linear(width, o))


class Gain(torch.nn.Module):
    """A perceptron whose first layer is multiplied by 1 + a linear map of its inputs."""

    def __init__(self, i, width, o):
        super().__init__()
        self.first, self.gain = torch.nn.Linear(i, width), torch.nn.Linear(i, width)
        self.rest = torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.Tanh(), torch.nn.Linear(width, o))

    def forward(self, x):
        return self.rest(torch.tanh(self.first(x)) * (1 + self.gain(x)))


class Bank(torch.nn.Module):
    """N perceptrons with one output, behind a mask C (inputs, N); reads `lags` tensors through the same mask.
    The last `by` inputs scale the first layer."""

    def __init__(self, N, i, width, wide, lags=1, by=0):
        super().__init__()
        self.wide, self.by = wide, by
        self.first = torch.nn.ParameterList([param(N, i, width) for _ in range(lags)])
        self.W = torch.nn.ParameterList([param(N, width, width), param(N, width, 1)])
        self.b = torch.nn.ParameterList([param(N, 1, width), param(N, 1, width), param(N, 1, 1)])
        if by:
            self.gain = torch.nn.ParameterList([param(N, by, width), param(N, 1, width)])

    def masked(self, x, W, C):
        x, W = x.reshape(-1, x.shape[-1]), W * C.T.unsqueeze(2)
        N, i, width = W.shape
        if self.wide:
            return (x @ W.permute(1, 0, 2).reshape(i, N * width)).reshape(-1, N, width).transpose(0, 1)
        return torch.bmm(x.expand(N, *x.shape), W)

    def forward(self, C, *x):
        rows = x[0].shape[:-1]
        h = torch.tanh(sum(self.masked(part, W, C) for part, W in zip(x, self.first)) + self.b[0])
        if self.by:
            h = h * (1 + self.masked(x[0][..., -self.by:], self.gain[0], C[-self.by:]) + self.gain[1])
        h = torch.tanh(torch.baddbmm(self.b[1], h, self.W[0]))
        return torch.baddbmm(self.b[2], h, self.W[1]).squeeze(2).T.reshape(*rows, -1)


class Encoder(torch.nn.Module):
    def __init__(self, i, width, units, n):
        super().__init__()
        self.left, self.right = torch.nn.Linear(i, width), torch.nn.Linear(i, width)
        self.fc = torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.ReLU())
        self.lstm, self.head = torch.nn.LSTM(width, units), torch.nn.Linear(units, 2 * n)

    def forward(self, *x):
        x = torch.cat(x, 2)
        h, _ = self.lstm(self.fc(self.left(x) * self.right(x)))
        mean, log_std = self.head(h).chunk(2, 2)
        log_std = (log_std - 2).clamp(-7, 2)
        return mean, log_std, mean + log_std.exp() * torch.randn_like(mean)


def gate(logits, temperature=0.67):  # Gumbel, straight-through
    u = torch.rand_like(logits).clamp(1e-6, 1 - 1e-6)
    soft = torch.sigmoid((logits + torch.log(u / (1 - u))) / temperature)
    return (soft > 0.5).float() + soft - soft.detach()


def shift(x):
    return F.pad(x[:-1], (0, 0, 0, 0, 1, 0))


def divergence(mq, sq, mp, sp):
    return sp - sq + 0.5 * ((2 * (sq - sp)).exp() + ((mq - mp) * (-sp).exp()) ** 2) - 0.5


def fnvae(size, wide):
    T, B, encoder, units, prior, bank, dense = size
    s, a, r, s1, ds = (torch.randn(T, B, n) for n in (D, M, 1, D, D))
    t = torch.arange(T).reshape(T, 1, 1).expand(T, B, 1)
    change = (t % 10 == 0).float()
    ends = [k // 10 * 10 - 1 for k in range(T)]  # the row with which the last segment ended
    w_move, w_stay = change * (t >= 20), 1 - change
    w_rec, w_pred, w_next = (t % 10 >= 5).float(), ((t % 10) > 0).float(), ((t % 10 >= 5) & (t >= 20)).float()

    def mean(cost, weight):
        return (cost.sum(-1, keepdim=True) * weight).sum() / weight.sum()

    def held(x, back):  # what hold(shift(x)) gives for these segments
        index = torch.tensor([max(e - back, 0) for e in ends])
        alive = torch.tensor([float(e - back >= 0) for e in ends]).reshape(T, 1, 1)
        return x[index] * alive

    q_s, q_r = Encoder(2 * D + M + 1, encoder, units, P), Encoder(2 * D + M + 3, encoder, units, Q)
    plain, plain_r = mlp(D + M, dense, D), mlp(2 * D + M, dense, 1)
    rec, pred = Bank(D, D + M + P, bank, wide, by=P), Gain(D + M + P, dense, D)
    rec_r, pred_r = Bank(1, 2 * D + M + Q, dense, wide, by=Q), Gain(2 * D + M + Q, dense, 1)
    next_s, next_r = Bank(P, P, prior, wide, 2), Bank(Q, Q, prior, wide, 2)
    spread = [torch.zeros(n, requires_grad=True) for n in (P, Q)]
    log_sd = [torch.full((n,), -2.3, requires_grad=True) for n in (D, 1)]
    plain_sd = [torch.zeros(n, requires_grad=True) for n in (D, 1)]
    masks = [torch.full((i, o), 4.0, requires_grad=True) for i, o in ((D + M + P, D), (2 * D + M + Q, 1), (P, P), (Q, Q))]
    groups = [[*q_s.parameters(), *q_r.parameters()], [*next_s.parameters(), *next_r.parameters(), *spread],
              [*rec.parameters(), *pred.parameters(), *plain.parameters(), log_sd[0], plain_sd[0]],
              [*rec_r.parameters(), *pred_r.parameters(), *plain_r.parameters(), log_sd[1], plain_sd[1]], masks]
    opts = [torch.optim.Adam(g, lr=3e-3, fused=True) for g in groups]

    def error(target, guess, log_std, weight):
        return mean(0.5 * ((target - guess) * (-log_std.detach()).exp()) ** 2, weight)

    def moves(m, l, bank_of, C, spread_of):
        x = Scale.apply(m, 0.05)
        mp = bank_of(C, held(x, 0), held(x, 10))
        sp = spread_of.clamp(-7, 2).expand_as(mp)
        km, kl = Scale.apply(m, 0.45), Scale.apply(l, 0.45)
        stay = mean(divergence(km, kl, shift(km), shift(kl)), w_stay)
        move = mean(divergence(x, Scale.apply(l, 0.05), mp.detach(), sp.detach()), w_move)
        after = mean(divergence(m.detach(), l.detach(), mp, sp), w_next)
        jump = Scale.apply(m, 0.02)
        return stay + move + after + mean((jump - shift(jump)).abs(), (t > 0).float())

    def news(target, guess, x):  # what a network without theta did not expect, and what teaches it
        x = x.clamp(-7, 2)
        z = (target - guess) * (-x).exp()
        return z.detach().clamp(-10, 10), (0.5 * z ** 2 + x).sum(-1).mean()

    def step():
        news_s, cost_s = news(ds, plain(torch.cat([s, a], 2)), plain_sd[0])
        news_r, cost_r = news(r, plain_r(torch.cat([s, a, s1], 2)), plain_sd[1])
        ms, ls, ts = q_s(s, a, news_s, change)
        mr, lr, tr = q_r(s, a, s1, r, news_r, change)
        C = [gate(x) for x in masks]
        out = rec(C[0], torch.cat([s, a, Scale.apply(ts, 0.8)], 2))
        out_r = rec_r(C[1], torch.cat([s, a, s1, Scale.apply(tr, 0.8)], 2))
        ahead = pred(torch.cat([s, a, shift(Scale.apply(ts, 0.8))], 2))
        ahead_r = pred_r(torch.cat([s, a, s1, shift(Scale.apply(tr, 0.8))], 2))
        loss = cost_s + cost_r + error(ds, out, log_sd[0], w_rec) + error(r, out_r, log_sd[1], w_rec)
        loss = loss + error(ds, ahead, log_sd[0], w_pred) + error(r, ahead_r, log_sd[1], w_pred)
        for target, guess, x in ((ds, ahead, log_sd[0]), (r, ahead_r, log_sd[1])):
            loss = loss + mean(0.5 * ((target - guess.detach()) * (-x).exp()) ** 2 + x, w_pred)
        loss = loss + moves(ms, ls, next_s, C[2], spread[0]) + moves(mr, lr, next_r, C[3], spread[1])
        loss = loss + 0.01 * sum(torch.sigmoid(x).sum() for x in masks)
        for o in opts:
            o.zero_grad()
        loss.backward()
        for g, o in zip(groups, opts):
            torch.nn.utils.clip_grad_norm_(g, 1.0)
            o.step()

    return step


cores = torch.get_num_threads()
for name, size in SIZES.items():
    if ONLY and name not in ONLY:
        continue
    times = {}
    for threads in sorted({1, cores}):
        torch.set_num_threads(threads)
        for wide in (False, True):
            times[threads, wide] = clock(fnvae(size, wide), BUDGET)
    best = min(times, key=times.get)
    print(name, times[best], f"threads {best[0]}; all: " + ", ".join(
        f"{t}/{'wide' if k else 'bank'}: {1e3 * x:.1f} ms" for (t, k), x in times.items()), flush=True)
