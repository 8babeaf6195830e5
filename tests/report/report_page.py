"""report_page.py FANS SHOTS RUNS - the page of `fans report` in a real browser. SHOTS: a folder for pictures of it, or ""."""

import base64
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "live"))
import browser  # noqa: E402

EVIL = "</title></style></script><script>window.ran=1</script><img src=x onerror=window.ran=2>'\" onload=\"window.ran=3"
EVIL_NAME = EVIL.replace("/", "∕")  # of a folder


def report(fans, out, *arguments):
    subprocess.run([fans, "report", *arguments, "--out", out], check=True, stdout=subprocess.DEVNULL)
    return pathlib.Path(out).resolve().as_uri()


# labels of the same axis that touch
OVERLAPS = """[...document.querySelectorAll('.frame')].flatMap(f => {
    const t = [...f.querySelectorAll('.tick.x')].map(e => [e.innerText, e.getBoundingClientRect()]).filter(x => x[1].width);
    return t.slice(1).filter((x, i) => x[1].left < t[i][1].right).map(x => x[0]); })"""


def opened(page):
    """Everything that can be folded, unfolded."""
    page.run("document.querySelectorAll('details').forEach(d => d.open = true)")


def it_fits(page, name, width):
    page.size(width, 1000)
    for unfold in False, True:
        if unfold:
            opened(page)
        page.run("new Promise(done => setTimeout(done, 200))")
        assert page.run("document.documentElement.scrollWidth") <= width, f"{name}: wider than the window"
    cut = page.run("""[...document.querySelectorAll('.tick, .name')].filter(e => {
        const r = e.getBoundingClientRect(); return r.width && (r.left < 0 || r.right > innerWidth); }).map(e => e.innerText)""")
    assert not cut, f"{name}: cut off: {cut}"
    assert not (two := page.run(OVERLAPS)), f"{name}: ticks lie on each other: {two}"


def ink_and_paper(page):
    return page.run("[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]")


def it_is_readable_everywhere(page, shots):
    for name, width, dark in ("wide", 1280, False), ("narrow", 360, False), ("dark", 1280, True):
        page.dark(dark)
        it_fits(page, name, width)
        light = ink_and_paper(page)[1] == "rgb(255, 255, 255)"
        assert light != dark, ink_and_paper(page)
        if shots:
            page.shoot(os.path.join(shots, f"report_{name}.png"))


def it_prints(page, shots):
    """On white, whatever the screen's scheme; a plot is never torn between two sheets."""
    page.dark(True)
    page.call("Emulation.setEmulatedMedia", media="print", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    assert ink_and_paper(page)[1] == "rgb(255, 255, 255)", ink_and_paper(page)
    assert page.run("getComputedStyle(document.querySelector('.plot')).breakInside") == "avoid"
    page.size(718, 1000)  # A4, less 1 cm at either side
    wide = page.run("""[...document.querySelectorAll('main *')].filter(e => e.getBoundingClientRect().width &&
        !e.closest('svg') && e.getBoundingClientRect().right > innerWidth + 1).map(e => e.className + ' ' + e.innerText)""")
    assert not wide, f"print: cut off: {wide[:5]}"
    page.call("Emulation.setEmulatedMedia", media="", features=[])
    pdf = base64.b64decode(page.call("Page.printToPDF", printBackground=True)["data"])
    assert pdf.startswith(b"%PDF") and len(pdf) > 10000
    if shots:
        pathlib.Path(shots, "report_print.pdf").write_bytes(pdf)


def values_can_be_pointed_at(page):
    titles = page.run("[...document.querySelectorAll('.spot title')].map(t => t.textContent)")
    for what in "steps: -", "s: -", "critic", "steps after a change", "believed":
        assert what == "critic" or any(what in t for t in titles), f"no value says '{what}'"
    assert "critic_loss" in page.run("[...document.querySelectorAll('h4')].map(t => t.textContent).join()")


def craft(run):
    """The texts of a run, each of which would like to run."""
    config = (run / "config.ini").read_text(encoding="utf-8")
    config = config.replace("[env]", f"# {EVIL}\n[env]\n{EVIL.replace('=', '')} = {EVIL}")
    (run / "config.ini").write_text(config.replace("algo = ", f"algo = {EVIL_NAME}"), encoding="utf-8")
    (run / "command.txt").write_text(f"fans train '{EVIL_NAME}.ini'\n{EVIL}\n", encoding="utf-8")
    system = json.loads((run / "system.json").read_text(encoding="utf-8"))
    system["commit"] = system[EVIL] = EVIL
    (run / "system.json").write_text(json.dumps(system), encoding="utf-8")
    rename(run / "metrics.csv", 6, EVIL)
    rename(run / "beliefs.csv", 4, "true." + EVIL)
    (run / "graph.json").write_text(json.dumps({
        "d": 1, "m": 1, "p": 1, "q": 1, "threshold": 0.5, "states": [EVIL], "actions": [EVIL],
        "masks": {"C_ss": [[0.9]], "C_as": [[0.7]], "C_ts": [[0.6]], "c_sr": [[0.99]], "c_ar": [[0.9]],
                  "C_tt_s": [[1]], "C_tt_r": [[1]]},
        "s_min": [True], "theta_s_min": [True], "theta_r_min": [True]}), encoding="utf-8")


def rename(file, column, name):
    """A column of a table, or one more."""
    head, rows = file.read_text(encoding="utf-8").split("\n", 1)
    names = head.split(",")
    if column < len(names):
        names[column] = name.replace(",", ";")
    else:
        names.append(name.replace(",", ";"))
        rows = "".join(f"{row},1\n" for row in rows.splitlines())
    file.write_text(",".join(names) + "\n" + rows, encoding="utf-8")


def nothing_of_a_run_runs(chromium, fans, runs):
    with tempfile.TemporaryDirectory() as folder:
        hurt = pathlib.Path(folder, EVIL_NAME)
        for name in "pendulum_flip-late", "pendulum_flip-random":
            shutil.copytree(pathlib.Path(runs, name), hurt / name)
        plain = report(fans, folder + "/plain.html", str(hurt), "--title", EVIL)
        expected = markup(chromium.page(plain))
        for run in hurt.glob("*/seed-*"):
            if (run / "beliefs.csv").exists():
                craft(run)
        said = subprocess.run([fans, "report", str(hurt), "--title", EVIL, "--commits", "--out", folder + "/evil.html"],
                              capture_output=True, text=True, check=False)
        if said.returncode:  # refused, which is as good; then without the graph, whose names are held to letters
            assert "graph.json" in said.stderr, said.stderr
            for graph in hurt.glob("*/seed-*/graph.json"):
                graph.unlink()
        page = chromium.page(report(fans, folder + "/evil.html", str(hurt), "--title", EVIL, "--commits"))
        opened(page)
        page.run("new Promise(done => setTimeout(done, 300))")
        assert page.run("window.ran") is None, "a script of the run has run"
        assert page.run("document.body.innerText").count("window.ran=1") >= 5, "the texts are not on the page"
        extra = markup(page) - expected
        assert not extra, extra
        assert not page.complaints(), page.complaints()


def markup(page):
    """Names of elements and attributes."""
    return set(page.run("""[...document.querySelectorAll('*')].flatMap(e =>
        [e.localName, ...[...e.attributes].map(a => a.name === 'href' ? 'href ' + a.value[0] : '@' + a.name)])"""))


def main(fans, shots, runs):
    chromium = browser.Browser(browser.find())
    try:
        with tempfile.TemporaryDirectory() as folder:
            page = chromium.page(report(fans, folder + "/page.html", runs))
            values_can_be_pointed_at(page)
            it_is_readable_everywhere(page, shots)
            it_prints(page, shots)
            assert not page.complaints(), page.complaints()
        nothing_of_a_run_runs(chromium, fans, runs)
    finally:
        chromium.close()


main(*sys.argv[1:])
