"""Detect network file systems, whose locks and fsync promise less than those of a local disk.

Reads the kernel's list of mounts (Linux). On other systems, every file system counts as local.
"""

from __future__ import annotations

import os
from pathlib import Path

NETWORK_TYPES = frozenset(
    "nfs nfs4 cifs smb3 smbfs ncpfs afs ceph lustre gpfs beegfs glusterfs ocfs2 gfs2 fuse.sshfs"
    " fuse.glusterfs fuse.ceph fuse.s3fs fuse.rclone fuse.gcsfuse fuse.davfs2 fuse.juicefs".split()
)


def network_filesystem(folder: Path, mounts: Path = Path("/proc/self/mountinfo")) -> str | None:
    """The type of the network file system of a folder; None if it is local or unknown."""
    device = folder.stat().st_dev
    wanted = f"{os.major(device)}:{os.minor(device)}"
    try:
        lines = mounts.read_text(errors="replace").splitlines()
    except OSError:
        return None
    for line in lines:
        # 36 35 98:0 /root /mount options optional... - type source options: proc(5)
        left, _, right = line.partition(" - ")
        fields = left.split()
        if len(fields) > 2 and fields[2] == wanted and right.split(" ", 1)[0] in NETWORK_TYPES:
            return right.split(" ", 1)[0]
    return None
