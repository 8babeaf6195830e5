"""The statistics of a report against SciPy and rliable."""

import inspect
import json
import pathlib
import subprocess
import tempfile
import warnings
import xml.etree.ElementTree

import numpy as np
from rliable import library, metrics
from scipy import stats

rng = np.random.default_rng(1)

# the same method under its names in older and newer releases
NORMAL = "asymptotic" if "asymptotic" in inspect.getdoc(stats.wilcoxon) else "approx"


def ours(build, name, *samples):
    """What parity_stats says of some samples, as numbers."""
    samples = [np.asarray(s, "<f8") for s in samples]
    raw = subprocess.run(
        [build / "parity_stats", name, *(str(len(s)) for s in samples)],
        input=b"".join(s.tobytes() for s in samples),
        check=True,
        capture_output=True,
    ).stdout
    return np.array([float(word) for word in raw.split()])


def test_moments(build):
    for n, m in [(2, 2), (3, 7), (50, 9)]:
        x, y = rng.normal(size=n), rng.normal(3, 5, size=m)
        pooled = np.sqrt((x.var(ddof=1) * (n - 1) + y.var(ddof=1) * (m - 1)) / (n + m - 2))
        np.testing.assert_allclose(ours(build, "sd", x)[0], x.std(ddof=1), rtol=1e-12)
        np.testing.assert_allclose(ours(build, "pooled", x, y)[0], pooled, rtol=1e-12)
        x = np.sort(x)
        expected = np.percentile(x, np.arange(41) / 40 * 100)
        np.testing.assert_allclose(ours(build, "quantiles", x), expected, rtol=1e-12, atol=1e-12)


def test_iqm(build):
    for n in range(1, 40):
        x = rng.standard_cauchy(n)
        expected = metrics.aggregate_iqm(x.reshape(-1, 1))
        np.testing.assert_allclose(ours(build, "iqm", x)[0], expected, rtol=1e-9)
        np.testing.assert_allclose(expected, stats.trim_mean(x, 0.25), rtol=1e-12)


def test_improvement(build):
    for n, m in [(1, 1), (5, 5), (10, 3)]:
        for digits in (0, 9):  # with equal numbers, and without
            x, y = rng.normal(0.4, 1, n).round(digits), rng.normal(size=m).round(digits)
            expected = metrics.probability_of_improvement(x.reshape(-1, 1), y.reshape(-1, 1))
            np.testing.assert_allclose(ours(build, "improvement", x, y)[0], expected, rtol=1e-12)


def test_profile(build):
    taus = np.arange(41) / 20 - 1
    for n in (1, 7, 60):
        scores = rng.normal(size=n).round(1)  # some are exactly at a threshold
        expected = [library.run_score_deviation(scores.reshape(-1, 1), tau) for tau in taus]
        np.testing.assert_allclose(ours(build, "profile", scores), expected, rtol=1e-12)


def between(mine, scores, statistic, reps):
    """Whether our 95 % interval is rliable's, but for chance: both ends are quantiles of random draws. Of 4,000 and
    10,000 draws, their levels differ by 0.3 % (one standard deviation), so 2.5 % here is 1 to 4 % there. Levels do not
    depend on the shape of a distribution; distances between ends do."""
    wide, narrow = (
        library.get_interval_estimates(
            {"a": scores}, statistic, reps=reps, confidence_interval_size=size, random_state=np.random.RandomState(1)
        )[1]["a"][:, 0]
        for size in (0.98, 0.92)
    )
    assert wide[0] <= mine[0] <= narrow[0] and narrow[1] <= mine[1] <= wide[1], (mine, wide, narrow)


def test_improvement_interval(build):
    for runs, tasks in [(10, 1), (8, 4)]:
        x, y = rng.normal(0.5, 1, (runs, tasks)), rng.normal(size=(runs, tasks))
        mine = ours(build, "improvements", *x.T, *y.T)
        between(mine, (x, y), lambda a, b: np.array([metrics.probability_of_improvement(a, b)]), 4000)


def test_bootstrap(build):
    for runs, tasks in [(10, 1), (10, 4), (5, 12)]:
        scores = rng.normal(size=(runs, tasks)) + np.arange(tasks)
        mine = ours(build, "bootstrap", *scores.T)
        between(mine, scores, lambda s: np.array([metrics.aggregate_iqm(s)]), 4000)


def test_signed_ranks_exactly(build):
    for n in [*range(1, 21), 50]:
        for shift in (0, 0.5, 3):
            x, y = rng.normal(shift, 1, n), rng.normal(size=n)
            expected = stats.wilcoxon(x, y, method="exact")
            count, total, p, exact = ours(build, "ranks", x, y)
            assert exact and count == n
            np.testing.assert_allclose([total, p], [expected.statistic, expected.pvalue], rtol=1e-12)


def test_signed_ranks_with_ties(build):
    warnings.filterwarnings("ignore", "Sample size too small")  # small is what we have
    for n in [5, 8, 10, 20, 30, 60, 200]:
        for digits in (0, 1):
            x, y = rng.normal(0.5, 1, n).round(digits), rng.normal(size=n).round(digits)
            x[0] = y[0]  # a zero at least
            expected = stats.wilcoxon(x, y, method=NORMAL, correction=True)
            count, total, p, exact = ours(build, "ranks", x, y)
            assert not exact and count == np.sum(x != y)
            np.testing.assert_allclose(total, expected.statistic, rtol=1e-12)
            np.testing.assert_allclose(p, min(expected.pvalue, 1), rtol=1e-9)
    x = rng.normal(size=70)  # too many for the exact way
    expected = stats.wilcoxon(x + 0.2, method=NORMAL, correction=True)
    np.testing.assert_allclose(ours(build, "ranks", x + 0.2, 0 * x)[2], expected.pvalue, rtol=1e-9)


def test_report(build):
    """A whole report of two algorithms: every figure again from metrics.csv; the page is XML."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        config = folder / "swing.ini"
        config.write_text("[env]\nname = pendulum\nhorizon = 20\n[train]\nepisodes = 130\n")
        finals = {}
        for algo in ("null", "random"):
            out = folder / "runs" / algo
            subprocess.run(
                [build / "fans", "train", config, "--algo", algo, "--seeds", "6", "--out", out]
                + ["--threads", "1", "--quiet"],
                check=True,
                capture_output=True,
            )
            tables = [
                np.loadtxt(out / f"seed-{s}" / "metrics.csv", delimiter=",", skiprows=1)
                for s in range(6)
            ]
            gains = [(t[:, 3], t[:, 4]) for t in tables]  # returns and lengths of episodes
            finals[algo] = np.array([gain[-100:].mean() for gain, _ in gains])
            areas = np.array([np.average(gain, weights=length) for gain, length in gains])
        page, numbers = folder / "page.html", folder / "page.json"
        subprocess.run(
            [build / "fans", "report", folder / "runs", "--out", page, "--json", numbers],
            check=True,
            capture_output=True,
        )
        xml.etree.ElementTree.parse(page)
        (task,) = json.loads(numbers.read_text())["tasks"]
        for method in task["methods"]:
            x = finals[method["algo"]]
            np.testing.assert_allclose(method["final_return"]["mean"], x.mean(), rtol=1e-12)
            np.testing.assert_allclose(method["final_return"]["sd"], x.std(ddof=1), rtol=1e-9)
            np.testing.assert_allclose(method["iqm"]["value"], stats.trim_mean(x, 0.25), rtol=1e-9)
            (test,) = method["wilcoxon"]
            expected = stats.wilcoxon(finals["null"], finals["random"])
            np.testing.assert_allclose(test["p"], expected.pvalue, rtol=1e-9)
        np.testing.assert_allclose(method["area"]["mean"], areas.mean(), rtol=1e-9)
        ends = np.array([gain[-5:].mean() for gain, _ in gains])  # a thirtieth of the run is less
        np.testing.assert_allclose(method["curve"]["mean"][-1], ends.mean(), rtol=1e-9)
        np.testing.assert_allclose(method["curve"]["sd"][-1], ends.std(ddof=1), rtol=1e-9)
