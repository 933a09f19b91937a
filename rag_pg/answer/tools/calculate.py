"""A sum of numbers as a text -> its value."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping

from rag_pg.errors import InvalidInput

LONGEST = 200  # characters of an expression
_TWO: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: math.pow,
}
_CALLS: Mapping[str, Callable[..., float]] = {
    "abs": abs,
    "max": max,
    "min": min,
    "round": round,
    "sqrt": math.sqrt,
}


def calculate(expression: str) -> float:
    """Return the value of numbers, + - * / // % **, parentheses, abs, max, min, round and sqrt.

    Raises: InvalidInput for anything else, a division by 0, or a value that is not finite.
    """
    if len(expression) > LONGEST:
        raise InvalidInput(f"the expression has {len(expression)} characters; use {LONGEST}")
    try:
        value = _value(ast.parse(expression.strip(), mode="eval").body)
    except (SyntaxError, ArithmeticError, ValueError, TypeError, RecursionError) as exc:
        raise InvalidInput(f"cannot calculate {expression!r}: {exc}") from exc
    if not math.isfinite(value):
        raise InvalidInput(f"{expression!r} is not finite")
    return value


def _value(node: ast.expr) -> float:
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return number if abs(number) < 1e300 else math.inf
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -_value(inner)
        case ast.UnaryOp(op=ast.UAdd(), operand=inner):
            return _value(inner)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _TWO:
            return _TWO[type(op)](_value(left), _value(right))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _CALLS:
            return _CALLS[name](*map(_value, args))
    raise ValueError("use numbers, + - * / // % **, parentheses, abs, max, min, round, sqrt")
