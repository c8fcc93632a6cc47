"""Fixtures of the tests of connections; tests that need a program are collected only if it is
installed."""

from __future__ import annotations

import pytest
from gateway_ops.certificates import Authority
from gateway_ops.hostile import LONG, LOOPS, Run, runs
from gateway_ops.proxy import NGINX

from toolwire.providers.http import connection

collect_ignore = [] if NGINX else ["test_nginx.py"]


@pytest.fixture(params=LOOPS)
def run(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setattr(connection, "STALE_WITHIN", LONG)  # the machine may be busy
    return runs(LOOPS[request.param])


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))
