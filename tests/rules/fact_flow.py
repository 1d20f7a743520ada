"""Who writes a fact and who reads it, found in the sources: no file is named, so rooms can be rebuilt freely.

A fact is `Class.field` of one of the frozen values that hooks and probes hand over. Writers are constructor arguments,
`replace(...)` and the parts given to `Session.update`. Only code counts that a door reaches: a function in the torch
room that Keras never calls writes nothing for Keras. Readers are attribute reads; the type of the object read from is
followed through annotations, so that `batch_size` of a loader and of a run are two facts.
"""

import ast
import dataclasses
import importlib
import types
import typing
from collections import defaultdict
from functools import cache
from pathlib import Path

import feedwatch
from feedwatch.model import facts as facts_module
from feedwatch.model import pipeline as pipeline_module

SOURCES = Path(feedwatch.__file__).parent

TRACKED = {
    one.__name__: one
    for module in (facts_module, pipeline_module)
    for one in vars(module).values()
    if dataclasses.is_dataclass(one) and one.__module__ == module.__name__
}


def fields_of(name):
    return tuple(one.name for one in dataclasses.fields(TRACKED[name]))


ALL_FACTS = frozenset(f"{name}.{field}" for name in TRACKED for field in fields_of(name))


def room(module):
    """advise, hooks, session, …"""
    return module.split(".")[1] if "." in module else ""


# -- modules and what is reachable ------------------------------------------------------------------


@cache
def module_names():
    names = {}
    for file in SOURCES.rglob("*.py"):
        parts = file.relative_to(SOURCES.parent).with_suffix("").parts
        names[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return names


@cache
def tree(module):
    return ast.parse(module_names()[module].read_text(encoding="utf-8"))


@cache
def definitions(module):
    """Top-level names of a module and the statements that make them."""
    found = defaultdict(list)
    for node in _statements(tree(module).body):
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            found[node.name].append(node)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for name in (part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)):
                found[name].append(node)
    return dict(found)


def _statements(body):
    for node in body:
        yield node
        for part in ("body", "orelse", "finalbody", "handlers"):
            if not isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
                yield from _statements(getattr(node, part, []))


@cache
def imports(module):
    """Names bound by imports anywhere in the module: (module, name), or (module, None) for a module itself."""
    found = {}
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found[alias.asname or alias.name] = (
                    (inner, None) if inner in module_names() else (node.module, alias.name)
                )
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.asname:
                    found[alias.asname] = (alias.name, None)
    return found


def used_by(module, nodes):
    """Definitions that this code names."""
    bound, own, found = imports(module), definitions(module), set()
    for node in (part for top in nodes for part in ast.walk(top)):
        if isinstance(node, ast.Name) and node.id in own:
            found.add((module, node.id))
        if isinstance(node, ast.Name) and node.id in bound and bound[node.id][1] is not None:
            found.add(bound[node.id])
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in bound:
            where, inner = bound[node.value.id]
            found |= {(where, node.attr)} if inner is None else set()
    return {one for one in map(_home, found) if one is not None}


def _home(place):
    """A name that a module only passes on belongs to the module that defines it."""
    module, name = place
    for _ in range(5):
        if module not in module_names():
            return None
        if name in definitions(module):
            return module, name
        module, name = imports(module).get(name, (None, None))
        if name is None:
            return None
    return None


def doors():
    """Modules that users import to reach a hook."""
    return {
        module
        for module in module_names()
        if module.count(".") == 1 and any(room(where) == "hooks" for where, _ in imports(module).values())
    } - {"feedwatch.demo", "feedwatch.cli"}


@cache
def reached_from(door):
    """Every piece of code behind this door: functions, and of each class the methods that somebody there names."""
    known = {_home(place) for place in imports(door).values() if place[1] is not None} - {None}
    named, code, size = set(), {}, None
    # A method is live once its name is used, and its own code may use more names: again until nothing is new.
    while size != (len(known), len(named)):
        size = (len(known), len(named))
        for module, name in tuple(known):
            nodes = [part for node in definitions(module)[name] for part in _live(node, named)]
            code[module, name] = nodes
            known |= used_by(module, nodes)
            named |= {word for node in nodes for part in ast.walk(node) for word in _words(part)}
    return code


def _live(node, named):
    """A class that a framework calls (it has bases) is live as a whole; of others, the methods that are named."""
    if not isinstance(node, ast.ClassDef) or node.bases:
        return [node]
    return [
        part
        for part in node.body
        if not isinstance(part, ast.FunctionDef) or part.name.startswith("__") or part.name in named
    ]


def _words(node):
    if isinstance(node, ast.Attribute):
        return {node.attr}
    return {node.value} if isinstance(node, ast.Constant) and isinstance(node.value, str) else set()


# -- writers ----------------------------------------------------------------------------------------


@cache
def written_behind(door):
    """Facts that hooks, probes and the session hand over for a run that came in by this door."""
    return frozenset(
        fact
        for (module, _), nodes in reached_from(door).items()
        if room(module) not in ("advise", "diagnose", "report", "model", "tab", "cli", "demo")
        for node in nodes
        for part in ast.walk(node)
        for fact in _writes(part)
    )


def _writes(node):
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and isinstance(node.slice, ast.Constant):
        return {f"Facts.{node.slice.value}"} & ALL_FACTS
    if isinstance(node, ast.Dict):
        keys = {key.value for key in node.keys if isinstance(key, ast.Constant)}
        # A table of several fields of one class goes into a `replace(…, **table)`.
        owners = [name for name in TRACKED if len(keys) > 2 and keys <= set(fields_of(name))]
        several = {f"{owners[0]}.{key}" for key in keys} if len(owners) == 1 else set()
        return several | {f"Facts.{key}" for key in keys & set(fields_of("Facts"))}
    if not isinstance(node, ast.Call):
        return set()
    called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    given = {one.arg for one in node.keywords if one.arg is not None and not _is_none(one.value)}
    if called in TRACKED:
        given |= {name for name, value in zip(fields_of(called), node.args, strict=False) if not _is_none(value)}
        return {f"{called}.{name}" for name in given & set(fields_of(called))}
    if called == "update":
        return {f"Facts.{name}" for name in given & set(fields_of("Facts"))}
    if called == "replace":
        all_given = {one.arg for one in node.keywords if one.arg is not None}
        owners = [name for name in TRACKED if all_given and all_given <= set(fields_of(name))]
        return {f"{owner}.{name}" for owner in owners for name in given}
    return set()


def _is_none(node):
    return isinstance(node, ast.Constant) and node.value is None


# -- readers ----------------------------------------------------------------------------------------


@cache
def reads(module, name):
    """(facts this definition reads, reads that could be of several facts)"""
    found, unclear = set(), set()
    for node in definitions(module).get(name, ()):
        reader = _Reader(module)
        reader.visit(node)
        found |= reader.found
        unclear |= {f"{module}.{name}: {text}" for text in reader.unclear}
    return frozenset(found), frozenset(unclear)


def read_by_rule(module):
    """Everything that a rule and whatever it asks reads."""
    found, todo, seen = set(), [(module, name) for name in definitions(module)], set()
    while todo:
        place = todo.pop()
        if place in seen:
            continue
        seen.add(place)
        if room(place[0]) in ("advise", "diagnose"):
            found |= reads(*place)[0]
            todo.extend(used_by(place[0], definitions(place[0]).get(place[1], ())))
    return found


def read_in(*rooms):
    """(facts, unclear reads) of all modules in these rooms or of these names."""
    found, unclear = set(), set()
    for module in module_names():
        if room(module) in rooms:
            for name in definitions(module):
                more, doubt = reads(module, name)
                found |= more
                unclear |= doubt
    return found, unclear


class _Reader(ast.NodeVisitor):
    """Follows types through annotations, assignments, calls and loops as far as these sources need it."""

    def __init__(self, module):
        self.names = vars(importlib.import_module(module))
        self.types, self.found, self.unclear = {}, set(), set()

    def visit_ClassDef(self, node):
        owner, before = self.names.get(node.name), dict(self.types)
        self.types["self"] = self.types["cls"] = owner
        self.generic_visit(node)
        self.types = before

    def visit_FunctionDef(self, node):
        before = dict(self.types)
        for arg in (*node.args.args, *node.args.kwonlyargs):
            if arg.annotation is not None:
                self.types[arg.arg] = self._annotated(arg.annotation)
        for part in node.body:
            self.visit(part)
        self.types = before

    def visit_Assign(self, node):
        self.visit(node.value)
        for target in node.targets:
            self._bind(target, node.value, self.type_of(node.value))

    def visit_AnnAssign(self, node):
        if node.value is not None:
            self.visit(node.value)
        if isinstance(node.target, ast.Name):
            self.types[node.target.id] = self._annotated(node.annotation)

    def visit_NamedExpr(self, node):
        self.visit(node.value)
        self._bind(node.target, node.value, self.type_of(node.value))

    def visit_For(self, node):
        self._loop(node.target, node.iter)
        for part in (*node.body, *node.orelse):
            self.visit(part)

    def visit_GeneratorExp(self, node):
        for one in node.generators:
            self._loop(one.target, one.iter)
            for test in one.ifs:
                self.visit(test)
        for part in ("elt", "key", "value"):
            if hasattr(node, part):
                self.visit(getattr(node, part))

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp

    def visit_Call(self, node):
        for keyword in node.keywords:
            if isinstance(keyword.value, ast.Lambda) and node.args:
                for arg in keyword.value.args.args:
                    self.types[arg.arg] = _element(self.type_of(node.args[0]))
        for index, value in enumerate(node.args):
            if isinstance(value, ast.Lambda) and index == 1:
                for arg in value.args.args:
                    self.types[arg.arg] = _element(self.type_of(node.args[0]))
        self.generic_visit(node)

    def visit_Attribute(self, node):
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load):
            return
        owner = self.type_of(node.value)
        if owner is not None:
            if getattr(owner, "__name__", None) in TRACKED and node.attr in fields_of(owner.__name__):
                self.found.add(f"{owner.__name__}.{node.attr}")
            return
        if isinstance(node.value, ast.Name) and isinstance(self.names.get(node.value.id), types.ModuleType | type):
            return
        possible = {f"{name}.{node.attr}" for name in TRACKED if node.attr in fields_of(name)}
        if len(possible) == 1:
            self.found |= possible
        elif possible:
            self.unclear.add(f"{ast.unparse(node)} may be any of {', '.join(sorted(possible))}")

    # -- types --

    def type_of(self, node):
        return _plain(getattr(self, f"_of_{type(node).__name__}", lambda _: None)(node))

    def _of_Name(self, node):
        return self.types.get(node.id)

    def _of_Attribute(self, node):
        return _attribute(self.type_of(node.value), node.attr)

    def _of_Call(self, node):
        called = self._called(node.func)
        if called in (max, min, next, sorted) and node.args:
            inner = self.type_of(node.args[0])
            return inner if called is sorted else _element(inner)
        if called is dataclasses.replace:
            return self.type_of(node.args[0])
        if isinstance(called, type):
            return called
        if isinstance(node.func, ast.Attribute) and node.func.attr == "get":
            return _value(self.type_of(node.func.value))
        return _hints(called).get("return") if isinstance(called, types.FunctionType) else None

    def _called(self, node):
        if isinstance(node, ast.Name):
            return self.names.get(node.id, _BUILT_IN.get(node.id))
        owner = self.type_of(node.value) if isinstance(node, ast.Attribute) else None
        return getattr(owner, node.attr, None) if owner is not None else None

    def _of_Subscript(self, node):
        owner = self.type_of(node.value)
        return _value(owner) or _element(owner)

    def _of_IfExp(self, node):
        return self.type_of(node.body) or self.type_of(node.orelse)

    def _of_BoolOp(self, node):
        return next((one for one in map(self.type_of, node.values) if one is not None), None)

    def _of_NamedExpr(self, node):
        return self.type_of(node.value)

    def _of_GeneratorExp(self, node):
        for one in node.generators:
            self._bind(one.target, None, _element(self.type_of(one.iter)))
        inner = self.type_of(node.elt)
        return None if inner is None else list[inner]

    _of_ListComp = _of_SetComp = _of_GeneratorExp

    def _annotated(self, node):
        return _plain(eval(compile(ast.Expression(node), "annotation", "eval"), dict(self.names)))  # our own sources

    def _loop(self, target, over):
        self.visit(over)
        if isinstance(over, ast.Call) and getattr(over.func, "id", "") == "zip" and isinstance(target, ast.Tuple):
            for one, many in zip(target.elts, over.args, strict=False):
                self._bind(one, None, _element(self.type_of(many)))
            return
        self._bind(target, None, _element(self.type_of(over)))

    def _bind(self, target, value, kind):
        if isinstance(target, ast.Name):
            self.types[target.id] = kind
        elif isinstance(target, ast.Tuple):
            parts = value.elts if isinstance(value, ast.Tuple) else [None] * len(target.elts)
            inner = typing.get_args(kind) if typing.get_origin(kind) is tuple else ()
            for index, (one, part) in enumerate(zip(target.elts, parts, strict=False)):
                known = (
                    self.type_of(part) if part is not None else inner[index] if index < len(inner) else _element(kind)
                )
                self._bind(one, part, _plain(known))


_BUILT_IN = {one.__name__: one for one in (max, min, next, sorted)}


def _plain(kind):
    """Without None: a rule asks for it first."""
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        known = [one for one in typing.get_args(kind) if one is not types.NoneType]
        return known[0] if len(known) == 1 else None
    if isinstance(kind, str):
        return TRACKED.get(kind)
    return kind


def _attribute(owner, name):
    if not isinstance(owner, type):
        return None
    found = _hints(owner).get(name)
    if found is None and isinstance(vars(owner).get(name), property):
        found = _hints(vars(owner)[name].fget).get("return")
    return _plain(found)


def _hints(one):
    """Nothing for other people's classes whose annotations do not resolve."""
    try:
        return typing.get_type_hints(one)
    except NameError:
        return {}


def _element(kind):
    kind = _plain(kind)
    many = typing.get_origin(kind) in (tuple, list, set, frozenset) or str(kind).startswith("collections.abc")
    return _plain(typing.get_args(kind)[0]) if many and typing.get_args(kind) else None


def _value(kind):
    kind = _plain(kind)
    return _plain(typing.get_args(kind)[1]) if typing.get_origin(kind) is dict else None
