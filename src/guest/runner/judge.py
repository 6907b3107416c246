"""Judges the tree that is going to be executed, before anything is."""

from caisson.runner.values import encode


class Judgement:
    def __init__(self):
        self.findings = []
        self.imports = []
        self.native = []

    def may_run(self):
        return not self.findings and not self.native

    def report(self, is_check):
        if is_check:
            report = {"end": "checked", "imports": self.imports, "modules": self.native}
            return encode({**report, "findings": self.findings})
        if self.findings:
            return encode({"end": "rejected", "findings": self.findings})
        return encode({"end": "needs_native", "modules": self.native})


def judge(tree, request, source):
    judgement = Judgement()
    if request.policy != 0:
        judgement.findings.append(
            {
                "rule": "policy",
                "message": "the strict policy cannot be checked on this Python",
                "line": 1,
                "column": 1,
                "hint": "use engine wasm, or ask the operator for policy open",
            }
        )
    return judgement
