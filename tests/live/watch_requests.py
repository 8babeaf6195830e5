"""watch_requests.py FANS PLUGIN TICKS REQUESTS RUN RUN - what `fans watch` answers, and to whom; how it bears so many
steps and malformed requests. Under sanitizers, whose memory grows, TICKS is 0."""

import json
import os
import re
import subprocess
import sys
import tempfile
import time

from malformed import storm
from watching import Watch


def nothing_comes_without_host_origin_and_token(w):
    refused = [
        dict(Host="evil.example:80"), dict(Host="127.0.0.1"), dict(Host=f"127.0.0.1.evil.example:{w.port}"), dict(Host=None),
        dict(Origin="http://evil.example"), dict(Origin="null"), dict(Origin=f"https://{w.host}"),
        dict(Origin=f"http://127.0.0.1:{w.port + 1}"), dict(Fans_Token=None), dict(Fans_Token=""), dict(Fans_Token="0" * 32),
        dict(Fans_Token=w.token[:-1]), dict(Fans_Token=w.token + "0"), dict(Fans_Token=w.token.upper())]
    for changed in refused:
        for path in "/about", "/frame", "/curves", "/none":
            for method in "GET", "HEAD", "OPTIONS", "DELETE":
                status, _, content = w.ask(path, method=method, **changed)
                w.connection.close()
                # without a Host, HTTP itself is broken
                assert status in ((400, 403) if changed.get("Host", "") is None else (403,)), (changed, path, method, status)
                assert w.token.encode() not in content
        status, _, _ = w.ask("/control", '{"pause":true}', **changed)
        w.connection.close()
        assert status in (400, 403), (changed, status)
    assert w.ask("/control", '{"pause":true}', Origin=None)[0] == 403  # pages always say where from
    w.connection.close()
    assert w.ask("/about", Origin=None)[0] == 200
    for name in "localhost", "[::1]":
        host = f"{name}:{w.port}"
        assert w.ask("/about", Host=host, Origin=f"http://{host}")[0] == 200


def pages_are_fixed_and_closed(w):
    for path, kind in ("/", "text/html"), ("/style.css", "text/css"), ("/script.js", "text/javascript"):
        status, r, content = w.ask(path, Fans_Token=None, Origin=None)
        assert status == 200 and r.getheader("Content-Type").startswith(kind)
        policy = r.getheader("Content-Security-Policy")
        assert "default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy
        assert r.getheader("Access-Control-Allow-Origin") is None
        assert r.getheader("X-Content-Type-Options") == "nosniff" and r.getheader("Cache-Control") == "no-store"
        assert not re.search(rb"https?://(?!www\.w3\.org)", content), f"{path} names something outside"
        assert w.ask(path, Fans_Token=None, Host="evil.example")[0] == 403
        w.connection.close()


def methods_and_sizes_have_limits(w):
    for method in "OPTIONS", "PUT", "DELETE", "TRACE", "FOO":
        assert w.ask("/about", method=method)[0] in (403, 405), method
        w.connection.close()
    assert w.ask("/about", "{}")[0] == 404
    assert w.ask("/", "{}")[0] == 405
    w.connection.close()
    assert w.ask("/none")[0] == 404
    assert w.ask("/control", " " * 1025)[0] == 413
    w.connection.close()
    assert w.ask("/control", '{"pause":false}' + " " * 1000)[0] == 204
    assert w.ask("/about", X="y" * 40000)[0] in (400, 413, 431)
    w.connection.close()


def controls_say_what_is_wrong(w):
    cases = [
        ('{', "not valid JSON"), ('[]', "not an object"), ('{}', "not an object"), ('{"pause":true,"steps":1}', "not an object"),
        ('{"pause":true,"pause":true}', "not valid JSON"), ('{"jump":1}', "no such control"), ('{"pause":1}', "true or false"),
        ('{"steps":0}', "whole number"), ('{"steps":1.0}', "whole number"), ('{"speed":-1}', "0.1 to 1000"),
        ('{"speed":"fast"}', "0.1 to 1000"), ('{"told":1}', "true or false"), ('{"restart":false}', "takes true"),
        ('{"hold":{"factor":"wind","value":1}}', "no such factor"), ('{"hold":{"factor":"torque"}}', "a factor and a value"),
        ('{"hold":{"factor":"torque","value":3}}', "torque = 3: not from -2 to 2"), ('{"hold":7}', "a factor and a value")]
    for body, text in cases:
        status, _, content = w.ask("/control", body)
        assert status == 400 and text in content.decode(), (body, status, content)


def frames_show_pictures_and_steps(w):
    w.control(restart=True)
    w.control(speed=100)
    w.control(pause=False)
    w.have = w.news = -1
    first = w.until(lambda f: f["step"] > 20)
    for picture in first["pictures"]:
        assert picture[:8] == b"\x89PNG\r\n\x1a\n" and picture[-8:-4] == b"IEND"
    second = w.until(lambda f: f["step"] > first["step"])
    assert second["from"] == first["step"]  # only what is new
    assert len(second["lanes"][0]["reward"]) == second["step"] - first["step"]
    w.until_paused()
    assert w.frame() is None  # no news
    step = w.have
    assert w.steps(7)["step"] == step + 7
    w.steps(1000)
    w.have = step  # far behind: all that is kept
    w.news = -1
    late = w.frame()
    assert late["from"] == late["step"] - w.about()["kept"]


def a_slider_moves_the_world(w):
    """The agent of the first lane knows a change five steps later, or at once if it is told."""
    track = next(f["trained"]["track"] for f in w.about()["factors"] if f["name"] == "torque")
    torque = next(k for k, f in enumerate(w.about()["factors"]) if f["name"] == "torque")
    w.control(speed=100)
    for told, verdict in (False, "noticed after 5 steps"), (True, "foreseen"):
        w.control(told=told)
        w.control(hold=dict(factor="torque", value=1))
        w.control(pause=False)
        time.sleep(1.2)  # long enough ago to be another movement
        w.control(hold=dict(factor="torque", value=-0.5))
        moved = w.until(lambda f: f["factors"][torque]["now"] == -0.5)
        assert moved["factors"][torque]["held"]
        met = w.until(lambda f: f["lanes"][0]["tracks"][track]["tone"] == 2)["lanes"][0]
        assert met["tracks"][track]["verdict"] == verdict, met
        assert met["verdict"] == verdict
        assert abs(met["tracks"][track]["guess"][-1] + 0.5) < 0.05
    w.until_paused()
    w.have = w.news = -1
    assert 2 in w.frame()["lanes"][0]["tracks"][track]["changed"]  # a change by hand
    w.control(hold=dict(factor="torque", value=None))
    assert not w.until(lambda f: True)["factors"][torque]["held"]


def a_movement_is_one_change(w):
    """A slider passes many values on its way. Five steps late, the belief passes the middle three steps after the end."""
    w.control(told=False)
    w.control(hold=dict(factor="torque", value=1))
    w.steps(50)
    counted = w.steps(1)["lanes"][0]["changes"]
    time.sleep(1.2)
    for value in 0.9, 0.7, 0.4, 0, -0.4, -0.8, -1:
        w.control(hold=dict(factor="torque", value=value))
        w.steps(1)
    met = w.steps(20)["lanes"][0]
    assert met["verdict"] == "noticed after 3 steps" and met["changes"] == counted + 1, met
    w.control(hold=dict(factor="torque", value=None))
    w.control(told=True)


def the_worlds_wait_while_nobody_looks(w):
    w.control(speed=1000)
    before = w.until_paused()
    w.control(pause=False)
    time.sleep(7)
    w.news = -1
    first = w.frame()["step"]
    assert first < before + 6000, "they went on for more than five seconds"
    w.until(lambda f: f["step"] > first)
    w.control(speed=30)


def hours_leave_no_trace(w, ticks):
    w.steps(2000)
    before = w.memory()
    w.steps(ticks)
    grown = w.memory() - before
    assert grown < 1 << 20, f"{ticks} steps took {grown} bytes"
    print(f"{ticks} steps: {grown} bytes more")


def rubbish_does_no_harm(w, count):
    storm(w, count)
    w.news = -1
    assert w.frame()


def only_loopback_listens(w):
    try:
        lines = subprocess.run(["ss", "-Hltnp"], capture_output=True, text=True, check=True).stdout.splitlines()
    except FileNotFoundError:
        return print("there is no ss on this machine: who listens where was not looked at")
    ours = [line.split()[3] for line in lines if f"pid={w.process.pid}," in line]
    assert ours and set(ours) <= {f"127.0.0.1:{w.port}", f"[::1]:{w.port}"}, ours


def a_training_can_be_watched(fans):
    """Its curve grows, and newer agents can be taken."""
    with tempfile.TemporaryDirectory() as folder:
        ini = os.path.join(folder, "pendulum.ini")
        with open(ini, "w", encoding="ascii") as f:
            f.write("[env]\nname = pendulum\n[train]\nepisodes = 1000000\ncheckpoint_every = 1000\n")
        train = subprocess.Popen([fans, "train", ini, "--algo", "random", "--quiet", "--out", folder + "/runs"],
                                 stdout=subprocess.DEVNULL)
        run, end = folder + "/runs/seed-0", time.monotonic() + 20
        while not os.path.exists(run + "/checkpoint.safetensors") and time.monotonic() < end:
            time.sleep(0.05)
        try:
            watch_it_learn(Watch(fans, run, "--size", "32"))
        finally:
            train.terminate()
            train.wait()


def watch_it_learn(w):
    try:
        first = json.loads(w.ask("/curves")[2])["lanes"][0]
        assert not first["done"] and len(first["smooth"]) == 200
        time.sleep(2.5)
        then = json.loads(w.ask("/curves")[2])["lanes"][0]
        assert then["episodes"] > first["episodes"] and then["newest"] > first["acts_by"] == then["acts_by"]
        w.control(newest=True)
        assert json.loads(w.ask("/curves")[2])["lanes"][0]["acts_by"] >= then["newest"]
        assert w.until(lambda f: f["step"] > 0)
    finally:
        w.close()


def worlds_of_ones_own_can_be_watched(fans, library):
    """The river of examples/custom_env.c, which draws no picture."""
    with tempfile.TemporaryDirectory() as folder:
        ini = os.path.join(folder, "river.ini")
        with open(ini, "w", encoding="ascii") as f:
            f.write(f"[env]\nname = {library}\n[change.current]\nfunction = uniform\nlow = -0.5\nhigh = 0.5\n")
        subprocess.run([fans, "train", ini, "--algo", "random", "--steps", "400", "--quiet", "--out", folder + "/runs"],
                       stdout=subprocess.DEVNULL, check=True)
        w = Watch(fans, folder + "/runs", "--plugin", library)
        try:
            k = next(k for k, f in enumerate(w.about()["factors"]) if f["name"] == "current")
            w.control(hold=dict(factor="current", value=0.25))
            w.until(lambda f: f["factors"][k]["now"] == 0.25 and f["lanes"][0]["tracks"][0]["truth"][-1:] == [0.25])
        finally:
            w.close()


def main(fans, plugin, ticks, requests, *runs):
    w = Watch(fans, *runs, "--plugin", plugin, "--size", "96")
    try:
        for test in (only_loopback_listens, pages_are_fixed_and_closed, nothing_comes_without_host_origin_and_token,
                     methods_and_sizes_have_limits, controls_say_what_is_wrong, frames_show_pictures_and_steps,
                     a_slider_moves_the_world, a_movement_is_one_change, the_worlds_wait_while_nobody_looks):
            start = time.monotonic()
            test(w)
            print(f"{test.__name__}: {time.monotonic() - start:.1f} s")
        rubbish_does_no_harm(w, int(requests))
        if int(ticks):
            hours_leave_no_trace(w, int(ticks))
    finally:
        w.close()
    a_training_can_be_watched(fans)
    worlds_of_ones_own_can_be_watched(fans, os.path.join(os.path.dirname(plugin), "custom_env.so"))


main(*sys.argv[1:])
