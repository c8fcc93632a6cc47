"""Names that a package imports on first use.

`import toolwire` stays light, and a program needs only the packages of what it uses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module

from toolwire.extras import explain_missing_module


def import_on_first_use(
    namespace: dict[str, object], modules: Mapping[str, str]
) -> tuple[Callable[[str], object], Callable[[], object]]:
    """Return the `__getattr__` of a package, which imports a name and keeps it, and its `__dir__`,
    which lists `__all__`.

    If an optional package is missing, the error names the extra that installs it.

    Args:
        namespace: The `globals()` of the package.
        modules: The full name of each module, with the names it defines, separated by spaces.
    """
    homes = {name: module for module, names in modules.items() for name in names.split()}

    def import_name(name: str) -> object:
        if name not in homes:
            package = namespace["__name__"]
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = homes[name]
        try:
            value: object = getattr(import_module(home), name)
        except ModuleNotFoundError as error:
            raise explain_missing_module(
                error, name=f"{namespace['__name__']}.{name}", home=home
            ) from None
        namespace[name] = value
        return value

    return import_name, lambda: namespace["__all__"]
