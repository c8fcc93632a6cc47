"""A real nginx with the configuration of `docs/reference/gateway.md`, on other ports. `$NGINX` names the
program, or the PATH does."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from ports import free_port

NGINX = os.environ.get("NGINX") or shutil.which("nginx")
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "gateway.md"
_TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
_ABOUT = """daemon off;
{user}
worker_processes 2;
pid {home}/nginx.pid;
error_log {home}/error.log warn;
events {{ worker_connections 256; }}
http {{
access_log off;
{paths}
{page}
}}
"""
"""The configuration around that of the page; it does not affect requests."""


def read_page_config() -> str:
    """The configuration on the page."""
    found = re.findall(r"```nginx\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(found) == 1, "one configuration stands on the page"
    return str(found[0])


def with_addresses(page: str, port: int, gateways: Sequence[str]) -> str:
    """The configuration with another port, in front of other gateways."""
    servers = re.findall(r"^ +server (127\.0\.0\.1:\d+)", page, re.MULTILINE)
    assert len(servers) == len(gateways) and page.count("listen 8080;") == 1
    out = page.replace("listen 8080;", f"listen 127.0.0.1:{port};")
    for old, new in zip(servers, gateways, strict=True):
        out = out.replace(old, urlsplit(new).netloc)
    return out


@contextmanager
def nginx(folder: Path, gateways: Sequence[str]) -> Iterator[str]:
    """Run nginx in front of gateways; yields its address."""
    assert NGINX is not None
    port = free_port()
    paths = "\n".join(f"{name}_temp_path {folder}/{name};" for name in _TEMPORARY)
    file = folder / "nginx.conf"
    user = "user root;" if os.geteuid() == 0 else ""  # else the folder of a test is closed to it
    file.write_text(
        _ABOUT.format(
            home=folder,
            user=user,
            paths=paths,
            page=with_addresses(read_page_config(), port, gateways),
        )
    )
    mine = {
        key: value for key, value in os.environ.items() if key != "NGINX"
    }  # nginx takes it for a list of open sockets
    process = subprocess.Popen(
        [NGINX, "-p", str(folder), "-e", str(folder / "error.log"), "-c", str(file)], env=mine
    )
    try:
        late = time.monotonic() + 60
        while not _open(port):
            assert process.poll() is None and time.monotonic() < late, (
                folder / "error.log"
            ).read_text()
            time.sleep(0.02)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(60)


def _open(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True
