"""watch_slow.py agents|pictures FANS RUN RUN - what takes minutes. agents: a trained one that notices, 10^5 malformed
requests, eight hours of ticks. pictures: how many a second in Chromium. Prints CSV lines."""

import os
import re
import sys
import time

import browser
from malformed import storm
from watching import Watch, processor_seconds

TICKS = 8 * 3600 * 30  # of eight hours
REQUESTS = 100000
MOVES = 10


def note(what, value, unit):
    print(f"{what},{value},{unit}", flush=True)


def the_agent_notices(w):
    """It is told nothing, and the motor's sign is changed by hand, 150 steps apart."""
    w.control(told=False)
    w.control(hold=dict(factor="torque", value=1))
    w.steps(300)
    after = []
    for i in range(MOVES):
        time.sleep(1.1)  # another movement
        w.control(hold=dict(factor="torque", value=-1 if i % 2 == 0 else 1))
        track = w.steps(150)["lanes"][0]["tracks"][0]
        note(f"move {i}: {track['verdict']}; belief 150 steps later", round(track["guess"][-1], 2), "")
        after += [int(n) for n in re.findall(r"noticed after (\d+) step", track["verdict"])]
    note("changes by hand that were noticed", len(after), f"of {MOVES}")
    note("noticed after", sum(after) / max(1, len(after)), "steps on average")
    assert len(after) >= MOVES - 1, after
    w.control(hold=dict(factor="torque", value=None))
    w.control(told=True)


def the_slider_is_quick(w):
    """Milliseconds until the world's factor is another, over HTTP."""
    w.control(speed=30)
    w.control(pause=False)
    took = []
    for i in range(50):
        value, start = -1 + i / 50, time.monotonic()
        w.control(hold=dict(factor="torque", value=value))
        w.until(lambda f, value=value: abs(f["factors"][1]["now"] - value) < 1e-4)
        took.append(1000 * (time.monotonic() - start))
    note("slider to world, longest of 50", round(max(took), 1), "ms")
    assert max(took) < 100
    w.control(hold=dict(factor="torque", value=None))


def hours_leave_no_trace(w):
    w.steps(5000)
    before, start = w.memory(), time.monotonic()
    w.steps(TICKS, 3600)
    note("steps of two agents, made at once", TICKS, f"in {time.monotonic() - start:.0f} s")
    note("memory that they left", w.memory() - before, "bytes")
    assert w.memory() - before < 1 << 20


def rubbish_does_no_harm(w):
    storm(w, 1000)
    before, start = w.memory(), time.monotonic()
    storm(w, REQUESTS, 2)
    note("malformed requests", REQUESTS, f"in {time.monotonic() - start:.0f} s")
    note("memory that they left", w.memory() - before, "bytes")
    w.news = -1
    assert w.frame() and w.memory() - before < 1 << 20


def pictures_per_second(w, seconds=20):
    chromium = browser.Browser(browser.find())
    try:
        page = chromium.page(w.url)
        page.wait("document.body.dataset.rate")
        time.sleep(3)
        start, first = time.monotonic(), page.run("shownFrames")
        ours, its = w.seconds(), processor_seconds(chromium.process.pid)
        time.sleep(seconds)
        ours, its = w.seconds() - ours, processor_seconds(chromium.process.pid) - its
        frames = page.run("shownFrames") - first
        note("Half-Cheetahs: pictures of both", round(frames / (time.monotonic() - start), 1), "per second")
        note("processor time of fans watch", round(1000 * ours / frames, 1), "ms per pair of pictures")
        note("processor time of Chromium, without a GPU", round(1000 * its / frames, 1), "ms per pair of pictures")
        note("load average then", round(os.getloadavg()[0], 1), "")
        return frames / seconds
    finally:
        chromium.close()


def agents(w):
    the_agent_notices(w)
    the_slider_is_quick(w)
    rubbish_does_no_harm(w)
    hours_leave_no_trace(w)


def pictures(w):
    rate = pictures_per_second(w)
    assert rate > 29 or os.getloadavg()[0] > 2 * os.cpu_count(), rate


def main(part, fans, *runs):
    w = Watch(fans, *runs)
    try:
        {"agents": agents, "pictures": pictures}[part](w)
    finally:
        w.close()


main(*sys.argv[1:])
