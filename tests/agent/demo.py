"""`caisson serve --demo`: what it prints works when it is pasted.

    demo.py PROGRAM BUILD_DIRECTORY [unittest arguments]"""

import __main__
import json
import pathlib
import re
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "conformance"))
import agents  # noqa: E402
import harness  # noqa: E402
import serve  # noqa: E402
from npm import Packages  # noqa: E402

PACKAGES = None


class Demo(serve.Serve):
    def serve_demo(self):
        """Returns the process and what it prints."""
        process = self.start("serve", "--demo", "--listen", "127.0.0.1:0", preexec_fn=harness.without_signals)
        lines = [process.stdout.readline().decode()]
        self.port = int(lines[0].rsplit(":", 1)[1])
        while "console.log" not in lines[-1]:
            lines.append(process.stdout.readline().decode())
        lines.append(process.stdout.readline().decode())
        return process, "".join(lines)

    def test_the_curl_line_works_as_printed(self):
        process, printed = self.serve_demo()
        command = re.search(r"^curl .*?'$", printed, re.M | re.S).group()
        done = subprocess.run(["bash", "-c", command], stdout=subprocess.PIPE, check=True)
        response = json.loads(done.stdout)
        self.assertEqual(response["status"], "completed", response)
        self.assertIn("[0, 1, 1, 2, 3, 5, 8, 13, 21, 34]", agents.text_of(response).replace(",", ", ").replace("  ", " "))
        self.stop(process)

    def test_the_openai_snippet_works_as_printed(self):
        process, printed = self.serve_demo()
        script = PACKAGES.top / "demo.mjs"  # Packages are found from there.
        script.write_text(printed[printed.index("import OpenAI"):])
        done = subprocess.run([PACKAGES.node, str(script)], cwd=PACKAGES.top, env=PACKAGES.environment,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=harness.PATIENCE)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("34", done.stdout)
        self.stop(process)

    def test_nothing_is_left_behind_without_a_store(self):
        process, _ = self.serve_demo()
        client = agents.Client(self.port)
        waiting = client.respond("demo", "send an email")
        self.assertEqual([item["name"] for item in agents.approvals_of(waiting)], ["send_email"], waiting)
        sent = client.respond("demo", agents.answers_to(waiting), previous_response_id=waiting["id"])
        self.assertIn("sent to", agents.text_of(sent), sent)
        client.close()
        self.stop(process)

    def test_a_configuration_with_the_same_names_is_refused(self):
        self.put("caisson.toml", agents.DEMO_MODEL + agents.agent("demo"))
        done = self.caisson("serve", "--demo", "--config", "caisson.toml")
        self.assertEqual((done.status, done.out), (2, b""))
        self.assertIn(b'[[agent]] named "demo"', done.err)


if __name__ == "__main__":
    PACKAGES = Packages(sys.argv.pop(2))
    harness.run_suite(__main__)
