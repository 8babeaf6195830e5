"""Requests that are wrong in many ways, and whether the program survives them."""

import random
import socket
import struct

SOUND = "GET /about HTTP/1.1\r\nHost: {host}\r\nFans-Token: {token}\r\n\r\n"
POST = "POST /control HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nFans-Token: {token}\r\nContent-Length: {n}\r\n\r\n{body}"
BODIES = ['{{', '[]', '{}', 'null', '{"hold":1}', '{"hold":{"factor":"torque","value":1e999}}', '{"steps":-1}',
          '{"hold":{"factor":"torque","value":"1"}}', '{"hold":{"factor":"\\u0000","value":1}}', '{"speed":1e-9}',
          '{"pause":2}', '{"steps":1.5}', '{"told":null}', '{"a":1,"b":2}', '{"speed":{}}', '[' * 900, '"' + "x" * 900,
          '{"newest":false}', '\x00' * 40, '{"pause":true', "9" * 1000]


def wrong_body(rng):
    body = rng.choice(BODIES)
    return ("body", body, len(body) + rng.choice([0, 0, 0, -1, 5, 5000]))


def wrong_bytes(rng, sound):
    """A sound request, cut, doubled or with other bytes in it."""
    data = bytearray(sound)
    for _ in range(rng.randint(1, 8)):
        data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data[:rng.randint(1, len(data))]) if rng.random() < 0.5 else bytes(data) + b"\r\n"


def wrong_head(rng, host):
    return rng.choice([
        b"\r\n" * 50, b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET " + b"a" * rng.choice([100, 8000, 40000]) + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * rng.choice([10, 3000]) + b"\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        f"POST /control HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n".encode(),
        f"POST /control HTTP/1.1\r\nHost: {host}\r\nContent-Length: 99999999999999999999\r\n\r\n".encode(),
        f"GET /frame?step=%00%ff%&news=9999999999999999999999 HTTP/1.1\r\nHost: {host}\r\n\r\n".encode(),
        bytes(rng.randrange(256) for _ in range(rng.randint(1, 400)))])


def malformed(watch, rng):
    sound = SOUND.format(host=watch.host, token=watch.token).encode()
    kind = rng.randrange(3)
    if kind == 0:
        return wrong_bytes(rng, sound)
    if kind == 1:
        return wrong_head(rng, watch.host)
    _, body, n = wrong_body(rng)
    return POST.format(host=watch.host, token=watch.token, n=max(n, 0), body=body).encode("utf-8", "surrogateescape")


def send(watch, data, patient):
    """Sends it and goes, with or without waiting for an answer; a reset leaves no port occupied."""
    with socket.create_connection(("127.0.0.1", watch.port), timeout=10) as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        try:
            s.sendall(data)
            if patient:
                s.settimeout(0.2)
                s.recv(1 << 16)
        except OSError:
            pass


def storm(watch, count, seed=1):
    rng = random.Random(seed)
    for _ in range(count):
        send(watch, malformed(watch, rng), rng.random() < 0.02)
