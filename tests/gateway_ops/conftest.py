"""What needs a program that may not be here is collected only where it is."""

from __future__ import annotations

from gateway_ops.proxy import NGINX

collect_ignore = [] if NGINX else ["test_nginx.py"]
