"""A program that embeds a server keeps its own settings; the command line changes them."""

from __future__ import annotations

import subprocess
import sys

EMBED = """
import asyncio, gc, logging, os, resource, signal, threading
from toolwire.server.run import Server, serve

resource.setrlimit(resource.RLIMIT_NOFILE, (256, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))

def settings():
    umask = os.umask(0o77)
    os.umask(umask)
    return [
        gc.get_threshold(), gc.get_freeze_count(), resource.getrlimit(resource.RLIMIT_NOFILE)[0],
        umask, logging.getLogRecordFactory().__name__, logging.root.handlers, logging.root.level,
        [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)],
    ]

async def app(scope, receive, send):
    await receive()
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await send({"type": "lifespan.shutdown.complete"})

inside = []
def ready(url):
    inside.extend(settings())
    signal.raise_signal(signal.SIGTERM)

before = settings()
serve(app, port=0, ready=ready)
assert settings() == before, (before, settings())
assert inside[:-1] == before[:-1], (before, inside)
"""
TUNE = """
import gc, resource
from toolwire.server.process import freeze_startup_objects, tune_process

hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
tune_process()
freeze_startup_objects()
soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
print(gc.get_threshold()[0], gc.get_freeze_count() > 0, soft > 256 or hard == 256)
"""


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_serving_changes_no_setting_of_the_process() -> None:
    run(EMBED)


def test_the_command_line_raises_the_file_limit_and_collects_garbage_less_often() -> None:
    assert run(TUNE) == "10000 True True\n"
