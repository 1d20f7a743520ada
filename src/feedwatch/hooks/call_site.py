"""Where the user wrote a call: `train.py:57`, or `cell [3], line 5` in a notebook. Found by reading the source.

A place is named only when exactly one call in the file fits. Runs on the sink's thread, never raises.
"""

import ast
import functools
import linecache
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, NamedTuple

from feedwatch.hooks.python_code import is_library_file

MAX_SOURCE_BYTES: Final = 1_000_000


class _Call(NamedTuple):
    name: str  # map of dataset.map(…), DataLoader of torch.utils.data.DataLoader(…)
    line: int
    argument: str | None  # name of the first argument's function
    lambda_line: int | None
    number: int | None  # the first argument, where it is written as a number


def function_call_site(function: Any, called: str) -> str | None:
    """The call `.map(function)`, in the file of that function."""
    code = getattr(function, "__code__", None)
    if code is None or is_library_file(code.co_filename):
        return None
    fits = [
        call
        for call in _calls(code.co_filename)
        if call.name == called
        and (call.lambda_line == code.co_firstlineno if code.co_name == "<lambda>" else call.argument == code.co_name)
    ]
    return _place(code.co_filename, fits[0].line) if len(fits) == 1 else None


def only_call_site(called: str, files: Iterable[str], number: int | None = None) -> str | None:
    """The one call of that name in these files. One that is written with another number is another call."""
    found = [(file, call) for file in dict.fromkeys(files) for call in _calls(file) if call.name == called]
    fits = [(file, call) for file, call in found if call.number is None or number is None or call.number == number]
    return _place(fits[0][0], fits[0][1].line) if len(fits) == 1 else None


def user_files(*values: Any) -> list[str]:
    """The files of these functions' or objects' code and of the script. In a notebook: its cells."""
    files = [_file_of(value) for value in values]
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    known = [file for file in (*files, main) if file is not None and not is_library_file(file)]
    return list(dict.fromkeys([*known, *_cells()]))


def _file_of(value: Any) -> str | None:
    code = getattr(value, "__code__", None)
    if code is not None:
        return str(code.co_filename)
    kind = value if isinstance(value, type) else type(value)
    found = getattr(sys.modules.get(kind.__module__), "__file__", None)
    return None if found is None else str(found)


@functools.lru_cache(maxsize=64)
def _calls(file: str) -> tuple[_Call, ...]:
    try:
        if file not in linecache.cache and Path(file).stat().st_size > MAX_SOURCE_BYTES:
            return ()
        source = "".join(linecache.getlines(file))
        tree = ast.parse(source) if len(source) <= MAX_SOURCE_BYTES else None
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    if tree is None:
        return ()
    return tuple(call for node in ast.walk(tree) if isinstance(node, ast.Call) and (call := _call(node)) is not None)


def _call(node: ast.Call) -> _Call | None:
    name = _name(node.func)
    if name is None:
        return None
    first = node.args[0] if node.args else next((each.value for each in node.keywords), None)
    number = first.value if isinstance(first, ast.Constant) and type(first.value) is int else None
    # Of a chain over several lines, the line of the call's own name.
    line = node.func.end_lineno or node.lineno
    return _Call(name, line, _name(first), first.lineno if isinstance(first, ast.Lambda) else None, number)


def _name(node: Any) -> str | None:
    return getattr(node, "attr", None) if isinstance(node, ast.Attribute) else getattr(node, "id", None)


# -- notebooks -----------------------------------------------------------------------------------


def _place(file: str, line: int) -> str:
    number = _cell_number(file)
    return f"{Path(file).name}:{line}" if number is None else f"cell [{number}], line {line}"


def _cell_number(file: str) -> int | None:
    written = re.match(r"<ipython-input-(\d+)-", file)
    return int(written[1]) if written else _cells().get(file)


def _cells() -> dict[str, int]:
    """The cells that ran: IPython's name of each one's code, and its number."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    numbers = getattr(getattr(shell, "compile", None), "_filename_map", None)
    return dict(numbers) if isinstance(numbers, dict) else {}
