"""Two identities at one server: neither sees anything of the other, neither while its run waits nor
after its end."""

import __main__

import harness
from serve import ANN, BOB, KEYS, MEMORY, SEND, Serve

OPEN = '[policy]\npreset = "open"\n[engine]\ndefault = "{engine}"\n'

# Leaves data everywhere code can, then waits for a person.
PLANT = """
import builtins, json, os, sys, types
secret = 'secret of ann'
builtins.leak = json.leak = secret
sys.modules['planted'] = types.ModuleType('planted')
os.environ['LEAK'] = secret
os.makedirs('/tmp/hidden')
for place in ('/tmp/leak', '/tmp/hidden/leak', '/output/leak'):
    with open(place, 'w') as f: f.write(secret)
held = os.open('/tmp/leak', os.O_RDONLY)
send(to='bob')
"""
LOOK = """
import builtins, json, os, sys
def read(fd):
    try: return os.pread(fd, 100, 0).decode(errors='replace')
    except (OSError, ValueError): return ''
found = [name for name, there in {
    'variables': 'secret' in globals(),
    'builtins': hasattr(builtins, 'leak'),
    'modules': 'planted' in sys.modules or hasattr(json, 'leak'),
    'environment': 'LEAK' in os.environ or 'ann' in str(dict(os.environ)),
    '/tmp': os.listdir('/tmp') != [],
    '/output': os.listdir('/output') != [],
    'descriptors': any('secret' in read(fd) for fd in range(3, 256)),
}.items() if there]
found
"""


class Identities(Serve):
    def serve_two(self, engine):
        for name, key in (("ann", ANN), ("bob", BOB)):
            self.put(f"{name}.key", key)
            (self.work / f"{name}.key").chmod(0o600)
        self.put("send.sh", "#!/bin/sh\ncat >/dev/null\necho null\n")
        (self.work / "send.sh").chmod(0o755)
        return self.serve(MEMORY + KEYS + OPEN.format(engine=engine) + SEND)

    def run_as(self, key, code, **more):
        answer = self.ask("POST", "/v1/runs", {"code": code, **more}, key=key)
        self.assertIn(answer.status, (200, 202), answer)
        return answer.json

    def two_runs_see_nothing_of_each_other(self, engine):
        process = self.serve_two(engine)
        run = self.run_as(ANN, PLANT)
        self.assertEqual(run["state"], "waiting", run)
        approval = run["outcome"]["approvals"][0]["id"]
        for _ in range(8):  # On every worker, and in cells that others have used.
            looked = self.run_as(BOB, LOOK)["outcome"]
            self.assertEqual((looked["status"], looked["result"]), ("completed", []), looked)
            self.assertEqual(looked["boundary"]["engine"], engine)
        # What does not belong to Bob looks as if it did not exist, in content and in shape (I4).
        for path in (f"/v1/runs/{run['id']}", f"/v1/approvals/{approval}"):
            nowhere = path[:-6] + "zzzzzz"
            answers = [self.ask("GET", p, key=BOB) for p in (path, nowhere)]
            self.assertEqual([a.status for a in answers], [404, 404])
            self.assertEqual(answers[0].body.replace(path.rsplit("/", 1)[1].encode(), b""),
                             answers[1].body.replace(nowhere.rsplit("/", 1)[1].encode(), b""))
        decision = self.ask("POST", f"/v1/approvals/{approval}", {"decision": "approve"}, key=ANN)
        self.assertEqual(decision.status, 200, decision)
        self.await_run(run["id"], key=ANN)
        for key in (BOB, ANN):  # Ann's own next run does not see it either.
            self.assertEqual(self.run_as(key, LOOK)["outcome"]["result"], [])
        self.stop(process)

    def test_two_runs_of_different_identities_see_nothing_of_each_other_in_wasm(self):
        self.two_runs_see_nothing_of_each_other("wasm")

    def test_two_runs_of_different_identities_see_nothing_of_each_other_in_native(self):
        self.two_runs_see_nothing_of_each_other("native")

    def test_planted_data_would_be_found(self):
        for engine in ("wasm", "native"):
            code = PLANT.replace("send(to='bob')", "") + LOOK
            outcome = self.outcome_of_policy_free(code, engine)
            self.assertEqual(outcome["result"], ["variables", "builtins", "modules", "environment", "/tmp", "/output",
                                                 "descriptors"], outcome)

    def outcome_of_policy_free(self, code, engine):
        return self.caisson("run", "--json", "--policy", "open", "--engine", engine, code=code).outcome


if __name__ == "__main__":
    harness.run_suite(__main__)
