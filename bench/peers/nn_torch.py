"""The steps of bench_nn in PyTorch, each in its best form and thread setting: prints "name seconds".

    python nn_torch.py [seconds per measurement] [--cpu] [name …]

With --cpu: processor time on one thread, for a machine on which other programs run, too.

Eager mode, fused Adam, masks folded into the first-layer weights. The twin critics and the masked
decoders are tried as separate networks, as batched products with the bank in front, and (decoders) as
one wide first layer; the fastest counts. Whatever a form saves us, it saves here: torch.nn.LSTM runs
without the resets that ours handles.
"""
import sys
import time

import torch
import torch.nn.functional as F

import methods
from common import LayerNorm, Scale, clock, hard_concrete, param

BUDGET = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0
CPU = "--cpu" in sys.argv
ONLY = [x for x in sys.argv[2:] if x != "--cpu"]


def adam(params, lr=3e-4):
    return torch.optim.Adam(params, lr=lr, fused=True)


def mlp(sizes, norm=False):
    layers = []
    for i, o in zip(sizes, sizes[1:]):
        layers += [torch.nn.Linear(i, o), *([torch.nn.LayerNorm(o)] if norm else []), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-2 if norm else -1])


class Bank(torch.nn.Module):
    """N perceptrons in - width - width - out as batched products; x (rows, in) -> (N, rows, out)"""

    def __init__(self, N, i, width, o, norm=False):
        super().__init__()
        self.norm = torch.nn.ModuleList([LayerNorm(N, width) for _ in range(2)] if norm else [])
        self.W = torch.nn.ParameterList([param(N, a, b) for a, b in ((i, width), (width, width), (width, o))])
        self.b = torch.nn.ParameterList([param(N, 1, a) for a in (width, width, o)])

    def forward(self, x, C=None, wide=False):
        W1, W2, W3 = self.W
        N, i, width = W1.shape
        if C is not None:
            W1 = W1 * C.T.unsqueeze(2)
        if wide:
            h = F.relu(x @ W1.permute(1, 0, 2).reshape(i, N * width) + self.b[0].reshape(-1))
            h = h.reshape(-1, N, width).transpose(0, 1)
        else:
            h = torch.baddbmm(self.b[0], x.expand(N, *x.shape), W1)
            h = F.relu(self.norm[0](h) if self.norm else h)
        h = torch.baddbmm(self.b[1], h, W2)
        h = F.relu(self.norm[1](h) if self.norm else h)
        return torch.baddbmm(self.b[2], h, W3)


# ---- SAC: 57 observations, 6 actions, 2x256, twin critics, batch 256 -----------------------------

def sac(bank, norm=False):
    B, O, A, H = 256, 57, 6, 256
    obs, act, nxt = torch.rand(B, O), torch.rand(B, A), torch.rand(B, O)
    reward, end = torch.rand(B, 1), torch.zeros(B, 1)
    actor = mlp([O, H, H, 2 * A])

    def critic():
        if bank:
            return Bank(2, O + A, H, 1, norm)
        return torch.nn.ModuleList([mlp([O + A, H, H, 1], norm) for _ in range(2)])

    def q(net, o, a):
        x = torch.cat([o, a], 1)
        return net(x) if bank else torch.stack([n(x) for n in net])

    def policy(o):
        mean, log_std = actor(o).chunk(2, 1)
        log_std = log_std.clamp(-20, 2)
        eps = torch.randn_like(mean)
        u = mean + log_std.exp() * eps
        logp = (-0.5 * eps * eps - log_std - 0.9189385 - 2 * (0.6931472 - u - F.softplus(-2 * u))).sum(1, keepdim=True)
        return torch.tanh(u), logp

    qs, target, log_temp = critic(), critic(), torch.zeros(1, requires_grad=True)
    target.load_state_dict(qs.state_dict())
    opt_q, opt_pi, opt_t = adam(qs.parameters()), adam(actor.parameters()), adam([log_temp])
    pairs = list(zip(target.parameters(), qs.parameters()))
    targets, sources = [t for t, _ in pairs], [s for _, s in pairs]

    def step():
        with torch.no_grad():
            temp = log_temp.exp()
            a2, logp2 = policy(nxt)
            y = reward + 0.99 * (1 - end) * (q(target, nxt, a2).min(0).values - temp * logp2)
        loss = 0.5 * ((q(qs, obs, act) - y) ** 2).mean(1).sum()
        opt_q.zero_grad()
        loss.backward()
        opt_q.step()
        for p in qs.parameters():
            p.requires_grad_(False)
        a, logp = policy(obs)
        loss = (temp * logp - q(qs, obs, a).min(0).values).mean()
        opt_pi.zero_grad()
        loss.backward()
        opt_pi.step()
        for p in qs.parameters():
            p.requires_grad_(True)
        loss = -(log_temp * (logp.detach() - A)).mean()
        opt_t.zero_grad()
        loss.backward()
        opt_t.step()
        with torch.no_grad():
            torch._foreach_lerp_(targets, sources, 0.005)

    return step


# ---- FN-VAE: algorithm A1 in one pass -------------------------------------------------------------

def fnvae(encoder, width, dense, wide):
    T, B, d, m, p, q = 50, 32, 17, 6, 20, 20
    s, a, r, s1, ds = (torch.rand(T, B, n) * 2 - 1 for n in (d, m, 1, d, d))
    valid = (torch.arange(T * B) % 7 != 3).float().reshape(T, B, 1)
    total = valid.sum()

    class Encoder(torch.nn.Module):
        def __init__(self, i, n):
            super().__init__()
            self.fc = mlp([i, encoder, encoder])
            self.lstm = torch.nn.LSTM(encoder, encoder)
            self.head = torch.nn.Linear(encoder, 2 * n)

        def forward(self, *x):
            h, _ = self.lstm(F.relu(self.fc(torch.cat(x, 2))))
            mean, log_std = self.head(h).chunk(2, 2)
            log_std = log_std.clamp(-10, 2)
            return mean, log_std, mean + log_std.exp() * torch.randn_like(mean)

    q_s, q_r = Encoder(2 * d + m, p), Encoder(2 * d + m + 1, q)
    rec, pred = Bank(d, d + m + p, width, 1), mlp([d + m + p, dense, dense, d])
    rec_r, pred_r = mlp([2 * d + m + q, dense, dense, 1]), mlp([2 * d + m + q, dense, dense, 1])
    prior_s, prior_r = mlp([p, dense, dense, 2 * p]), mlp([q, dense, dense, 2 * q])
    masks = [torch.randn(i, o, requires_grad=True) for i, o in ((d + m + p, d), (2 * d + m + q, 1), (p, 1), (q, 1))]
    groups = [[*q_s.parameters(), *q_r.parameters()], [*prior_s.parameters(), *prior_r.parameters()],
              [*rec.parameters(), *pred.parameters()], [*rec_r.parameters(), *pred_r.parameters()], masks]
    opts = [adam(g, 1e-3) for g in groups]

    def mean(rows):
        return (rows.sum(-1, keepdim=True) * valid).sum() / total

    def shift(x):
        return F.pad(x[:-1], (0, 0, 0, 0, 1, 0))

    def masked(net, x, logits):  # fold the mask into the first layer
        first = net[0]
        return net[2:](F.relu(F.linear(x, first.weight * hard_concrete(logits).T, first.bias)))

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
        x = torch.cat([s, a, Scale.apply(ts, 0.8)], 2).reshape(T * B, -1)
        out = rec(x, hard_concrete(masks[0]), wide).squeeze(2).T.reshape(T, B, d)
        loss = mean(0.5 * (ds - out) ** 2)
        loss = loss + mean(0.5 * (ds - pred(torch.cat([s, a, shift(Scale.apply(ts, 0.8))], 2))) ** 2)
        loss = loss + mean(0.5 * (r - masked(rec_r, torch.cat([s, a, s1, Scale.apply(tr, 0.8)], 2), masks[1])) ** 2)
        loss = loss + mean(0.5 * (r - pred_r(torch.cat([s, a, s1, shift(Scale.apply(tr, 0.8))], 2))) ** 2)
        loss = loss + divergence(ms, ss, ts, prior_s, masks[2]) + divergence(mr, sr, tr, prior_r, masks[3])
        loss = loss + smooth(ms) + smooth(mr)
        loss = loss + 0.01 * sum(torch.sigmoid(c + 0.67 * 2.3979).sum(1).mean() for c in masks)
        for o in opts:
            o.zero_grad()
        loss.backward()
        for g, o in zip(groups, opts):
            torch.nn.utils.clip_grad_norm_(g, 1.0)
            o.step()

    return step


# ---- what an update from pixels adds: DrQ-v2's encoder and its layer, batch 128, 3 frames, 64x64 -----

def pixels(views, last):
    """As DrQ-v2 does it: frames joined as bytes, padded and sampled at random offsets, then scaled."""
    B, frames, side, pad, kept = 128, 3, 64, 3, 2000
    kept_frames = torch.randint(0, 256, (kept, 3 * views, side, side), dtype=torch.uint8)
    order = torch.channels_last if last else torch.contiguous_format
    channels, layers = 3 * views * frames, []
    for k in range(4):
        layers += [torch.nn.Conv2d(channels if k == 0 else 32, 32, 3, stride=2 if k == 0 else 1), torch.nn.ReLU()]
    eye = torch.nn.Sequential(*layers).to(memory_format=order)

    def reader():
        return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(20000, 50), torch.nn.LayerNorm(50), torch.nn.Tanh())

    reads, target = reader(), reader()
    opts = [adam(eye.parameters()), adam(reads.parameters())]
    at, nxt = torch.randint(0, kept, (2, B, frames))
    eps = 1 / (side + 2 * pad)
    line = torch.linspace(-1 + eps, 1 - eps, side + 2 * pad)[:side]
    grid = torch.stack(torch.meshgrid(line, line, indexing="xy"), -1)

    def film(rows):
        x = F.pad(kept_frames[rows].reshape(B, channels, side, side).float(), (pad,) * 4, mode="replicate")
        moved = grid + torch.randint(0, 2 * pad + 1, (B, 1, 1, 2)) * (2 * eps)
        x = F.grid_sample(x, moved, padding_mode="zeros", align_corners=False)
        return (x / 255 - 0.5).to(memory_format=order)

    def film_cut(rows):
        """The same by cutting each row out: fewer numbers are moved."""
        x = F.pad(kept_frames[rows].reshape(B, channels, side, side).float(), (pad,) * 4, mode="replicate")
        down, right = torch.randint(0, 2 * pad + 1, (2, B)).tolist()
        x = torch.stack([x[i, :, d:d + side, r:r + side] for i, (d, r) in enumerate(zip(down, right))])
        return (x / 255 - 0.5).to(memory_format=order)

    def step(see=film_cut if last is not None else film):
        with torch.no_grad():
            y = target(eye(see(nxt)))
        loss = 0.5 * ((reads(eye(see(at))) - y) ** 2).sum(1).mean()
        for o in opts:
            o.zero_grad()
        loss.backward()
        for o in opts:
            o.step()

    return step


FORMS = {
    "sac": [lambda: sac(False), lambda: sac(True)],
    "sac-norm": [lambda: sac(False, True), lambda: sac(True, True)],
    "fnvae-64": [lambda: fnvae(128, 64, 128, False), lambda: fnvae(128, 64, 128, True)],
    "rsac": [lambda: methods.rsac(adam, False), lambda: methods.rsac(adam, True)],
    "varibad": [lambda: methods.varibad(adam)],
    "pixels-1": [lambda: pixels(1, None), lambda: pixels(1, False), lambda: pixels(1, True)],
    "pixels-2": [lambda: pixels(2, None), lambda: pixels(2, False), lambda: pixels(2, True)],
    "fnvae-512": [lambda: fnvae(256, 512, 512, False), lambda: fnvae(256, 512, 512, True)],
}

cores = torch.get_num_threads()
for name, forms in FORMS.items():
    if ONLY and name not in ONLY:
        continue
    times = {}
    for threads in sorted({1} if CPU else {1, cores}):
        torch.set_num_threads(threads)
        for k, form in enumerate(forms):
            times[threads, k] = clock(form(), BUDGET, time.process_time if CPU else time.perf_counter)
    best = min(times, key=times.get)
    print(name, times[best], f"threads {best[0]}, form {best[1]}; all: "
          + ", ".join(f"{t}/{k}: {1e3 * x:.1f} ms" for (t, k), x in times.items()), flush=True)
