"""What a mutant changes: the operators, each from one node of a syntax tree to nodes that are wrong."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from copy import deepcopy

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
OPPOSITES = {
    "min": "max",
    "any": "all",
    "minimum": "maximum",
    "logical_and": "logical_or",
    "floor": "ceil",
    "argmin": "argmax",
    "union": "intersection",
    "startswith": "endswith",
}
OPPOSITES |= {there: here for here, there in OPPOSITES.items()}
"""Functions and methods that are easily mistaken for each other."""

EFFORT = 100
"""Larger numbers are limits of effort, of which one more or less is neither right nor wrong."""

HARMLESS_KEYWORDS = {"strict", "copy"}
"""Arguments that guard against bugs elsewhere or save time: without them the program is not wrong."""


def wrong_versions(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what the node may be changed to, one change at a time."""
    for operator in _OPERATORS.get(type(node), ()):
        yield from operator(node)


def mutable_nodes(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    """Yield the nodes that a mutant may change, each with the function or class that it stands in.

    Types, decorators, imports, strings and code for type checkers alone are left out.
    """
    yield from _walk(tree, ())


def _walk(node: ast.AST, where: tuple[str, ...]) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(node, ast.Import | ast.ImportFrom | ast.Assert | ast.JoinedStr):
        return
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        return
    if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
        where = (*where, node.name)
    yield ".".join(where) or "module", node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.keyword) and child.arg in HARMLESS_KEYWORDS:
                continue
            if isinstance(child, ast.AST):
                yield from _walk(child, where)


def _changed(node: ast.AST, **fields: object) -> ast.AST:
    copy = deepcopy(node)
    for name, value in fields.items():
        setattr(copy, name, value)
    return copy


def _compare(node: ast.Compare) -> Iterator[ast.AST]:
    for i, op in enumerate(node.ops):
        if other := COMPARISONS.get(type(op)):
            yield _changed(node, ops=[*node.ops[:i], other(), *node.ops[i + 1 :]])


def _bool_op(node: ast.BoolOp) -> Iterator[ast.AST]:
    yield _changed(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
    for i in range(len(node.values)):
        rest = [*node.values[:i], *node.values[i + 1 :]]
        yield deepcopy(rest[0]) if len(rest) == 1 else _changed(node, values=rest)


def _arithmetic(node: ast.BinOp | ast.AugAssign) -> Iterator[ast.AST]:
    if other := ARITHMETIC.get(type(node.op)):
        yield _changed(node, op=other())
    if isinstance(node, ast.AugAssign):
        yield ast.Pass()


def _unary(node: ast.UnaryOp) -> Iterator[ast.AST]:
    if not isinstance(node.op, ast.UAdd):
        yield deepcopy(node.operand)


def _constant(node: ast.Constant) -> Iterator[ast.AST]:
    if isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node.value, int | float) and abs(node.value) <= EFFORT:
        yield ast.Constant(node.value + 1)


def _if_else(node: ast.IfExp) -> Iterator[ast.AST]:
    yield deepcopy(node.body)
    yield deepcopy(node.orelse)


def _named(node: ast.Name | ast.Attribute) -> Iterator[ast.AST]:
    field = "id" if isinstance(node, ast.Name) else "attr"
    if isinstance(node.ctx, ast.Load) and (other := OPPOSITES.get(getattr(node, field))):
        yield _changed(node, **{field: other})


def _if(node: ast.If) -> Iterator[ast.AST]:
    yield _changed(node, test=ast.Constant(True))
    yield _changed(node, test=ast.Constant(False))


def _statement(node: ast.Expr) -> Iterator[ast.AST]:
    if not isinstance(node.value, ast.Constant):
        yield ast.Pass()


def _return(node: ast.Return) -> Iterator[ast.AST]:
    if node.value is not None and not (isinstance(node.value, ast.Constant) and node.value.value is None):
        yield ast.Return(ast.Constant(None))


def _raise(node: ast.Raise) -> Iterator[ast.AST]:
    if node.exc is not None and "AssertionError" not in ast.unparse(node.exc):
        yield ast.Pass()


def _loop_step(node: ast.Continue | ast.Break) -> Iterator[ast.AST]:
    yield ast.Break() if isinstance(node, ast.Continue) else ast.Continue()


_OPERATORS = {
    ast.Compare: (_compare,),
    ast.BoolOp: (_bool_op,),
    ast.BinOp: (_arithmetic,),
    ast.AugAssign: (_arithmetic,),
    ast.UnaryOp: (_unary,),
    ast.Constant: (_constant,),
    ast.IfExp: (_if_else,),
    ast.Name: (_named,),
    ast.Attribute: (_named,),
    ast.If: (_if,),
    ast.Expr: (_statement,),
    ast.Return: (_return,),
    ast.Raise: (_raise,),
    ast.Continue: (_loop_step,),
    ast.Break: (_loop_step,),
}
