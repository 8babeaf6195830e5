"""Sums up what results/graphs.py measured: writes summary.json, graphs.csv (a table) and calibration.svg to results/graphs.

    python results/graphs_summary.py
"""
import csv
import json
from collections import Counter, defaultdict
from pathlib import Path
from statistics import median

FOLDER = Path(__file__).resolve().parent / "graphs"
LEVEL = 0.05  # of the false alarms


def rows(name):
    path = FOLDER / f"{name}.csv"
    if not path.exists():
        return []
    with path.open() as f:
        return list(csv.DictReader(f))


def worlds(found):
    by_seed = defaultdict(list)
    for row in found:
        by_seed[int(row["seed"])].append(row)
    return by_seed


def score(edges):
    judged = [(float(e["probability"]) > 0.5, e["truth"] == "1") for e in edges if e["probability"]]
    count = Counter(judged)
    hits, extra, missing = count[True, True], count[True, False], count[False, True]
    return {"f1": round(2 * hits / (2 * hits + extra + missing), 4), "extra": extra, "missing": missing}


def forty():
    scores = {seed: score(edges) for seed, edges in worlds(rows("forty")).items()}
    f1 = [s["f1"] for s in scores.values()]
    return {"worlds": len(f1), "least F1": min(f1, default=None), "F1 of 0.99 or more": sum(x >= 0.99 for x in f1),
            "not perfect": {seed: s for seed, s in scores.items() if s["f1"] < 1}}


FOUND = 0.9  # R2 of a factor that is found


def found(row):
    """R2 of every factor: at the end of episodes, or at any step where they move within episodes."""
    r2 = [float(x) for name, x in row.items() if name.startswith(("r2_end", "r2_any"))]
    return all(x >= FOUND for x in r2) if r2 else None


def line(label, rows, peer=()):
    """A row of the table: worlds with a graph, and what PCMCI finds in some of them."""
    f1, known = [float(r["f1"]) for r in rows], [found(r) for r in rows if found(r) is not None]
    return [label, len(f1), f"{min(f1):.3f}", sum(x >= 0.99 for x in f1), sum(known) if known else "–",
            f"{median(float(r['seconds']) for r in rows):.0f}", " / ".join(f"{float(r['best']):.2f}" for r in peer) or "–"]


def table():
    """Worlds that nothing was fitted to, by kind."""
    fits, kinds, wide = rows("fits-3-starts"), rows("kinds"), rows("wide")

    def some(all_rows, **want):
        return [r for r in all_rows if all(r[k] == v for k, v in want.items())]
    yield ["worlds", "how many", "least F1", "F1 of 0.99 or more", f"all factors found: R² of {FOUND} or more", "seconds",
           "F1 of PCMCI on four at the level that the truth picks"]
    yield line("8 states and density 0.3 and 20000 transitions", some(fits, density="0.3", transitions="20000"), rows("pcmci"))
    yield line("density 0.12", some(fits, density="0.12"))
    yield line("5000 transitions", some(fits, transitions="5000"))
    yield line("factors that move at every step (CONT)", some(kinds, config="fnmdp_cont"))
    yield line("factors that move in blocks (W-EP)", some(kinds, config="fnmdp_wep"))
    yield line("20 states and density 0.12", some(wide, d="20", density="0.12"))
    yield line("20 states and density 0.3", some(wide, d="20", density="0.3"))
    yield line("40 states and density 0.06", some(wide, d="40"))
    yield line("64 states and density 0.04", some(wide, d="64"))


def interval(hits, n, z=1.96):
    """Wilson's, of a share."""
    share, middle = hits / n, hits / n + z * z / (2 * n)
    half = z * (share * (1 - share) / n + z * z / (4 * n * n)) ** 0.5
    return (middle - half) / (1 + z * z / n), (middle + half) / (1 + z * z / n)


def calibration(hidden):
    """Edges by tenths of their probability; without a state's edge to itself, which all worlds have."""
    tenths = defaultdict(list)
    for e in rows("edges"):
        if e["probability"] and e["effect"] != e["cause"] and (e["hidden"] == "1") == hidden:
            tenths[min(int(float(e["probability"]) * 10), 9)].append(e)
    out = []
    for k, edges in sorted(tenths.items()):
        n, there = len(edges), sum(e["truth"] == "1" for e in edges)
        low, high = interval(there, n)
        out.append({"edges": n, "worlds": len({e["seed"] for e in edges}), "called": round(
            sum(float(e["probability"]) for e in edges) / n, 4), "there": round(there / n, 4),
            "from": round(low, 4), "to": round(high, 4)})
    return out


def changes():
    """A hit names the edge that was removed or added. Products are mechanisms of both of their causes."""
    out = Counter()
    for edges in worlds(rows("changes")).values():
        what, named = edges[0]["what"], [e for e in edges if float(e["p"]) < LEVEL]
        out[f"{what}: worlds"] += 1
        if what == "nothing":
            out["nothing: false alarms"] += bool(named)
            continue
        target = next(e["effect"] for e in edges if e["changed"] == "1")
        out[f"{what}: named"] += any(e["changed"] == "1" for e in named)
        out[f"{what}: named first"] += bool(named) and named[0]["changed"] == "1"
        out[f"{what}: another edge of the same state named, too"] += any(
            e["changed"] == "0" and e["effect"] == target for e in named)
        out[f"{what}: an edge of another state or the reward named"] += any(e["effect"] != target for e in named)
    return dict(sorted(out.items()))


SIZE, LEFT, TOP, WIDE = 320, 60, 40, 880


def panel(title, x, tenths, out):
    def at(px, py):
        return f"{x + px * SIZE:.1f}", f"{TOP + (1 - py) * SIZE:.1f}"
    out.append(f'<rect x="{x}" y="{TOP}" width="{SIZE}" height="{SIZE}" class="frame"/>')
    (x0, y0), (x1, y1) = at(0, 0), at(1, 1)
    out.append(f'<path d="M{x0} {y0}L{x1} {y1}" class="even"/><text x="{x}" y="{TOP - 14}" class="head">{title}</text>')
    for k in range(0, 11, 2):
        (tx, ty), (lx, ly) = at(k / 10, 0), at(0, k / 10)
        out.append(f'<text x="{tx}" y="{float(ty) + 16}" text-anchor="middle">{k / 10}</text>'
                   f'<text x="{float(lx) - 6}" y="{float(ly) + 4}" text-anchor="end">{k / 10}</text>')
    for t in tenths:
        (px, py), (_, low), (_, high) = at(t["called"], t["there"]), at(0, t["from"]), at(0, t["to"])
        out.append(f'<path d="M{px} {low}V{high}" class="bar"/><circle cx="{px}" cy="{py}" r="4"><title>{t["edges"]} edges of '
                   f'{t["worlds"]} worlds called {t["called"]}: {t["there"]} are there</title></circle>')
    out.append(f'<text x="{x + SIZE / 2}" y="{TOP + SIZE + 34}" text-anchor="middle">probability of an edge</text>')


def plot():
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {TOP + SIZE + 50}" width="{WIDE}">',
           "<style>svg{background:#fff;font:12px sans-serif}.frame{fill:none;stroke:#98a2ad}.even{stroke:#98a2ad;"
           "stroke-dasharray:4 3}.bar{stroke:#0072b2}circle{fill:#0072b2}.head{font-weight:600}</style>",
           f'<text transform="translate(16 {TOP + SIZE / 2}) rotate(-90)" text-anchor="middle">share that is there</text>']
    panel("between states, from actions, to the reward", LEFT, calibration(False), out)
    panel("from hidden factors to states", LEFT + SIZE + 120, calibration(True), out)
    (FOLDER / "calibration.svg").write_text("\n".join([*out, "</svg>", ""]))


def main():
    figures = {"forty": forty(), "changes": changes(),
               "calibration": {"visible": calibration(False), "hidden": calibration(True)},
               "fits": rows("fits"), "fits with three starts": rows("fits-3-starts"), "kinds": rows("kinds"),
               "wide": rows("wide"), "pcmci": rows("pcmci")}
    (FOLDER / "summary.json").write_text(json.dumps(figures, indent=1) + "\n")
    with (FOLDER / "graphs.csv").open("w", newline="") as f:
        csv.writer(f, lineterminator="\n").writerows(table())
    plot()


if __name__ == "__main__":
    main()
