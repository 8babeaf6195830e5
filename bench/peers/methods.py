"""Updates of compared methods in PyTorch, in the sizes of bench/method_steps.h: recurrent SAC's and VariBAD's.

`adam(parameters, lr)` makes an optimiser; `bank`: the twin critics as one batched product, else as two networks.
"""
import torch
import torch.nn.functional as F

O, A = 17, 6


def dense(i, o, device):
    return torch.nn.Linear(i, o, device=device)


def mlp(sizes, device):
    layers = []
    for i, o in zip(sizes, sizes[1:]):
        layers += [dense(i, o, device), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1])


class Memory(torch.nn.Module):
    """Embeddings of what was seen, done and gained, and an LSTM."""

    def __init__(self, units, extra, device):
        super().__init__()
        self.embed = torch.nn.ModuleList([dense(i, o, device) for i, o in ((O, 32), (A, 16), (1, 16))])
        self.lstm = torch.nn.LSTM(64 + extra, units, device=device)

    def forward(self, rows, *extra):
        return self.lstm(torch.cat([*(F.relu(f(x)) for f, x in zip(self.embed, rows)), *extra], 2))[0]


class Twins(torch.nn.Module):
    """Two perceptrons as batched products: (rows, in) -> (2, rows, 1)."""

    def __init__(self, i, width, device):
        super().__init__()
        pairs = ((i, width), (width, width), (width, 1))
        self.W = torch.nn.ParameterList([(torch.rand(2, a, b, device=device) * 2 - 1) / a**0.5 for a, b in pairs])
        self.b = torch.nn.ParameterList([torch.zeros(2, 1, b, device=device) for _, b in pairs])

    def forward(self, x):
        h = x.expand(2, *x.shape)
        for k in range(3):
            h = torch.baddbmm(self.b[k], h, self.W[k])
            h = F.relu(h) if k < 2 else h
        return h


class Critic(torch.nn.Module):
    def __init__(self, units, bank, device):
        super().__init__()
        self.memory, self.shortcut, self.bank = Memory(units, 1, device), dense(O + A, 64, device), bank
        sizes = [units + 64, 256, 256, 1]
        self.q = Twins(sizes[0], 256, device) if bank else torch.nn.ModuleList([mlp(sizes, device) for _ in range(2)])

    def forward(self, h, obs, action):
        x = torch.cat([h, F.relu(self.shortcut(torch.cat([obs, action], -1)))], -1).flatten(0, 1)
        return self.q(x) if self.bank else torch.stack([q(x) for q in self.q])


def rsac(adam, bank, device="cpu"):
    """The critics' LSTM runs once: the policy's loss reads its states without a gradient."""
    T, B, units = 64, 32, 128
    rows = [torch.rand(T + 1, B, n, device=device) for n in (O, A, 1)]
    first, action = torch.rand(T + 1, B, 1, device=device), torch.rand(T, B, A, device=device)
    reward, end, weight = (f(T * B, 1, device=device) for f in (torch.rand, torch.zeros, torch.ones))
    obs, after, total = rows[0][:-1], rows[0][1:], weight.sum()
    memory, shortcut = Memory(units, 1, device), dense(O, 32, device)
    head = mlp([units + 32, 256, 256, 2 * A], device)
    critic, target = Critic(units, bank, device), Critic(units, bank, device)
    target.load_state_dict(critic.state_dict())
    log_temp = torch.zeros(1, device=device, requires_grad=True)
    own = [*memory.parameters(), *shortcut.parameters(), *head.parameters()]
    twins, targets = list(critic.parameters()), list(target.parameters())
    opt_q = adam(twins, 1e-3)
    opt_pi, opt_t = adam(own, 1e-3), adam([log_temp], 1e-3)

    def policy(h, o):
        mean, log_std = head(torch.cat([h, F.relu(shortcut(o))], -1)).flatten(0, 1).chunk(2, 1)
        log_std = log_std.clamp(-20, 2)
        eps = torch.randn_like(mean)
        u = mean + log_std.exp() * eps
        logp = (-0.5 * eps * eps - log_std - 0.9189385 - 2 * (0.6931472 - u - F.softplus(-2 * u))).sum(1, keepdim=True)
        return torch.tanh(u).view(T, B, A), logp

    def descend(loss, parameters, opt):
        for p, g in zip(parameters, torch.autograd.grad(loss, parameters)):
            p.grad = g
        opt.step()

    def step():
        h, h_critic = memory(rows, first), critic.memory(rows, first)
        with torch.no_grad():
            temp = log_temp.exp()
            a, logp = policy(h[1:], after)
            y = reward + 0.97 * (1 - end) * (target(target.memory(rows, first)[1:], after, a).amin(0) - temp * logp)
        q = critic(h_critic[:-1], obs, action)
        descend(0.5 * (((q - y) ** 2).sum(0) * weight).sum() / total, twins, opt_q)
        a, logp = policy(h[:-1], obs)
        q = critic(h_critic[:-1].detach(), obs, a).amin(0)
        descend(((temp * logp - q) * weight).sum() / total, own, opt_pi)
        descend(-(log_temp * (logp.detach() - A) * weight).sum() / total, [log_temp], opt_t)
        with torch.no_grad():
            torch._foreach_lerp_(targets, twins, 0.02)

    return step


def varibad(adam, device="cpu"):
    T, B, n, units = 51, 8, 16, 128
    s, a, s1, ds, r = (torch.rand(T, B, k, device=device) for k in (O, A, O, O, 1))
    at, weight = torch.randint(0, T - 1, (T, B, 1), device=device), torch.ones(T, B, 1, device=device)
    memory, head = Memory(units, 0, device), dense(units, 2 * n, device)
    reward = mlp([n + 2 * O + A, 64, 32, 1], device)
    change = mlp([n + O + A, 64, 32, O], device)
    encoder = [*memory.parameters(), *head.parameters()]
    decoder = [*reward.parameters(), *change.parameters()]
    opts = [(encoder, adam(encoder, 1e-3)), (decoder, adam(decoder, 1e-3))]
    total = weight.sum()

    def mean(rows):
        return (rows.sum(-1, keepdim=True) * weight).sum() / total

    def later(x):
        return F.pad(x[:-1], (0, 0, 0, 0, 1, 0))

    def pick(x):
        return torch.gather(x, 0, at.expand(T, B, x.shape[2]))

    def step():
        mu, log_var = head(later(memory([s1, a, r]))).chunk(2, 2)
        log_std = (0.5 * log_var).clamp(-5, 2)
        z = mu + log_std.exp() * torch.randn_like(mu)
        before, log_before = later(mu), later(log_std)
        then, did, came = pick(s), pick(a), pick(s1)
        loss = 0.5 * mean((pick(r) - reward(torch.cat([z, then, did, came], 2))) ** 2)
        loss = loss + 0.5 * mean((pick(ds) - change(torch.cat([z, then, did], 2))) ** 2)
        kl = log_before - log_std + 0.5 * ((2 * (log_std - log_before)).exp() + ((mu - before) * (-log_before).exp()) ** 2) - 0.5
        loss = loss + 0.1 * mean(kl)
        every = encoder + decoder
        for p, g in zip(every, torch.autograd.grad(loss, every)):
            p.grad = g
        for group, opt in opts:
            torch.nn.utils.clip_grad_norm_(group, 1.0, foreach=True)
            opt.step()

    return step
