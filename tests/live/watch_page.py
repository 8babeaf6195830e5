"""watch_page.py FANS SHOTS PLUGIN RUN RUN - the page of `fans watch` in a real browser. SHOTS: a folder for pictures of
it, or "". The agent of the first run knows of a change five steps later (tests/plugins/late_algo.c)."""

import os
import sys
import time

import browser
from watching import Watch

SLIDE = """(() => {{ const s = document.getElementById("slide-torque"); s.value = {}; s.dispatchEvent(new Event("input")); }})()"""

# milliseconds from the slider to the world, as the page would learn of it
SLIDE_TIME = """(async () => {
  const k = about.factors.findIndex(f => f.name === "torque"), start = performance.now();
  %s;
  for (;;) {
    const bytes = new Uint8Array(await (await ask("/frame")).arrayBuffer()), n = new DataView(bytes.buffer).getUint32(0, true);
    const frame = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + n)));
    if (frame.factors[k].now === %s) return performance.now() - start;
    if (performance.now() - start > 5000) return 5000;
  }
})()"""

PAINTED = """[...document.querySelectorAll("canvas")].filter(c => c.clientWidth).every(c =>
  new Set(new Uint32Array(c.getContext("2d").getImageData(0, 0, c.width, c.height).data.buffer)).size > 2)"""

NAMED = {"button", "slider", "checkbox", "combobox", "image", "region", "log", "DisclosureTriangle"}


def click(page, name):
    page.run(f'document.getElementById("{name}").click()')


def press(page, key, code, times=1):
    for _ in range(times):
        for kind in "rawKeyDown", "keyUp":
            page.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code)


def the_page_comes_alive(page):
    page.wait("!document.querySelector('main').inert && have > 30")
    page.wait(PAINTED)
    assert page.run("document.querySelector('h1').innerText") == "pendulum: torque changes"
    assert page.run("document.querySelector('.lane h2').innerText") == "late"


def a_slider_moves_the_world(page, tries=5):
    click(page, "told")  # not told
    page.wait("!document.getElementById('told').checked")
    page.run(SLIDE.format(1))
    time.sleep(1.5)
    took = page.run(SLIDE_TIME % (SLIDE.format(-1.5), "-1.5"))
    page.wait("document.querySelector('.lane .picture .verdict').innerText === 'noticed after 5 steps'")
    page.wait("document.querySelector('.factor output').innerText.endsWith('held')")
    said = page.wait("document.getElementById('events').innerText")
    assert "late noticed the change of torque after 5 steps" in said, said
    assert page.run("Math.abs(lanes[0].tracks[0].guess.at(-1) + 1.5)") < 0.1  # the belief has followed
    while took >= 100 and tries > 0:  # somebody else may have had the machine
        tries -= 1
        value = -1 if tries % 2 else 1
        took = page.run(SLIDE_TIME % (SLIDE.format(value), value))
    print(f"the world changed {took:.1f} ms after the slider")
    assert took < 100


def keys_are_enough(page):
    page.run("document.getElementById('slide-torque').focus()")
    press(page, "Home", 36)
    page.wait("document.getElementById('slide-torque').getAttribute('aria-valuetext') === '−2.00, held'")
    press(page, "ArrowRight", 39, 5)
    page.wait("document.getElementById('slide-torque').getAttribute('aria-valuetext') === '−1.90, held'")
    press(page, "Tab", 9)
    assert page.run("document.activeElement.getAttribute('aria-label')") == "Let torque go"
    press(page, "Enter", 13)
    page.call("Input.dispatchKeyEvent", type="char", text="\r")
    page.wait("document.activeElement.disabled || document.querySelector('.factor button').disabled")


def buttons_do_what_they_say(page):
    click(page, "pause")
    page.wait("document.getElementById('pause').innerText === 'Resume'")
    step = page.wait("have")
    click(page, "step")
    page.wait(f"have === {step + 1}")
    click(page, "restart")
    page.wait("have === 0")
    click(page, "pause")
    page.wait("have > 5")


def two_browsers_show_the_same(page, other):
    other.wait("!document.querySelector('main').inert && have > 5")
    page.run(SLIDE.format(0.5))
    other.wait("document.getElementById('slide-torque').getAttribute('aria-valuetext') === '0.50, held'")
    click(other, "pause")
    page.wait("document.getElementById('pause').innerText === 'Resume'")
    step = other.wait("have")
    page.wait(f"have === {step}")
    click(page, "pause")
    other.wait(f"have > {step}")
    other.run("document.querySelector('.factor button').click()")
    page.wait("document.querySelector('.factor button').disabled")


def everything_has_a_name(page):
    nodes = page.call("Accessibility.getFullAXTree")["nodes"]
    found = [(n["role"]["value"], n.get("name", {}).get("value", "")) for n in nodes if not n.get("ignored")]
    assert {"button", "slider", "checkbox", "combobox", "image", "log"} <= {role for role, _ in found}, found
    nameless = [role for role, name in found if role in NAMED - {"log"} and not name.strip()]
    assert not nameless, nameless
    assert page.run("document.getElementById('events').getAttribute('aria-live')") == "polite"


def it_fits(page, shots):
    for name, width, dark in ("wide", 1280, False), ("narrow", 360, True):
        page.size(width, 1000)
        page.dark(dark)
        page.run("new Promise(done => setTimeout(done, 300))")
        assert page.run("document.documentElement.scrollWidth") <= width, f"{name}: wider than the window"
        paper = page.run("getComputedStyle(document.body).backgroundColor")
        assert (paper == "rgb(21, 24, 28)") == dark, paper
        if shots:
            page.shoot(os.path.join(shots, f"watch_{name}.png"))
    page.size(1280, 1000)
    page.dark(False)


def without_its_token_it_says_so(chromium, w):
    page = chromium.page(f"http://{w.host}/#{'0' * 32}")
    page.wait("document.getElementById('trouble').innerText.includes('needs its token')")


def main(fans, shots, plugin, *runs):
    w = Watch(fans, *runs, "--plugin", plugin, "--size", "240")
    chromium, second = browser.Browser(browser.find()), browser.Browser(browser.find())
    try:
        page, other = chromium.page(w.url), second.page(w.url)
        the_page_comes_alive(page)
        a_slider_moves_the_world(page)
        keys_are_enough(page)
        buttons_do_what_they_say(page)
        two_browsers_show_the_same(page, other)
        everything_has_a_name(page)
        it_fits(page, shots)
        without_its_token_it_says_so(chromium, w)
        complaints = page.complaints() + other.complaints()
        assert not complaints, complaints
    finally:
        chromium.close()
        second.close()
        w.close()


main(*sys.argv[1:])
