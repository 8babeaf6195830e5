"""What the tests of `fans watch` share: the program, and requests to it."""

import http.client
import json
import os
import re
import signal
import struct
import subprocess
import time


def stat_of(pid):
    """What follows the name in /proc/PID/stat; nothing where it has ended."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as f:
            return f.read().rsplit(")", 1)[1].split()
    except OSError:
        return None


def processor_seconds(pid):
    """Of a process and all that it has started, so far."""
    stats = {int(p): stat_of(p) for p in os.listdir("/proc") if p.isdigit()}
    family = {pid}
    for _ in range(5):  # browser, zygotes, renderers
        family |= {p for p, s in stats.items() if s and int(s[1]) in family}
    ticks = sum(int(stats[p][11]) + int(stats[p][12]) for p in family if stats.get(p))
    return ticks / os.sysconf("SC_CLK_TCK")


class Watch:
    def __init__(self, fans, *args):
        self.process = subprocess.Popen([fans, "watch", *args], stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        self.host, self.token = re.fullmatch(r"http://([^/]+)/#([0-9a-f]{32})", self.url).groups()
        self.port = int(self.host.rsplit(":", 1)[1])
        self.connection = http.client.HTTPConnection(self.host, timeout=30)
        self.news = self.have = -1

    def ask(self, path, body=None, method=None, **changed):
        """Status, headers and content; `changed` replaces headers, None leaves one out."""
        headers = {"Fans_Token": self.token, "Origin": f"http://{self.host}", "Host": self.host, **changed}
        headers = {k.replace("_", "-"): v for k, v in headers.items() if v is not None}
        try:
            return self.send(path, body, method, headers)
        except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
            self.connection.close()  # it was idle for too long
            return self.send(path, body, method, headers)

    def send(self, path, body, method, headers):
        c = self.connection
        c.putrequest(method or ("POST" if body is not None else "GET"), path, skip_host=True,
                     skip_accept_encoding=True)
        for name, value in headers.items():
            c.putheader(name, value)
        if body is not None:
            c.putheader("Content-Length", str(len(body)))
        c.endheaders(body.encode() if isinstance(body, str) else body)
        r = c.getresponse()
        content = r.read()
        return r.status, r, content

    def control(self, **what):
        status, _, content = self.ask("/control", json.dumps(what))
        assert status == 204, (what, status, content)

    def about(self):
        return json.loads(self.ask("/about")[2])

    def frame(self):
        """The numbers and the pictures; None where there is nothing new."""
        status, _, content = self.ask(f"/frame?news={self.news}&step={self.have}")
        if status == 204:
            return None
        assert status == 200, (status, content)
        n = struct.unpack("<I", content[:4])[0]
        frame = json.loads(content[4:4 + n])
        frame["pictures"], at = [], 4 + n
        for lane in frame["lanes"]:
            frame["pictures"].append(content[at:at + lane["picture"]])
            at += lane["picture"]
        assert at == len(content)
        self.news, self.have = frame["news"], frame["step"]
        return frame

    def until(self, good, seconds=20):
        """The first frame for which `good` is true."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            frame = self.frame()
            if frame and good(frame):
                return frame
            time.sleep(0.002)
        raise AssertionError(f"no such frame within {seconds} s")

    def steps(self, n, seconds=600):
        """Makes n steps at once, while paused."""
        start = self.until_paused()
        self.control(steps=n)
        return self.until(lambda f: f["step"] == start + n and f["paused"], seconds)

    def until_paused(self):
        self.control(pause=True)
        self.news = -1
        return self.until(lambda f: f["paused"])["step"]

    def memory(self):
        """Resident bytes."""
        with open(f"/proc/{self.process.pid}/statm") as f:
            return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def seconds(self):
        return processor_seconds(self.process.pid)

    def close(self):
        self.connection.close()
        self.process.send_signal(signal.SIGINT)
        status = self.process.wait(30)
        self.process.stdout.close()
        assert status == 130, f"after Ctrl-C the status is {status}"
