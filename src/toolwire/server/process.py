"""Settings of the whole process that make a server faster or larger.

Only programs call these functions, never the library: an application that embeds a toolwire server
keeps its own settings. The command line calls them in `toolwire serve`, `mock` and `gateway`.
"""

from __future__ import annotations

import gc
import sys

if sys.platform != "win32":  # Windows has no such limits
    import resource

GC_THRESHOLD = 10_000
"""New objects after which Python looks for reference cycles."""
MAX_OPEN_FILES = 65536


def tune_process() -> None:
    """Raise the limit of open files, and look for reference cycles less often.

    A request creates a few hundred objects that do not outlive it. By default, Python looks for
    cycles after every 700 new objects (2,000 since Python 3.13), which takes a tenth of the time of
    a tool call.
    """
    raise_file_limit()
    gc.set_threshold(GC_THRESHOLD, 10, 10)


def freeze_startup_objects() -> None:
    """Exclude all present objects from garbage collection. Call this once the server listens."""
    gc.freeze()


def raise_file_limit() -> None:
    """Raise the soft limit of open files, and so of connections, as far as the hard limit."""
    if sys.platform == "win32":
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_OPEN_FILES if hard == resource.RLIM_INFINITY else min(MAX_OPEN_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
