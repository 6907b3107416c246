"""Checks the tree that will be executed, before anything is (guest/policy/judgement.h)."""

import sys

from caisson.imports import is_missing
from caisson.runner import values
from caisson.runner.findings import Findings

# The maximum depth of trees, with a few frames for each level.
_RECURSION_LIMIT = 4000


class Judgement:
    def __init__(self):
        self.findings = Findings()
        self.imports = []  # The top-level modules that the code imports.
        self.native = []  # Those of native_packages among them that are missing here.
        self.absent = set()  # Those that neither engine has.

    def may_run(self):
        return not self.findings and not self.native

    def report(self, request, source):
        findings = self.findings.listed(source)
        if request.is_check:
            report = {"end": "checked", "imports": self.imports, "modules": self.native}
            return values.encode({**report, "findings": findings})
        if findings:
            return values.encode({"end": "rejected", "findings": findings})
        return values.encode({"end": "needs_native", "modules": self.native})


def judge(tree, request):
    judgement = Judgement()
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _RECURSION_LIMIT))
    try:
        _judge(judgement, tree, request)
    finally:
        sys.setrecursionlimit(limit)
    return judgement


def _judge(judgement, tree, request):
    # Each part is loaded when it is needed: most code does not need all of them.
    is_strict = request.policy != 0
    is_asked = is_strict or request.is_check or request.native_packages is not None
    if is_asked and b"import" in request.code:
        from caisson.runner import check_imports

        check_imports.find(judgement, tree, request, is_missing)
    if any(isinstance(entry, tuple) for entry in request.tools):
        from caisson.runner import check_tools

        check_tools.check(tree, request.tools, judgement.findings)
    if is_strict:
        _check_strict(judgement, tree, request)


def _check_strict(judgement, tree, request):
    from caisson.runner import check, modules, walk

    rules = modules.Rules(request.policy if isinstance(request.policy, dict) else None)
    known = modules.Modules(rules, request.native_packages)
    checker = check.Checker(rules, known, request, judgement)
    try:
        checker.check(tree)
    except walk.Unknown as unknown:
        judgement.findings.add_at(
            "node",
            getattr(unknown.node, "lineno", 1),
            getattr(unknown.node, "col_offset", 0),
            "write it as Python 3.11 would have it",
            f"the policy knows no {unknown}",
        )
