"""Does a Python function give something else in the next epoch? Read from its code; nothing is called.

What it names is looked up (helpers, closures, the attributes of its object) and read as well, a few calls deep. Python
code can hide its draws from any reader: False means that none were seen.
"""

import dis
import functools
import inspect
import itertools
import re
import sys
import sysconfig
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import PurePath
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, Final

MAX_DEPTH: Final = 3
MAX_ITEMS: Final = 50  # of a list of transforms

_DRAWS: Final = re.compile(
    r"(^|_)rand|Rand|(^|_)rng($|_)"
    r"|^(shuffled?|choices?|normal|uniform|permut(ation|ed)|sample|integers|multinomial|bernoulli|gauss|Jitter|secrets"
    r"|urandom|token_bytes|getrandbits|uuid[14]?)$"
)
_CLOCKS: Final = frozenset({"time", "time_ns", "now", "utcnow", "today"})  # time.sleep changes nothing
_ENTRIES: Final = ("__call__", "forward", "__getitems__", "__getitem__", "__iter__", "__next__")
_STANDARD_LIBRARY: Final = sysconfig.get_paths()["stdlib"]


def changes_between_epochs(*functions: Any) -> bool | None:
    """True: one of them draws random numbers or reads a clock. None: not all of the code can be seen."""
    scan = _Scan(_DRAWS, clocks=True)
    if not scan.read_all(functions):
        return None
    return True if scan.found else None if scan.unseen or not functions else False


def mentions(pattern: re.Pattern[str], *functions: Any) -> bool | None:
    """Whether their code names something like this. None: not all of the code could be followed to its end."""
    scan = _Scan(pattern, clocks=False)
    if not scan.read_all(functions):
        return None
    return True if scan.found else None if scan.unseen or scan.cut or not functions else False


def entry_points(value: Any) -> list[Any]:
    """The methods through which an object is read or called, as bound methods."""
    found = [inspect.getattr_static(type(value), name, None) for name in _ENTRIES]
    return [MethodType(each, value) for each in found if isinstance(each, FunctionType)]


def names_in(code: CodeType) -> set[str]:
    """All globals and attributes that the code and the functions inside it name."""
    inner = (names_in(constant) for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*inner)


class _Scan:
    """Nearest code first, so that everything is met by its shortest way."""

    def __init__(self, pattern: re.Pattern[str], *, clocks: bool) -> None:
        self.found = self.unseen = False
        self.cut = False  # a library's code goes deeper than we follow
        self._pattern, self._clocks = pattern, clocks
        self._seen: dict[tuple[int, int], Any] = {}  # values are held, so that no other object gets the same id
        self._open: deque[tuple[Any, int]] = deque()

    def read_all(self, functions: Iterable[Any]) -> bool:
        self._open.extend((function, 0) for function in functions)
        try:
            while self._open and not self.found:
                self._look_at(*self._open.popleft())
        except Exception:  # the user's objects may answer to anything
            return False
        return True

    def _look_at(self, value: Any, depth: int) -> None:
        method = isinstance(value, MethodType)
        key = (id(value.__func__), id(value.__self__)) if method else (id(value), 0)
        if key in self._seen:
            return
        self._seen[key] = value
        if isinstance(value, functools.partial):
            self._open.extend((part, depth) for part in (value.func, *value.args, *value.keywords.values()))
        elif method:
            self._function(value.__func__, value.__self__, depth)
        elif isinstance(value, FunctionType):
            self._function(value, None, depth)
        elif isinstance(value, (list, tuple, dict)):
            items = value.values() if isinstance(value, dict) else value
            self._open.extend((item, depth) for item in itertools.islice(items, MAX_ITEMS))
        else:
            self._object(value, depth)

    def _object(self, value: Any, depth: int) -> None:
        kind = value if isinstance(value, type) else type(value)
        names = (str(getattr(value, "__name__", "")), kind.__name__)
        if any(self._pattern.search(name) for name in names) or (self._clocks and kind.__name__ == "Generator"):
            self.found = True
        elif isinstance(value, type) and not _library_class(value):
            self._open.extend((each, depth) for each in vars(value).values() if isinstance(each, FunctionType))
        elif depth == 0 and isinstance(value, type):
            self.unseen = True
        elif hasattr(value, "dtype") or isinstance(value, (type, ModuleType)):
            return  # data; and a library's class shows by its name
        elif entries := entry_points(value):
            self._open.extend((entry, depth) for entry in entries)
        elif depth == 0 and callable(value):
            self.unseen = True

    def _function(self, function: Any, owner: Any, depth: int) -> None:
        function = _unwrapped(function)
        if not isinstance(function, FunctionType):  # compiled: it has a name at most
            self._open.append((function, depth))
            return
        code = function.__code__
        if depth > MAX_DEPTH:
            library = _in_library(code)
            self.cut, self.unseen = self.cut or library, self.unseen or not library
            return
        names = names_in(code)
        if any(self._pattern.search(name) for name in names) or (self._clocks and _reads_clock(code)):
            self.found = True
            return
        for cell in function.__closure__ or ():
            with suppress(ValueError):  # not yet filled
                # What a library's wrapper calls is the user's function itself, and no helper of it.
                wrapper = owner is None and _in_library(code)
                self._open.append((cell.cell_contents, depth if wrapper else depth + 1))
        self._open.extend((value, depth + 1) for value in _reached(function, owner, names))


def _unwrapped(function: Any) -> Any:
    """Behind a library's decorator. The user's own decorators are code of the user's, and hold what they wrap."""
    while hasattr(function, "__wrapped__") and _in_library(getattr(function, "__code__", None)):
        function = function.__wrapped__
    return getattr(function, "__func__", function)


def _reached(function: Any, owner: Any, names: set[str]) -> Iterator[Any]:
    """Objects that the code can use. A library's code is not followed: only what the user gave it."""
    if owner is not None and not isinstance(owner, type):
        yield from _attributes(owner, names)
    if not _in_library(function.__code__):
        for name in names & function.__globals__.keys():
            yield from _global(function.__globals__[name], names)


def _global(value: Any, names: set[str]) -> Iterable[Any]:
    if isinstance(value, ModuleType):
        own = not is_library_file(getattr(value, "__file__", None))
        return [each for name, each in vars(value).items() if name in names and _own(each)] if own else []
    return [value] if _own(value) else []


def _own(value: Any) -> bool:
    """The user's functions, and objects: of these a library's class may be told by its name."""
    if isinstance(value, FunctionType):
        return not _in_library(_code_behind(value))
    return not inspect.isbuiltin(value)


def _code_behind(function: Any) -> Any:
    return getattr(_unwrapped(function), "__code__", None)


def _attributes(owner: Any, names: set[str]) -> Iterator[Any]:
    held = getattr(owner, "__dict__", {})
    for name in names:
        if name in held:
            yield held[name]
            continue
        found = inspect.getattr_static(type(owner), name, None)
        found = getattr(found, "__func__", None) or getattr(found, "fget", None) or found
        if isinstance(found, FunctionType):
            yield MethodType(found, owner)


def _reads_clock(code: CodeType) -> bool:
    taken = (step.argval for step in dis.get_instructions(code) if step.opname in ("LOAD_ATTR", "LOAD_METHOD"))
    inner = any(_reads_clock(constant) for constant in code.co_consts if isinstance(constant, CodeType))
    return inner or any(name in _CLOCKS for name in taken)


def _library_class(kind: type) -> bool:
    return (
        is_library_file(getattr(sys.modules.get(kind.__module__), "__file__", None)) and kind.__module__ != "__main__"
    )


def _in_library(code: Any) -> bool:
    return code is not None and is_library_file(code.co_filename)


def is_library_file(path: str | None) -> bool:
    if path is None or path.startswith("<frozen"):
        return True
    packages = {"site-packages", "dist-packages"} & set(PurePath(path).parts)
    return bool(packages) or path.startswith(_STANDARD_LIBRARY)
