"""Users work on replicas of `caisson serve` while the replicas, the disk and the database fail.

    soak.py PROGRAM [--seconds 3600] [--users 50] [--replicas 3] [--seed N]

Fails if a replica ends by itself, a run is lost, an effect happens twice, or the memory of a replica grows. Needs
PostgreSQL. The disk fills up only if the user is root.
"""

import argparse
import collections
import json
import pathlib
import random
import statistics
import sys
import tempfile
import threading
import time

import cluster
import users

PATIENCE = 180  # Seconds in which everything ends after the last fault.
MEMORY_MARGIN = 48 << 20  # The allocator keeps some of what a burst needed.
# In a short soak the largest bursts of hogs fall into one quarter only; it finds leaks that are
# large.
SHORT_SECONDS, SHORT_MARGIN = 600, 512 << 20


class Faults:
    """Lets things fail at random. Replica 0 is never killed, so that its memory can be compared."""

    def __init__(self, servers, seed, stop):
        self.servers, self.stop = servers, stop
        self.random = random.Random(seed)
        self.counts = collections.Counter()
        self.wrong = []
        self.thread = threading.Thread(target=self.work, name="faults")
        self.kinds = [self.kill, self.kill, self.kill_child, self.pause, self.drop_connections, self.restart_database]
        if servers.database.disk:
            self.kinds += [self.fill_disk, self.fill_disk]

    def work(self):
        while not self.stop.wait(self.random.uniform(1, 5)):
            kind = self.random.choice(self.kinds)
            try:
                if kind() is not False:
                    self.counts[kind.__name__] += 1
            except Exception as error:
                self.wrong.append(f"the soak could not {kind.__name__}: {error!r}")

    def kill(self):
        with self.servers.killing:
            victim = self.random.choice(self.servers.replicas[1:])
            victim.kill()
            self.stop.wait(self.random.uniform(0.1, 3))
            victim.start()

    def kill_child(self):
        with self.servers.killing:
            return self.random.choice(self.servers.replicas).kill_child(self.random.choice)

    def pause(self):
        self.random.choice(self.servers.replicas).pause(self.stop.wait)

    def drop_connections(self):
        self.servers.database.drop_connections()

    def restart_database(self):
        self.servers.database.restart()

    def fill_disk(self):
        self.servers.database.fill_disk()
        try:
            self.stop.wait(self.random.uniform(1, 5))
        finally:
            self.servers.database.free_disk()


def watch(servers, seconds):
    """Returns samples of the memory of replica 0, and what ended by itself."""
    samples, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        gone = servers.dead()
        if gone:
            return samples, gone
        samples.append(servers.replicas[0].resident_bytes())
        time.sleep(1)
    return samples, []


def check_memory(samples):
    """Compares the last quarter of the time with the second."""
    quarter = len(samples) // 4
    if quarter < 5:
        return "", ["too short to compare memory"]
    early = statistics.median(samples[quarter:2 * quarter])
    late = statistics.median(samples[-quarter:])
    figures = f"memory of replica 0: {early / 2**20:.0f} MiB in the second quarter, {late / 2**20:.0f} MiB in the last"
    margin = SHORT_MARGIN if len(samples) < SHORT_SECONDS else MEMORY_MARGIN
    return figures, [figures] if late > early * 1.1 + margin else []


def check_effects(crowd, lines):
    """Each effect happens at most once, and exactly once if its call returned."""
    wrong = []
    happened = collections.Counter(json.loads(line)["id"] for line in lines)
    doubts = collections.Counter()
    for key, outcome in ((key, outcome) for user in crowd for key, outcome in user.runs.items()):
        if (outcome or {}).get("status") != "completed":
            wrong.append(f"run {key} did not complete: {json.dumps(outcome)[:1500]}")
            continue
        for effect, said in zip((f"{key}-a", f"{key}-b", f"{key}-c"), outcome["result"]):
            if said != 1:
                doubts[said] += 1
            if said == 1 and happened[effect] != 1:
                wrong.append(f"{effect} returned and happened {happened[effect]} times")
    wrong += [f"{effect} happened {count} times" for effect, count in happened.items() if count > 1 and effect != "hog"]
    return wrong, doubts


def stop_replicas(servers):
    wrong = []
    for replica in servers.replicas:
        replica.process.terminate()
    for replica in servers.replicas:
        status = replica.process.wait(PATIENCE)
        replica.process.stdout.close()
        if status != 0:
            wrong.append(f"replica {replica.number} stopped with status {status}:\n{replica.log.read_text()[-4000:]}")
    return wrong


def soak(servers, options):
    """Returns what went wrong. Prints what happened."""
    for replica in servers.replicas:
        replica.start()
    stop = threading.Event()
    crowd = [users.User(servers, number, options.seed + number, stop) for number in range(options.users)]
    faults = Faults(servers, options.seed - 1, stop)
    for each in (*crowd, faults):
        each.thread.start()
    samples, wrong = watch(servers, options.seconds)
    stop.set()
    for each in (*crowd, faults):
        each.thread.join()
    finishing = [threading.Thread(target=user.finish_all, args=(time.monotonic() + PATIENCE,)) for user in crowd]
    for thread in finishing:
        thread.start()
    for thread in finishing:
        thread.join()
    wrong += servers.dead()
    figures, grown = check_memory(samples)
    wrong += grown + faults.wrong + [line for user in crowd for line in user.wrong]
    wrong += [f"{key} is still open: {user.last.get(key)}" for user in crowd for key, outcome in user.runs.items()
              if outcome is None]
    wrong += stop_replicas(servers)
    twice, doubts = check_effects(crowd, servers.effects())
    statuses = sum((collections.Counter(user.statuses) for user in crowd), collections.Counter())
    print(f"seed {options.seed}, {options.seconds} s, {options.users} users, {options.replicas} replicas")
    print(f"faults: {dict(faults.counts)}")
    print(f"{sum(len(user.runs) for user in crowd)} runs with effects, {sum(user.small for user in crowd)} small runs, "
          f"{len(servers.effects())} effects, calls that raised: {dict(doubts)}")
    print(f"HTTP answers: {dict(sorted(statuses.items()))}")
    print(figures)
    return wrong + twice


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--seconds", type=int, default=3600)
    parser.add_argument("--users", type=int, default=50)
    parser.add_argument("--replicas", type=int, default=3)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="caisson-soak-") as folder:
        servers = cluster.Cluster(str(pathlib.Path(options.program).resolve()), pathlib.Path(folder), options.users,
                                  options.replicas)
        try:
            wrong = soak(servers, options)
        finally:
            for replica in servers.replicas:
                if replica.process and replica.process.poll() is None:
                    replica.kill()
            servers.database.stop()
    for line in wrong[:20]:
        print("FAULT", line)
    sys.exit(f"{len(wrong)} faults; repeat with --seed {options.seed}" if wrong else 0)


if __name__ == "__main__":
    main()
