"""Writes nn.json: values and gradients of every case of tests/nn_cases.h, computed by PyTorch.

    python make_golden.py [nn.json]

Run it again only when a case changes; the C test reads the file. Operands are drawn in float32 and
evaluated in float64, so that the file holds the exact answer and the test's tolerance is ours alone.
The loss is the sum of the output times the weights `w`.
"""
import json
import math
import sys

import numpy as np
import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)
ROWS = (3, 4)


# ---- the random streams of src/base/rng.h, written independently ---------------------------------

def purpose(name):
    h = 2166136261
    for byte in name.encode():
        h = ((h ^ byte) * 16777619) & 0xFFFFFFFF
    return h


def philox(seed, stream, index, n):
    c = [n & 0xFFFFFFFF, n >> 32, stream, index]
    k = [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(p1 >> 32) ^ c[1] ^ k[0], p1 & 0xFFFFFFFF, (p0 >> 32) ^ c[3] ^ k[1], p0 & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


def unit(x):
    return (x >> 8) * 2.0 ** -24 + 2.0 ** -25


def words(node, count, seed=1):
    return [w for n in range((count + 3) // 4) for w in philox(seed, purpose(node), 0, n)][:count]


def normals(node, count):
    x = words(node, (count + 3) // 4 * 4)
    out = []
    for a, b in zip(x[0::2], x[1::2]):
        r = math.sqrt(-2 * math.log(unit(a)))
        out += [r * math.cos(2 * math.pi * unit(b)), r * math.sin(2 * math.pi * unit(b))]
    return torch.tensor(out[:count])


# ---- the cases -----------------------------------------------------------------------------------

def bank(x, W, b):
    """x (T,B,N*i), W (N,i,o), b (N,1,o) -> (T,B,N*o)"""
    T, B, _ = x.shape
    N, i, o = W.shape
    return torch.einsum("tbni,nio->tbno", x.reshape(T, B, N, i), W).reshape(T, B, N * o) + b.reshape(-1)


def lstm(gates, W, state=None, reset=None):
    T, B, _ = gates.shape
    H = W.shape[1]
    h = torch.zeros(B, H) if state is None else state[0, :, :H]
    c = torch.zeros(B, H) if state is None else state[0, :, H:]
    out = []
    for t in range(T):
        if reset is not None:
            h, c = h * (1 - reset[t]), c * (1 - reset[t])
        i, f, g, o = (gates[t] + h @ W[0]).chunk(4, dim=1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
        out.append(torch.cat([h, c], dim=1))
    return torch.stack(out)


def lstm_of_torch(gates, W):
    """The same recurrence by torch.nn.LSTM with identity input weights."""
    H = W.shape[1]
    net = torch.nn.LSTM(4 * H, H)
    y, _ = torch.func.functional_call(
        net, {"weight_ih_l0": torch.eye(4 * H), "weight_hh_l0": W[0].T, "bias_ih_l0": torch.zeros(4 * H),
              "bias_hh_l0": torch.zeros(4 * H)}, (gates,))
    return y


def hard_concrete(logits, temp, node):
    u = torch.tensor([unit(w) for w in words(node, logits.numel())]).reshape(logits.shape)
    s = torch.sigmoid((logits + torch.log(u / (1 - u))) / temp)
    return (s * 1.2 - 0.1).clamp(0, 1)


def conv(x, W, b):
    y = F.conv2d(x.reshape(-1, 2, 6, 5), W[0].T.reshape(3, 2, 3, 3), b.reshape(-1), stride=2, padding=1)
    return F.leaky_relu(y, 0.2).reshape(x.shape[0], x.shape[1], -1)


def conv_tanh(x, W, b, shape, kernel, stride, padding):
    weights = W[0].T.reshape(3, shape[0], kernel, kernel)
    y = F.conv2d(x.reshape(-1, *shape), weights, b.reshape(-1), stride=stride, padding=padding)
    return torch.tanh(y).reshape(x.shape[0], x.shape[1], -1)


def conv_transpose(x, W, b):
    y = F.conv_transpose2d(x.reshape(-1, 3, 3, 4), W[0].reshape(3, 2, 3, 3), b.reshape(-1), stride=2,
                           padding=1, output_padding=1)
    return torch.tanh(y).reshape(x.shape[0], x.shape[1], -1)


def row_mean(rows, weight=None):
    return (rows.mean() if weight is None else (rows * weight).sum() / weight.sum()).reshape(1, 1, 1)


def shift(x, first=None):
    return torch.cat([torch.zeros_like(x[:1]) if first is None else first, x[:-1]])


def hold(x, when):
    y = [torch.zeros_like(x[0])]
    for t in range(len(x)):
        y.append(torch.where(when[t] != 0, x[t], y[-1]))
    return torch.stack(y[1:])


def pick(x, at):
    picked = torch.gather(x, 0, at.clamp(min=0).long().expand(*at.shape[:2], x.shape[2]))
    return torch.where(at < 0, torch.zeros_like(picked), picked)


def pool(x, weight):
    sum_ = weight.sum(0, keepdim=True)
    return (x * weight).sum(0, keepdim=True) / torch.where(sum_ > 0, sum_, 1)


def frames(table, at, shift, x):
    """Two views of 3 x 4 pixels, two frames of each."""
    picture = table.reshape(4, 2, 3, 4, 3).permute(0, 1, 4, 2, 3) / 255 - 0.5
    rows = []
    for b in range(3):
        film = torch.cat([picture[int(k)] if k >= 0 else torch.zeros_like(picture[0]) for k in at[0, b]])
        down, right = (int(k) for k in shift[0, b])
        padded = F.pad(film, (1, 1, 1, 1), mode="replicate")
        rows.append(padded[:, :, down:down + 3, right:right + 4].reshape(-1))
    return torch.stack(rows)[None] * x


def squash_logp(u, m, s):
    base = torch.distributions.Normal(m, s.exp())
    squash = torch.distributions.TanhTransform()
    d = torch.distributions.TransformedDistribution(base, [squash])
    y = torch.tanh(u)
    return (base.log_prob(u) - squash.log_abs_det_jacobian(u, y)).sum(-1, keepdim=True)


def kl(mq, sq, mp, sp, w):
    N = torch.distributions.Normal
    k = torch.distributions.kl_divergence(N(mq, sq.exp()), N(mp, sp.exp()))
    return row_mean(k.sum(-1, keepdim=True), w)


def nll(y, m, s, w):
    return row_mean(-torch.distributions.Normal(m, s.exp()).log_prob(y).sum(-1, keepdim=True), w)


def masked_bank(s, theta, W1, C, b1, W2, b2, W3, b3):
    x = torch.cat([s, theta], -1)
    H = W1.shape[2] // C.shape[2]
    parts = [F.relu((x * C[0, :, n]) @ W1[0, :, n * H:(n + 1) * H] + b1[0, 0, n * H:(n + 1) * H])
             for n in range(C.shape[2])]
    return bank(torch.tanh(bank(torch.cat(parts, -1), W2, b2)), W3, b3)


def lstm_layer(x, y, Wx, bx, Wh, reset, Wo, bo):
    h = lstm(torch.cat([x, y], -1) @ Wx[0] + bx[0, 0], Wh, reset=reset)
    return h[..., :3] @ Wo[0] + bo[0, 0]


def layer_norm(x, gain, shift):
    N, _, D = gain.shape
    z = F.layer_norm(x.reshape(*x.shape[:2], N, D), (D,))
    return (z * gain[:, 0] + shift[:, 0]).reshape(x.shape)


def auto_weight(a, b, c, w):
    return sum(L / (2 * w[0, 0, k] ** 2) + torch.log(1 + w[0, 0, k] ** 2) for k, L in enumerate((a, b, c)))


U = (-1, 1)
CASES = [  # name, operands (name, T, B, D, low, high[, "binary" or "index"]), function
    ("linear", [("x", *ROWS, 5, *U), ("W", 1, 5, 6, *U), ("b", 1, 1, 6, *U)], lambda x, W, b: F.relu(x @ W[0] + b)),
    ("linear_no_bias", [("x", *ROWS, 5, *U), ("W", 1, 5, 6, *U)], lambda x, W: x @ W[0]),
    ("linear_joined", [("x", *ROWS, 3, *U), ("y", *ROWS, 1, *U), ("z", *ROWS, 2, *U), ("W", 1, 6, 4, *U), ("b", 1, 1, 4, *U)],
     lambda x, y, z, W, b: torch.tanh(torch.cat([x, y, z], -1) @ W[0] + b)),
    ("linear_bank", [("x", *ROWS, 6, *U), ("W", 3, 2, 4, *U), ("b", 3, 1, 4, *U)], lambda x, W, b: F.softplus(bank(x, W, b))),
    ("linear_heads", [("x", *ROWS, 6, *U), ("W", 2, 3, 1, *U), ("b", 2, 1, 1, *U)], bank),
    ("linear_wide", [("x", 10, 20, 2, *U), ("W", 1, 2, 3, *U), ("b", 1, 1, 3, *U)], lambda x, W, b: F.elu(x @ W[0] + b)),
    ("fold_mask", [("W", 1, 4, 6, *U), ("C", 1, 4, 3, 0, 1)], lambda W, C: W * C.repeat_interleave(2, 2)),
    ("lstm", [("gates", 4, 3, 8, *U), ("W", 1, 2, 8, *U), ("state", 1, 3, 4, *U), ("_reset", 4, 3, 1, 0, 0.7, "binary")], lstm),
    ("lstm_bare", [("gates", 4, 19, 8, -2, 2), ("W", 1, 2, 8, *U)], lstm),
    ("conv2d", [("x", 2, 2, 60, *U), ("W", 1, 18, 3, *U), ("b", 1, 1, 3, *U)], conv),
    ("conv2d_transpose", [("x", 1, 3, 36, *U), ("W", 1, 3, 18, *U), ("b", 1, 1, 2, *U)], conv_transpose),
    ("gate_hard_concrete", [("logits", 1, 5, 7, -2, 3), ("_temp", 1, 1, 1, 0.6, 0.7), ("_frozen", 1, 1, 1, 0, 0)],
     lambda x, t, f: hard_concrete(x, t, "gate 0")),
    ("gate_erf", [("logits", 1, 5, 7, -2, 3), ("_temp", 1, 1, 1, 0.6, 0.7), ("_frozen", 1, 1, 1, 0, 0)], lambda x, t, f: torch.erf(x)),
    ("gate_open_hard_concrete", [("logits", 1, 3, 4, -2, 2), ("_temp", 1, 1, 1, 0.6, 0.7)],
     lambda x, t: torch.sigmoid(x - t * math.log(0.1 / 1.1))),
    ("gate_open_gumbel", [("logits", 1, 3, 4, -2, 2), ("_temp", 1, 1, 1, 0.6, 0.7)], lambda x, t: torch.sigmoid(x)),
    ("gate_open_erf", [("logits", 1, 3, 4, -2, 2), ("_temp", 1, 1, 1, 0.6, 0.7)], lambda x, t: torch.erf(x).abs()),
    ("relu", [("x", *ROWS, 5, -2, 2)], F.relu),
    ("leaky_relu", [("x", *ROWS, 5, -2, 2)], lambda x: F.leaky_relu(x, 0.2)),
    ("elu", [("x", *ROWS, 5, -2, 2)], F.elu),
    ("tanh", [("x", *ROWS, 5, -3, 3)], torch.tanh),
    ("sigmoid", [("x", *ROWS, 5, -6, 6)], torch.sigmoid),
    ("softplus", [("x", *ROWS, 5, -6, 6)], F.softplus),
    ("exp", [("x", *ROWS, 5, -3, 3)], torch.exp),
    ("add", [("x", *ROWS, 5, *U), ("y", *ROWS, 5, *U), ("z", 1, 4, 1, *U)], lambda x, y, z: x + y + z),
    ("mul", [("x", *ROWS, 5, *U), ("y", 3, 1, 5, *U), ("z", 3, 4, 1, *U), ("s", 1, 1, 1, *U)], lambda x, y, z, s: x * y * z * s),
    ("affine", [("x", *ROWS, 5, *U)], lambda x: -1.5 * x + 0.25),
    ("clip", [("x", *ROWS, 5, -2, 2)], lambda x: x.clamp(-0.5, 0.75)),
    ("concat", [("x", *ROWS, 2, *U), ("y", *ROWS, 3, *U)], lambda x, y: torch.cat([x, y], -1)),
    ("slice", [("x", *ROWS, 6, *U)], lambda x: x[..., 1:4] + x[..., 2:5]),
    ("shift", [("x", *ROWS, 2, *U), ("first", 1, 4, 2, *U)], lambda x, f: shift(x) + shift(x, f)),
    ("hold", [("x", *ROWS, 2, *U), ("_when", *ROWS, 1, 0, 1, "binary")], lambda x, w: hold(x, w) + 0.5 * x),
    ("gauss_sample", [("mean", *ROWS, 5, *U), ("log_std", *ROWS, 5, -2, 0.5)],
     lambda m, s: m + s.exp() * normals("gauss_sample 0", m.numel()).reshape(m.shape)),
    ("squash_logp", [("u", *ROWS, 3, -3, 3), ("mean", *ROWS, 3, *U), ("log_std", *ROWS, 3, -1, 0.5)], squash_logp),
    ("min", [("x", *ROWS, 2, *U)], lambda x: x.min(-1, keepdim=True).values),
    ("mean", [("x", *ROWS, 3, *U), ("_weight", *ROWS, 1, 0, 1, "binary")], lambda x, w: row_mean(x.sum(-1, keepdim=True), w)),
    ("mse", [("x", *ROWS, 3, *U), ("_target", *ROWS, 3, *U), ("_weight", *ROWS, 1, 0, 1)],
     lambda x, y, w: row_mean(((x - y) ** 2).sum(-1, keepdim=True), w)),
    ("mse_twin", [("x", *ROWS, 2, *U), ("_target", *ROWS, 1, *U)], lambda x, y: row_mean(((x - y) ** 2).sum(-1))),
    ("l1", [("x", *ROWS, 3, *U), ("_weight", *ROWS, 1, 0, 1)], lambda x, w: row_mean((x - shift(x)).abs().sum(-1, keepdim=True), w)),
    ("gauss_nll", [("_target", *ROWS, 3, *U), ("mean", *ROWS, 3, *U), ("log_std", *ROWS, 3, -1, 0.5), ("_weight", *ROWS, 1, 0, 1)], nll),
    ("gauss_nll_fixed", [("_target", *ROWS, 3, *U), ("mean", *ROWS, 3, *U)], lambda y, m: row_mean(((y - m) ** 2).sum(-1) / 2)),
    ("gauss_kl", [("mq", *ROWS, 3, *U), ("sq", *ROWS, 3, -1, 0.5), ("mp", *ROWS, 3, *U), ("sp", *ROWS, 3, -1, 0.5), ("_weight", *ROWS, 1, 0, 1)], kl),
    ("auto_weight", [("a", 1, 1, 1, 0, 2), ("b", 1, 1, 1, 0, 2), ("c", 1, 1, 1, 0, 2), ("weights", 1, 1, 3, 0.5, 2)], auto_weight),
    ("masked_bank", [("s", *ROWS, 3, *U), ("theta", *ROWS, 2, *U), ("W1", 1, 5, 12, *U), ("C", 1, 5, 3, 0, 1), ("b1", 1, 1, 12, *U),
                     ("W2", 3, 4, 4, *U), ("b2", 3, 1, 4, *U), ("W3", 3, 4, 1, *U), ("b3", 3, 1, 1, *U)], masked_bank),
    ("lstm_layer", [("x", 5, 3, 2, *U), ("y", 5, 3, 1, *U), ("Wx", 1, 3, 12, *U), ("bx", 1, 1, 12, *U), ("Wh", 1, 3, 12, *U),
                    ("_reset", 5, 3, 1, 0, 0.7, "binary"), ("Wo", 1, 3, 2, *U), ("bo", 1, 1, 2, *U)], lstm_layer),
    ("pick", [("x", *ROWS, 2, *U), ("_at", 5, 4, 1, -1, 3, "index")], lambda x, at: 1.5 * pick(x, at)),
    ("sub", [("x", *ROWS, 5, *U), ("y", *ROWS, 5, *U), ("z", 1, 4, 1, *U)], lambda x, y, z: x - y - z),
    ("broadcast", [("_like", *ROWS, 5, *U), ("y", 1, 1, 5, *U), ("z", 3, 4, 1, *U)], lambda x, y, z: y.expand_as(x) * z.expand_as(x)),
    ("layer_norm", [("x", *ROWS, 5, -2, 2), ("gain", 1, 1, 5, 0.5, 2), ("shift", 1, 1, 5, *U)],
     lambda x, g, s: torch.tanh(layer_norm(x, g, s))),
    ("layer_norm_bank", [("x", 5, 16, 12, -1, 3), ("gain", 3, 1, 4, 0.5, 2), ("shift", 3, 1, 4, *U)],
     lambda x, g, s: F.relu(layer_norm(x, g, s))),
    ("pool", [("x", *ROWS, 2, *U), ("_weight", *ROWS, 1, 0, 1, "binary")], pool),
    ("roll", [("x", *ROWS, 2, *U)], lambda x: x.reshape(-1, 2).roll(-1, 0).reshape(x.shape) * x),
    ("norm", [("x", *ROWS, 3, *U)], lambda x: x.norm(dim=-1, keepdim=True)),
    ("frames", [("_table", 1, 4, 72, 0, 1, "bytes"), ("_at", 1, 3, 2, -1, 4, "index"), ("_shift", 1, 3, 2, 0, 3, "index"),
                ("x", 1, 3, 144, *U)], frames),
    ("conv2d_inner", [("x", 2, 2, 60, *U), ("W", 1, 18, 3, *U), ("b", 1, 1, 3, *U)],
     lambda x, W, b: conv_tanh(x, W, b, (2, 5, 6), 3, 1, 0)),
    ("conv2d_sparse", [("x", 1, 3, 70, *U), ("W", 1, 8, 3, *U), ("b", 1, 1, 3, *U)],
     lambda x, W, b: conv_tanh(x, W, b, (2, 7, 5), 2, 3, 3)),
]


def numbers(t):
    return [float(f"{x:.9g}") for x in t.detach().reshape(-1).tolist()]


def main(path):
    draw = np.random.default_rng(20260101)
    cases = {}
    for name, operands, fn in CASES:
        values = []
        for o in operands:
            x = draw.uniform(o[4], o[5], size=o[1:4]).astype(np.float32)
            if len(o) > 6 and o[6] == "bytes":  # those of case_bytes
                x = (np.arange(x.size, dtype=np.float32) * 37 % 251).reshape(x.shape)
            elif len(o) > 6:
                x = ((x > 0.5) if o[6] == "binary" else np.floor(x)).astype(np.float32)
            values.append(torch.tensor(x.astype(np.float64), requires_grad=not o[0].startswith("_")))
        y = fn(*values)
        if name == "lstm_bare":  # our recurrence is PyTorch's
            assert torch.allclose(y[..., :2], lstm_of_torch(*values), atol=1e-12)
        w = torch.tensor(draw.uniform(0.5, 1.5, size=tuple(y.shape)).astype(np.float32).astype(np.float64))
        (y * w).sum().backward()
        cases[name] = {
            "operands": {o[0]: {"shape": list(o[1:4]), "value": numbers(v),
                                **({} if v.grad is None else {"grad": numbers(v.grad)})}
                         for o, v in zip(operands, values)},
            "w": numbers(w), "shape": list(y.shape), "value": numbers(y)}
    with open(path, "w") as f:
        f.write('{"torch": "%s", "cases": {\n' % torch.__version__)
        f.write(",\n".join(f"{json.dumps(k)}: {json.dumps(v, separators=(',', ':'))}" for k, v in cases.items()))
        f.write("\n}}\n")
    print(f"{len(cases)} cases by PyTorch {torch.__version__} in {path}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "nn.json")
