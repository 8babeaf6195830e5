"""The losses of varibad, trio, lilac and zeus and their gradients, in double precision, against PyTorch's autograd; and trio's
Gaussian process against scikit-learn's."""

import json
import subprocess

import numpy as np
import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)


def run(build, *args):
    return json.loads(subprocess.run([build / args[0], *map(str, args[1:])], check=True, capture_output=True, text=True).stdout)


def tensor(v):
    return torch.tensor(v["value"]).reshape(v["shape"])


def params(group):
    return {k.split(".", 1)[1]: tensor(v).requires_grad_(True) for k, v in group.items()}


def dense(p, name, x):
    return x @ p[f"{name}.W"][0] + p[f"{name}.b"].reshape(-1)


def lstm(p, x, units):
    """The hidden states after each row, from a zero state."""
    h = c = torch.zeros(x.shape[1], units)
    out = []
    for row in x:
        i, f, g, o = (dense(p, "lstm", row) + h @ p["lstm.h.W"][0]).chunk(4, 1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
        out.append(h)
    return torch.stack(out)


def later(x):
    return torch.cat([torch.zeros_like(x[:1]), x[:-1]])


def kl(m, s, m0, s0):
    return s0 - s + ((2 * s).exp() + (m - m0) ** 2) / (2 * (2 * s0).exp()) - 0.5


def close(name, ours, theirs):
    theirs = theirs.detach().numpy().ravel()
    error = np.abs(np.asarray(ours).ravel() - theirs).max() / max(1e-3, np.abs(theirs).max())
    assert error <= 1e-6, (name, error)


def same_gradients(ours, group, p):
    for k, v in p.items():
        close(f"gradient of {group}.{k}", ours[f"{group}.{k}"]["value"], v.grad)


def decode(p, name, x, z, gain):
    h = F.relu(dense(p, f"{name}.1", x))
    if gain:
        h = h * (1 + dense(p, f"{name}.gain", z))
    return dense(p, f"{name}.last", F.relu(dense(p, f"{name}.out", h)))


def compare_varibad(d, gain):
    x = {k: tensor(v) for k, v in d["steps"].items()}
    T, B, _ = x["s"].shape
    encoder, decoder = params(d["values"]["encoder"]), params(d["values"]["decoder"])
    weight = tensor(d["weight"])
    mean = lambda c: (c.sum(-1, keepdim=True) * weight).sum() / weight.sum()
    embedded = torch.cat([F.relu(dense(encoder, k, x[v])) for k, v in (("s", "s1"), ("a", "a"), ("r", "r"))], -1)
    m, v = dense(encoder, "head", later(lstm(encoder, embedded, 5))).chunk(2, -1)
    s = (v / 2).clamp(-5, 2)
    z = m + s.exp() * torch.tensor(d["noise"]).reshape(m.shape)
    at = torch.tensor(d["decoded"]).reshape(T, B, 1)
    pick = {k: torch.gather(v, 0, at.clamp(min=0).expand(T, B, v.shape[-1])) * (at >= 0) for k, v in x.items()}
    r = decode(decoder, "r", torch.cat([z, pick["s"], pick["a"], pick["s1"]], -1), z, gain)
    ds = decode(decoder, "ds", torch.cat([z, pick["s"], pick["a"]], -1), z, gain)
    costs = [mean((r - pick["r"]) ** 2) / 2, mean((ds - pick["ds"]) ** 2) / 2, 0.1 * mean(kl(m, s, later(m), later(s)))]
    sum(costs).backward()
    assert 0 < weight.mean() < 1  # some rows are padding
    for name, ours, theirs in zip(("reward", "step", "kl"), d["costs"], costs):
        close(name, ours, theirs)
    same_gradients(d["gradients"]["encoder"], "encoder", encoder)
    same_gradients(d["gradients"]["decoder"], "decoder", decoder)


def test_varibads_elbo_equals_pytorchs(build):
    compare_varibad(run(build, "parity_varibad_double"), False)


def test_varibads_elbo_with_gains_equals_pytorchs(build):
    compare_varibad(run(build, "parity_varibad_double", "gain"), True)


def test_trios_loss_equals_pytorchs(build):
    d = run(build, "parity_trio_double")
    x = {k: tensor(v) for k, v in d["steps"].items()}
    p = params(d["values"])
    m0, s0, z, n, weight = (tensor(d[k]) for k in ("mean", "log_std", "z", "per_step", "weight"))
    prior = torch.cat([m0, (2 * s0).exp()], -1)
    embedded = [F.elu(dense(p, k, v)) for k, v in (("a", x["a"]), ("s", x["s1"]), ("r", x["r"]), ("prior", prior))]
    h = lstm(p, torch.cat(embedded, -1), 5)
    m, v = dense(p, "out", F.elu(dense(p, "head", torch.cat([h, prior, n], -1)))).chunk(2, -1)
    s = (v / 2).clamp(-5, 2)
    rows = ((m - z) ** 2 + (2 * s).exp() + 0.1 * n * kl(m, s, m0, s0)).sum(-1, keepdim=True)
    cost = (rows * weight).sum() / weight.sum()
    cost.backward()
    close("cost", d["cost"], cost)
    same_gradients(d["gradients"], "inference", p)


def mlp(p, name, x, scaled_by=None):
    h = F.relu(dense(p, f"{name}.1", x))
    if scaled_by is not None:
        h = h * (1 + dense(p, f"{name}.gain", scaled_by))
    return dense(p, f"{name}.out", F.relu(dense(p, f"{name}.2", h)))


def compare_zeus(d, gain):
    last, x = ({k: tensor(v) for k, v in d[name].items()} for name in ("last", "steps"))
    context, models = params(d["values"]["context"]), params(d["values"]["models"])
    there = tensor(d["there"])
    assert 0 < there.mean() < 1  # some steps were before birth
    codes = mlp(context, "coder", torch.cat([last[k] for k in ("s", "a", "r", "s1")], -1))
    c1 = (codes * there).sum(0, keepdim=True) / there.sum(0, keepdim=True)
    c2 = c1.roll(-1, 1)
    predict = lambda name, c: mlp(models, name, torch.cat([x["s"], x["a"], c], -1), c if gain else None)
    T, R = predict("step", c1), predict("reward", c1)
    d_ = ((R - predict("reward", c2)).abs() + (T - predict("step", c2)).norm(dim=-1, keepdim=True)).detach()
    distance = (c1 - c2).norm(dim=-1, keepdim=True)
    costs = [0.3 * ((distance - d_) ** 2).mean(), ((T - x["ds"]) ** 2).sum(-1).mean(), ((R - x["r"]) ** 2).sum(-1).mean()]
    sum(costs).backward()
    close("c", d["c"]["value"], c1)
    for name, ours, theirs in zip(("context", "step", "reward"), d["costs"], costs):
        close(name, ours, theirs)
    for name, ours, theirs in zip(("distance", "difference"), d["means"], (distance.mean(), d_.mean())):
        close(name, ours, theirs)
    same_gradients(d["gradients"]["context"], "context", context)
    same_gradients(d["gradients"]["models"], "models", models)


def test_zeus_loss_equals_pytorchs(build):
    compare_zeus(run(build, "parity_zeus_double"), False)


def test_zeus_loss_with_gains_equals_pytorchs(build):
    compare_zeus(run(build, "parity_zeus_double", "gain"), True)


def compare_lilac(d, gain):
    x = {k: tensor(v) for k, v in d["steps"].items()}
    p = {group: params(values) for group, values in d["values"].items()}
    expected, past, coming, count = (tensor(d[k]) for k in ("expected", "past", "coming", "count"))
    codes = torch.tanh(mlp(p["encoder"], "e", torch.cat([x["s"], x["a"], x["r"], x["s1"]], -1)))
    z = codes.mean(0, keepdim=True).expand_as(codes)
    y = mlp(p["decoder"], "d", torch.cat([x["s"], x["a"], z], -1), z if gain else None)
    rows = lambda e: (e**2).sum(-1)
    foreseen = rows(dense(p["prior"], "z", lstm(p["prior"], past, 3)) - coming) * count[..., 0]
    q = dense(p["critic"], "q", torch.cat([x["s"], z], -1))
    costs = [rows(y[..., :1] - x["r"]).mean(), rows(y[..., 1:] - x["ds"]).mean(), 0.1 * rows(codes - expected).mean()]
    costs += [foreseen.sum() / count.sum(), rows(q).mean()]
    sum(costs).backward()
    for name, ours, theirs in zip(("reward", "step", "kl", "prior", "critic"), d["costs"], costs):
        close(name, ours, theirs)
    for group, values in p.items():
        same_gradients(d["gradients"][group], group, values)


def test_lilacs_costs_equal_pytorchs(build):
    compare_lilac(run(build, "parity_lilac_double"), False)


def test_lilacs_costs_with_gains_equal_pytorchs(build):
    compare_lilac(run(build, "parity_lilac_double", "gain"), True)


def test_gaussian_process_equals_scikit_learns(build):
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, WhiteKernel

    rng = np.random.default_rng(0)
    cases = [np.sin(np.arange(100) / 5), rng.uniform(-1, 1, 60), np.linspace(-1, 1, 7), rng.normal(size=1)]
    for y in cases:
        for c, l, s0 in ((1, 1, 1), (0.3, 7, 0.2), (5, 0.5, 1e-3)):
            d = run(build, "parity_gp", c, l, s0, *(repr(float(v)) for v in y))
            kernel = ConstantKernel(c) * RBF(l) + DotProduct(s0) + WhiteKernel(0.01)
            gp = GaussianProcessRegressor(kernel, optimizer=None, alpha=1e-10)
            i = np.arange(len(y)) - (len(y) - 1) / 2
            gp.fit(i[:, None], y - y.mean())
            mean, sd = gp.predict([[len(y) - (len(y) - 1) / 2]], return_std=True)
            assert abs(d["mean"] - mean[0] - y.mean()) < 1e-8 and abs(d["sd"] - sd[0]) < 1e-8, (d, mean, sd)
            assert abs(d["likelihood"] - gp.log_marginal_likelihood_value_) < 1e-7
            assert d["fitted"] >= d["likelihood"] - 1e-6 * len(y)  # fitting finds nothing worse than these
