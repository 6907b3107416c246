"""Handles the return values of functions in the code: `return f(...)`, if the caller of the
function awaits the result (guest/awaits/await_returns.h)."""

import ast

from caisson.runner.tools import GIVEN, RETURNED, TWIN
from caisson.runner.trees import called


def may_be_tool(function):
    """Tools are not reached through attributes."""
    return isinstance(function, (ast.Name, ast.Subscript))


def _rewrite_return(node, is_async):
    call = node.value
    if not isinstance(call, ast.Call) or not may_be_tool(call.func):
        return
    call.func = called(TWIN if is_async else RETURNED, call.func)
    if is_async:
        node.value = ast.copy_location(ast.Await(called(GIVEN, call)), call)


def _rewrite_block(block, is_async):
    """Only where nothing happens between the call and the end of the function."""
    for node in block:
        if isinstance(node, ast.Return):
            _rewrite_return(node, is_async)
        elif isinstance(node, ast.If):
            _rewrite_block(node.body, is_async)
            _rewrite_block(node.orelse, is_async)
        elif isinstance(node, (ast.For, ast.AsyncFor, ast.AsyncWith)):
            _rewrite_block(node.body, is_async)


def rewrite_returns(tree):
    for node in list(ast.walk(tree)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            _rewrite_block(node.body, isinstance(node, ast.AsyncFunctionDef))
        elif isinstance(node, ast.Lambda) and isinstance(node.body, ast.Call) and may_be_tool(node.body.func):
            node.body.func = called(RETURNED, node.body.func)
