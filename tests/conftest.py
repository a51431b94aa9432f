"""What all tests share: hypothesis tries the same cases each time, no clock decides, and there is one browser.

`HYPOTHESIS_PROFILE=search` looks for new cases instead, with ten times as many, and `fresh` for as many new ones as there are
old ones (`--hypothesis-seed=7` says which); what they find becomes a test of its own.
"""

from __future__ import annotations

import functools
import http.server
import os
import sys
import threading

import pytest
from hypothesis import HealthCheck, settings

from tools import check

CALM = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow], "print_blob": True}
settings.register_profile("repeat", derandomize=True, database=None, **CALM)
settings.register_profile("fresh", database=None, **CALM)
settings.register_profile("search", max_examples=1000, **CALM)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeat"))

FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)
ALONE = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"  # it reaches no other machine


@pytest.fixture(autouse=True)
def figures_are_closed():
    """A figure that a test leaves open is not the next one's: which test comes next hangs on the number of workers."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(scope="session")
def chromium():
    path = check.browser()
    if path is None:
        pytest.skip("there is no Chromium on this machine: install chromium, or say where it is in FOLDNET_CHROMIUM")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=[*FLAGS.split(), ALONE])
        yield browser
        browser.close()


class Quiet(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass


@pytest.fixture(scope="session")
def serve():
    """`serve(folder)` is the address, ending in a slash, at which a server on this machine has the folder."""
    servers = []

    def start(folder) -> str:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}/"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()
