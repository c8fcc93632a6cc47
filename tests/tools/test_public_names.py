"""The packages export the types of their public signatures, sorted."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

PACKAGES = ["toolwire.execution", "toolwire.mcp", "toolwire.oxp", "toolwire.tools"]


@pytest.mark.parametrize("name", PACKAGES)
def test_every_exported_name_exists_and_the_list_is_sorted(name: str) -> None:
    package = import_module(name)
    assert package.__all__ == sorted(package.__all__)
    assert [one for one in package.__all__ if not hasattr(package, one)] == []
    assert set(package.__all__) <= set(dir(package))


@pytest.mark.parametrize("name", PACKAGES)
def test_a_package_is_imported_without_the_sdk_of_mcp_and_without_database_drivers(
    name: str,
) -> None:
    code = f"import sys, {name}; print(sorted({{'mcp', 'psycopg', 'aiohttp'}} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=600
    )
    assert done.stdout == "[]\n"
