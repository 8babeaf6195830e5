"""Random streams: the words against a second implementation, the distributions against SciPy."""

import subprocess

import numpy as np
from scipy import stats

COUNT = 200_000


def draw(build, seed, purpose, index):
    """Words, uniforms and normals of one stream, from the C side."""
    command = [build / "parity_rng", str(seed), purpose, str(index), str(COUNT)]
    raw = subprocess.run(command, check=True, capture_output=True).stdout
    words = np.frombuffer(raw, "<u4", COUNT)
    reals = np.frombuffer(raw, "<f8", 2 * COUNT, words.nbytes)
    return words, reals[:COUNT], reals[COUNT:]


def fnv1a(name):
    h = 2166136261
    for byte in name.encode():
        h = (h ^ byte) * 16777619 % 2**32
    return h


def philox(seed, purpose, index, blocks):
    """Philox4x32-10 on arrays, from the paper's description: counter (n, purpose, index), key seed."""
    n = np.arange(blocks, dtype=np.uint64)
    low = np.uint64(0xFFFFFFFF)
    shift = np.uint64(32)
    c = [n & low, n >> shift, np.full_like(n, purpose), np.full_like(n, index)]
    k = [seed % 2**32, seed >> 32]
    for _ in range(10):
        p0 = np.uint64(0xD2511F53) * c[0]
        p1 = np.uint64(0xCD9E8D57) * c[2]
        c = [
            (p1 >> shift) ^ c[1] ^ np.uint64(k[0]),
            p1 & low,
            (p0 >> shift) ^ c[3] ^ np.uint64(k[1]),
            p0 & low,
        ]
        k = [(k[0] + 0x9E3779B9) % 2**32, (k[1] + 0xBB67AE85) % 2**32]
    return np.stack(c, axis=1).astype(np.uint32).ravel()


def test_words(build):
    for seed, purpose, index in [(0, "", 0), (1, "replay", 3), (2**64 - 1, "reset", 2**32 - 1)]:
        words, _, _ = draw(build, seed, purpose, index)
        expected = philox(seed, fnv1a(purpose), index, COUNT // 4)
        np.testing.assert_array_equal(words, expected)


def test_uniforms(build):
    words, uniforms, _ = draw(build, 7, "uniform", 0)
    np.testing.assert_array_equal(uniforms, (words + 0.5) / 2**32)
    assert stats.kstest(uniforms, "uniform").pvalue > 1e-3


def test_normals(build):
    _, _, normals = draw(build, 7, "normal", 0)
    assert stats.kstest(normals, "norm").pvalue > 1e-3
    # neither neighbours nor their squares know of each other: five standard errors
    for x in (normals, normals**2):
        correlation = np.corrcoef(x[:-1], x[1:])[0, 1]
        assert abs(correlation) < 5 / np.sqrt(COUNT), correlation


def test_normals_exactly(build):
    words, _, normals = draw(build, 7, "normal", 0)
    pairs = words[: COUNT // 2 * 2].reshape(-1, 2)
    u, v = ((pairs >> 9) + 0.5).T / 2**23
    expected = np.sqrt(-2 * np.log(u)) * np.cos(2 * np.pi * v)
    np.testing.assert_allclose(normals[: len(expected)], expected, rtol=2e-6, atol=2e-6)
