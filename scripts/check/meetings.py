#!/usr/bin/env python3
"""Ranks that meet by TCP, under torchrun's variables: meetings.py [--deaths N] [--meetings N] [--side N] -- COMMAND...

COMMAND is what each rank runs: a program of --target cuda on a simulated GPU, or `kedge-rank-checks pause MARKS`. Early deaths: a rank of three is killed or
stopped some milliseconds after the start; the others must end, with a code other than 0 and words that name it, or all have ended well before. Meetings:
ranks that come late, twice, stopped for a while, with another number of ranks, job or secret, beside connections that say nothing or nonsense; the
ranks that belong together must do their work, and the others be told within seconds. --side: trials side by side.
"""
import argparse
import concurrent.futures
import itertools
import os
import random
import signal
import socket
import subprocess
import sys
import time

MOST = 100  # seconds; ranks that do not find each other end after 60
SECRET = "what the ranks of this job know"
ports = itertools.count(random.randrange(20000, 30000, 40), 40)


class Job:
    def __init__(self, command, size):
        self.command, self.size, self.port, self.ranks = command, size, next(ports), []

    def start(self, rank, **variables):
        known = {"RANK": rank, "WORLD_SIZE": self.size, "LOCAL_RANK": rank, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": self.port, **variables}
        process = subprocess.Popen(self.command, env={**os.environ, **{name: str(value) for name, value in known.items() if value is not None}},
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.ranks.append(process)
        return process

    def say(self, words):
        """A connection to rank 0 that says this, once somebody listens; it stays open."""
        for _ in range(2000):
            try:
                connection = socket.create_connection(("127.0.0.1", self.port))
                connection.sendall(words)
                self.open = getattr(self, "open", []) + [connection]
                return connection
            except OSError:
                time.sleep(0.01)
        raise AssertionError("nobody listens")

    def end(self):
        for process in self.ranks:
            process.kill()
            process.communicate()


def ended(process, seconds=MOST):
    """Exit code and words; the code is None where it has not ended."""
    try:
        said = process.communicate(timeout=seconds)[1]
        return process.returncode, said
    except subprocess.TimeoutExpired:
        return None, ""


def death(command, number, rank, delay):
    job = Job(command, 3)
    try:
        ranks = [job.start(other) for other in range(3)]
        time.sleep(delay)
        ranks[rank].send_signal(number)
        begin = time.monotonic()
        outcomes = [ended(process) for other, process in enumerate(ranks) if other != rank]
        seconds = time.monotonic() - begin
        codes = [code for code, _ in outcomes]
        words = "".join(said for _, said in outcomes)
        if codes == [0, 0]:
            return "" if number == signal.SIGSTOP or ranks[rank].poll() is not None else "the others ended well without it", seconds
        if None in codes:
            return f"no end within {MOST} s", seconds
        if 0 in codes or f"rank {rank}" not in words and "rank 0" not in words:
            return f"codes {codes}: {words[-300:]}", seconds
        return "", seconds
    finally:
        job.end()


def all_well(*processes):
    for process in processes:
        code, said = ended(process)
        if code != 0:
            return f"code {code}: {said[-300:]}"
    return ""


def refused(process, words, seconds):
    begin = time.monotonic()
    code, said = ended(process)
    taken = time.monotonic() - begin
    if code != 1 or words not in said:
        return f"code {code}, expected '{words}': {said[-300:]}"
    return "" if taken < seconds else f"told after {taken:.1f} s"


def stranger(words, seconds=10, **variables):
    def trial(job):
        first = job.start(0, **({"KEDGE_JOB_SECRET": SECRET} if "KEDGE_JOB_SECRET" in variables else {}))
        time.sleep(0.5)
        wrong = refused(job.start(1, **variables), words, seconds)
        return wrong or all_well(first, job.start(1, **({"KEDGE_JOB_SECRET": SECRET} if "KEDGE_JOB_SECRET" in variables else {})))
    return trial


def with_connections(*sayings):
    def trial(job):
        first = job.start(0)
        for saying in sayings:
            job.say(saying)
        return all_well(first, job.start(1))
    return trial


def in_order(order, delay, size):
    def trial(job):
        job.size = size
        ranks = []
        for rank in order:
            ranks.append(job.start(rank))
            time.sleep(delay)
        return all_well(*ranks)
    return trial


def stopped(rank, before, seconds):
    def trial(job):
        ranks = {rank: job.start(rank)}
        time.sleep(before)
        ranks[rank].send_signal(signal.SIGSTOP)
        ranks[1 - rank] = job.start(1 - rank)
        time.sleep(seconds)
        ranks[rank].send_signal(signal.SIGCONT)
        return all_well(*ranks.values())
    return trial


def twice(job):
    job.size = 3
    first, second, again = job.start(0), job.start(1), job.start(1)
    wrong = refused(first, "two processes say that they are rank 1 of 3 (RANK)", 30)
    ended(second), ended(again)
    return wrong


def taken_ports(job):
    holders = []
    for port in range(job.port, job.port + 3):
        holders.append(socket.create_server(("127.0.0.1", port)))
    wrong = all_well(job.start(0), job.start(1))
    for holder in holders:
        holder.close()
    return wrong


MEETINGS = {
    **{f"ranks {order} {delay} s apart": in_order(order, delay, len(order))
       for order in ((0, 1), (1, 0), (2, 1, 0), (1, 2, 0), (3, 0, 2, 1)) for delay in (0, 0.3, 1)},
    **{f"rank {rank} stopped after {before} s for {seconds} s": stopped(rank, before, seconds)
       for rank in (0, 1) for before, seconds in ((0.05, 2.5), (0.5, 2.5))},
    "two silent connections": with_connections(b"", b""),
    "an HTTP request": with_connections(b"GET / HTTP/1.0\r\n\r\n"),
    "half a hello": with_connections(b"kedge 3\0" + b"\1" * 30),
    "a hello of noise": with_connections(bytes(range(256)) * 4),
    "a hello of an earlier version": with_connections(b"kedge 2\0" + b"\0" * 32),
    "forty connections": with_connections(*[b"", b"x", b"kedge 3\0", b"\xff" * 200] * 10),
    "three ports taken": taken_ports,
    "two processes of one rank": twice,
    "another WORLD_SIZE": stranger("another number of ranks (WORLD_SIZE)", WORLD_SIZE=3),
    "another run": stranger("ranks of another job", TORCHELASTIC_RUN_ID="another"),
    "another secret": stranger("another secret, or one of both has none", KEDGE_JOB_SECRET="another secret of the same job"),
    "no secret": stranger("another secret, or one of both has none", KEDGE_JOB_SECRET=None),
}


def meeting(command, name):
    job, begin = Job(command, 2), time.monotonic()
    try:
        return MEETINGS[name](job), time.monotonic() - begin
    finally:
        job.end()


def main():
    at = sys.argv.index("--")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--deaths", type=int, default=48)
    parser.add_argument("--meetings", type=int, default=len(MEETINGS))
    parser.add_argument("--side", type=int, default=4)
    given, command = parser.parse_args(sys.argv[1:at]), sys.argv[at + 1:]
    delays = [0.0, 0.01, 0.03, 0.06, 0.1, 0.2, 0.5, 1.5]
    deaths = [(number, rank, delay) for delay in delays for rank in range(3) for number in (signal.SIGKILL, signal.SIGSTOP)][:given.deaths]
    findings = 0
    with concurrent.futures.ThreadPoolExecutor(given.side) as pool:
        trials = [(f"{number.name} of rank {rank} after {delay} s", pool.submit(death, command, number, rank, delay)) for number, rank, delay in deaths]
        trials += [(name, pool.submit(meeting, command, name)) for name in list(MEETINGS)[:given.meetings]]
        longest = {"deaths": 0.0, "meetings": 0.0}
        for count, (name, trial) in enumerate(trials):
            wrong, seconds = trial.result()
            kind = "deaths" if count < len(deaths) else "meetings"
            longest[kind] = max(longest[kind], seconds)
            if wrong:
                findings += 1
                print(f"{name}: {wrong}", flush=True)
    print(f"{len(deaths)} early deaths, longest {longest['deaths']:.1f} s; {min(given.meetings, len(MEETINGS))} meetings, longest "
          f"{longest['meetings']:.1f} s; {findings} findings")
    sys.exit(findings != 0)


if __name__ == "__main__":
    main()
