"""The gateway that the package tensorzero embeds in a Python process, for `bench/peers.py`.

    python tensorzero_gateway.py CONFIG

Prints the address, which the gateway chooses itself, and serves until the process is terminated. Runs
in the environment of tensorzero, without toolwire. `patch_openai_client` of the package starts its
gateway in the same way.
"""

from __future__ import annotations

import asyncio
import sys

from tensorzero import _start_http_gateway  # type: ignore[import-not-found]


async def main(config: str) -> None:
    stores = {"clickhouse_url": None, "postgres_url": None, "valkey_url": None}
    gateway = await _start_http_gateway(config_file=config, async_setup=True, **stores)
    print(gateway.base_url, flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
