"""The table of dialects that are read, in the order in which they are tried."""

from __future__ import annotations

from toolwire.wires.text.json_dialects import LIST, MESSAGE, TAGGED
from toolwire.wires.text.python_dialect import PYTHON
from toolwire.wires.text.xml_dialect import XML

DIALECTS = {dialect.name: dialect for dialect in (TAGGED, XML, LIST, MESSAGE, PYTHON)}
DEFAULT = TAGGED
"""The dialect in which new calls are written."""
