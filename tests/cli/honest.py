"""Typical programs of a model pass the strict policy and do in a cell what they do in CPython."""

import __main__
import json
import pathlib

import harness

PROGRAMS = pathlib.Path(__file__).parent.parent / "policy"
EXPECTED = json.loads((PROGRAMS / "expected.json").read_text())

# The tools that some of the programs call, as one command.
TOOLS = '''
[[tool]]
name = "get_quote"
kind = "command"
command = ["./tools.py", "get_quote"]
description = "The price of a share."
input_schema = { type = "object", properties = { symbol = { type = "string" } }, required = ["symbol"] }
[[tool]]
name = "list_orders"
kind = "command"
command = ["./tools.py", "list_orders"]
description = "Orders by status."
input_schema = { type = "object", properties = { status = { type = "string" } }, required = ["status"] }
[[tool]]
name = "get_customer"
kind = "command"
command = ["./tools.py", "get_customer"]
description = "A customer by id."
input_schema = { type = "object", properties = { id = { type = "integer" } }, required = ["id"] }
'''
COMMAND = '''#!/usr/bin/env python3
import json, sys
given = json.load(sys.stdin)
if sys.argv[1] == "get_quote":
    if given["symbol"] == "CCC":
        sys.exit("no quote for CCC")
    answer = {"price": len(given["symbol"])}
elif sys.argv[1] == "list_orders":
    answer = [{"id": 1, "customer_id": 7, "total": 120}, {"id": 2, "customer_id": 8, "total": 300}]
else:
    answer = {"name": "Ann", "vip": given["id"] == 7}
print(json.dumps(answer))
'''


class Honest(harness.CliTest):
    def try_all(self, folder, engine, *arguments):
        programs = sorted((PROGRAMS / folder).glob("*.py"))
        for program in programs:
            with self.subTest(program=program.name, engine=engine):
                outcome = self.caisson("run", str(program), "--json", "--engine", engine, *arguments).outcome
                self.assertEqual(outcome["findings"], [])
                self.assertEqual(outcome["status"], "completed", outcome["error"])
                self.assertEqual(outcome["stdout"], EXPECTED[program.name])
        return len(programs)

    def with_tools(self):
        self.put("tools.py", COMMAND)
        (self.work / "tools.py").chmod(0o755)
        return "--config", self.put("caisson.toml", TOOLS)

    def test_every_program_runs_in_wasm(self):
        self.assertGreaterEqual(self.try_all("honest", "wasm", *self.with_tools()), 80)

    def test_every_program_runs_in_native(self):
        self.assertGreaterEqual(self.try_all("honest", "native", *self.with_tools()), 80)

    @harness.unittest.skipUnless(all(map(harness.has_package, ("numpy", "pandas", "matplotlib"))),
                                 "numpy, pandas and matplotlib are not installed")
    def test_programs_with_packages_run_in_native_and_are_handed_there(self):
        self.assertGreaterEqual(self.try_all("honest_packages", "native"), 4)
        self.assertGreaterEqual(self.try_all("honest_packages", "auto"), 4)

    @harness.unittest.skipUnless(harness.has_package("pandas"), "pandas is not installed")
    def test_text_that_pandas_evaluates_shows_nothing_of_pythons(self):
        programs = (PROGRAMS / "hidden_packages/pandas.txt").read_text().splitlines()
        self.assertGreaterEqual(len(programs), 10)
        for program in programs:
            with self.subTest(program=program):
                path = self.put("main.py", program.replace("\\n", "\n"))
                outcome = self.caisson("run", path, "--json", "--engine", "native").outcome
                error = (outcome["error"] or {}).get("type")
                self.assertTrue(outcome["status"] == "rejected" or error == "AttributeError", outcome)


if __name__ == "__main__":
    harness.run_suite(__main__)
