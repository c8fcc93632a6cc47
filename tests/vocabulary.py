"""Measure the words of the code: names that are participles, class names that stand for several
things, imports of another folder's private modules, and words that technical English does not use.

Works on any list of modules; which ones are measured, and against which limits, is up to the caller.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct

IRREGULAR_PARTICIPLES = frozenset(
    "been begun born broken brought built came chosen come done drawn driven fallen felt forgotten"
    " found given gone grown heard held hidden kept known laid led left lent lost made meant met"
    " paid ran said seen sent shown sold spent spoken stolen sworn taken taught thought thrown told"
    " torn understood went won woven written".split()
)
NOT_PARTICIPLES = frozenset(
    "bed bleed breed embed exceed feed fed need proceed red seed shed speed succeed".split()
)
"""Words that end like a participle."""
QUAINT = re.compile(
    r"\b(somebody|nobody|whoever|anybody|so many|anew|thereby|to the letter|under way|none that"
    r"|whose it is|stands in for|what became of|(?:comes|led|leads|goes|way) home|mend(?:s|ed|ing)?"
    r"|how manieth|nought)\b",
    re.IGNORECASE,
)


class Vocabulary(Struct, frozen=True):
    """What was found in some modules. Each finding is a line that names its place."""

    lines: int
    functions: int
    classes: int
    participle_functions: list[str]
    participle_classes: list[str]
    repeated_classes: list[str]
    """Class names that more than two classes share."""
    private_imports: list[str]
    """Imports of a private module from outside of its folder."""
    quaint_words: list[str]

    def figures(self) -> dict[str, float]:
        """The figures that are compared with limits, by name."""
        return {
            "functions named by a participle, percent": _percent(
                self.participle_functions, self.functions
            ),
            "classes named by a participle, percent": _percent(
                self.participle_classes, self.classes
            ),
            "class names used more than twice": len(self.repeated_classes),
            "imports of another folder's private module": len(self.private_imports),
            "quaint words per 1,000 lines": 10 * _percent(self.quaint_words, self.lines),
        }

    def findings(self, figure: str) -> list[str]:
        """The lines that make up a figure."""
        lists = (
            self.participle_functions,
            self.participle_classes,
            self.repeated_classes,
            self.private_imports,
            self.quaint_words,
        )
        return dict(zip(self.figures(), lists, strict=True))[figure]


def _percent(found: list[str], total: int) -> float:
    return 100 * len(found) / total if total else 0.0


def is_participle(word: str) -> bool:
    """True if a word is a past participle, as far as its form tells."""
    word = word.lower()
    regular = len(word) > 3 and word.endswith("ed") and word not in NOT_PARTICIPLES
    return regular or word in IRREGULAR_PARTICIPLES


def first_word(name: str) -> str:
    """The first word of a function name."""
    return name.strip("_").partition("_")[0]


def words_of_class(name: str) -> list[str]:
    """The words of a class name."""
    return re.findall(r"[A-Z][a-z0-9]*", name)


def measure(package: Path, modules: Iterable[Path]) -> Vocabulary:
    """Measure modules of a package."""
    lines = functions = classes = 0
    participle_functions: list[str] = []
    participle_classes: list[str] = []
    private_imports: list[str] = []
    quaint_words: list[str] = []
    class_places: dict[str, list[str]] = defaultdict(list)
    for module in modules:
        text = module.read_text(encoding="utf-8")
        place = str(module.relative_to(package))
        lines += text.count("\n")
        quaint_words += find_quaint_words(text, place)
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                if _is_dunder(node.name) or _is_property(node):
                    continue
                functions += 1
                if is_participle(first_word(node.name)):
                    participle_functions.append(f"{place}:{node.lineno} {node.name}")
            elif isinstance(node, ast.ClassDef):
                classes += 1
                class_places[node.name.lstrip("_")].append(f"{place}:{node.lineno}")
                words = words_of_class(node.name)
                if len(words) == 1 and is_participle(words[0]):
                    participle_classes.append(f"{place}:{node.lineno} {node.name}")
            elif isinstance(node, ast.ImportFrom | ast.Import):
                private_imports += [
                    f"{place}:{node.lineno} {name}"
                    for name in _modules_of_import(node)
                    if _is_foreign_private_module(name, package, module)
                ]
    return Vocabulary(
        lines=lines,
        functions=functions,
        classes=classes,
        participle_functions=participle_functions,
        participle_classes=participle_classes,
        repeated_classes=[
            f"{name}: {', '.join(places)}"
            for name, places in sorted(class_places.items())
            if len(places) > 2
        ],
        private_imports=private_imports,
        quaint_words=quaint_words,
    )


def find_quaint_words(text: str, place: str) -> Iterator[str]:
    """Each quaint word of a text, with its place."""
    for number, line in enumerate(text.splitlines(), 1):
        yield from (f"{place}:{number} {match[0]}" for match in QUAINT.finditer(line))


def _is_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _is_property(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """True for a property: its name is that of a value, which may be a participle."""
    return any(isinstance(mark, ast.Name) and mark.id == "property" for mark in node.decorator_list)


def _modules_of_import(node: ast.Import | ast.ImportFrom) -> list[str]:
    """The names that an import may load as a module."""
    names = [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [f"{node.module}.{name}" for name in names]
    return names


def _is_foreign_private_module(name: str, package: Path, importer: Path) -> bool:
    """True if a name leads to a module that starts with an underscore, in a folder that the importer
    is not in."""
    top, *steps = name.split(".")
    private = [n for n, step in enumerate(steps) if re.match(r"_[a-z]", step)]
    if top != package.name or not private:
        return False
    folder = package.joinpath(*steps[: private[0]])
    module = folder / steps[private[0]]
    exists = module.with_suffix(".py").is_file() or (module / "__init__.py").is_file()
    return exists and folder not in importer.parents
