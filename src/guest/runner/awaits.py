"""Decides, on the tree, which tool calls are pending, as guest/awaits/await_calls.h does."""

from caisson.runner import walk
from caisson.runner.await_flow import Flow
from caisson.runner.await_meanings import Meanings
from caisson.runner.await_returns import rewrite_returns
from caisson.runner.await_scopes import FindVariables, Variables, find_flat
from caisson.runner.trees import called


def _find_awaited(tree, tools, globals):
    try:
        variables = Variables(tools, globals)
        FindVariables(variables).visit_stmts(tree.body)
        flow = Flow(variables, Meanings(variables))
        flow.run(tree.body)
    except walk.Unknown:
        variables = Variables(tools, globals)
        find_flat(variables, tree)
        flow = Flow(variables, Meanings(variables))
        flow.run_flat(tree)
    return flow.marks


def rewrite_awaited_calls(tree, tools, globals):
    """Everything is found before anything is rewritten, because values are not followed through
    nodes that we insert."""
    marks = _find_awaited(tree, tools, globals)
    rewrite_returns(tree)
    for holder, place, function in marks:
        if isinstance(holder, list):
            holder[place] = called(function, holder[place])
        else:
            setattr(holder, place, called(function, getattr(holder, place)))
