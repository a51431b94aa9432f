"""Firefox as it is installed, driven by WebDriver BiDi over a socket: Playwright brings and wants a Firefox of its own."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import tempfile
import time


class Firefox:
    """One window: `open(url)`, `evaluate(script)`, `click(x, y)`, `drag((x, y), (x, y))`, `press(key)`."""

    def __init__(self, path: str, patience: float = 180.0):
        self.profile = tempfile.mkdtemp(prefix="foldnet-firefox-")
        command = [path, "--headless", "--no-remote", "--profile", self.profile, "--remote-debugging-port", "0", "about:blank"]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, "MOZ_HEADLESS": "1"})
        port = self._port(patience)
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=patience)
        self._shake_hands(port)
        self.count = 0
        self.send("session.new", capabilities={})
        self.window = self.send("browsingContext.getTree")["contexts"][0]["context"]

    def _port(self, patience: float) -> int:
        end = time.monotonic() + patience
        while time.monotonic() < end:
            line = self.process.stderr.readline()
            if found := re.search(r"WebDriver BiDi listening on ws://[^:]+:(\d+)", line):
                return int(found[1])
            if not line and self.process.poll() is not None:
                break
        raise RuntimeError(f"{self.process.args[0]} did not open its port for WebDriver BiDi")

    # ---- a websocket in a few lines: text frames from us are masked, those from the server are not -----------------------

    def _shake_hands(self, port: int) -> None:
        key = base64.b64encode(os.urandom(16)).decode()
        lines = ["GET /session HTTP/1.1", f"Host: 127.0.0.1:{port}", "Upgrade: websocket", "Connection: Upgrade"]
        lines += [f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13"]
        self.socket.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        answer = b""
        while not answer.endswith(b"\r\n\r\n"):
            answer += self.socket.recv(1)
        if b" 101 " not in answer.split(b"\r\n")[0]:
            raise RuntimeError(f"Firefox refused the connection: {answer[:100]!r}")

    def _write(self, text: str) -> None:
        data, mask = text.encode(), os.urandom(4)
        size = bytes([0x80 | len(data)]) if len(data) < 126 else b"\xfe" + struct.pack(">H", len(data))
        size = size if len(data) < 65536 else b"\xff" + struct.pack(">Q", len(data))
        self.socket.sendall(b"\x81" + size + mask + bytes(byte ^ mask[i % 4] for i, byte in enumerate(data)))

    def _read(self) -> str:
        whole, last = b"", False
        while not last:
            first, second = self._bytes(2)
            size = second & 0x7F
            size = struct.unpack(">H", self._bytes(2))[0] if size == 126 else size
            size = struct.unpack(">Q", self._bytes(8))[0] if size == 127 else size
            data = self._bytes(size)
            if first & 0x0F in (0, 1):  # a text, or more of it; pings and the like are passed over
                whole, last = whole + data, bool(first & 0x80)
        return whole.decode()

    def _bytes(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            more = self.socket.recv(count - len(data))
            if not more:
                raise RuntimeError("Firefox closed the connection")
            data += more
        return data

    # ---- what a test does --------------------------------------------------------------------------------------------

    def send(self, method: str, **parameters) -> dict:
        self.count += 1
        self._write(json.dumps({"id": self.count, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self._read())
            if answer.get("id") == self.count:
                if answer["type"] == "error":
                    raise RuntimeError(f"{method}: {answer['message']}")
                return answer["result"]

    def open(self, url: str) -> None:
        self.send("browsingContext.navigate", context=self.window, url=url, wait="complete")

    def evaluate(self, script: str):
        """The value of an expression, as JSON carries it."""
        target = {"context": self.window}
        call = {"expression": f"JSON.stringify({script})", "target": target, "awaitPromise": False}
        answer = self.send("script.evaluate", **call)
        if answer["type"] == "exception":
            raise RuntimeError(answer["exceptionDetails"]["text"])
        return json.loads(answer["result"]["value"]) if "value" in answer["result"] else None

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        steps = [("pointerMove", start), ("pointerDown", None), ("pointerMove", end), ("pointerUp", None)]
        actions = [
            {"type": kind, "button": 0} if at is None else {"type": kind, "x": round(at[0]), "y": round(at[1])}
            for kind, at in steps
        ]
        self._act({"type": "pointer", "id": "mouse", "actions": actions})

    def click(self, x: float, y: float) -> None:
        self.drag((x, y), (x, y))

    def press(self, key: str) -> None:
        self._act({"type": "key", "id": "keys", "actions": [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]})

    def _act(self, source: dict) -> None:
        self.send("input.performActions", context=self.window, actions=[source])

    def close(self) -> None:
        self.socket.close()
        self.process.terminate()
        self.process.wait(timeout=180)
        self.process.stderr.close()
        shutil.rmtree(self.profile, ignore_errors=True)
