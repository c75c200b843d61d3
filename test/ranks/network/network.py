"""Two ranks, each in a network namespace of its own, and strangers in that of the second: network.py PROGRAM DATA FOLDER.

The namespaces are those of two processes that sleep, joined by a pair of virtual devices."""
import os
import pathlib
import subprocess
import sys
import time

program, data, folder = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
PORT, HOSTS = "29517", ["10.77.0.1", "10.77.0.2"]
SECRET = "the secret of this job alone"


def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


class Machines:
    def __enter__(self):
        self.sleepers = [subprocess.Popen(["unshare", "--net", "sleep", "1000"]) for _ in HOSTS]
        time.sleep(0.3)
        names = [f"kedge{os.getpid()}{end}" for end in "ab"]
        output_of("ip", "link", "add", names[0], "type", "veth", "peer", "name", names[1])
        for name, sleeper, host in zip(names, self.sleepers, HOSTS):
            output_of("ip", "link", "set", name, "netns", str(sleeper.pid))
            for words in (["addr", "add", f"{host}/24", "dev", name], ["link", "set", name, "up"], ["link", "set", "lo", "up"]):
                output_of("nsenter", "-n", "-t", str(sleeper.pid), "ip", *words)
        return self

    def __exit__(self, *_):
        for sleeper in self.sleepers:
            sleeper.kill()
            sleeper.wait()

    def inside(self, machine, *command):
        return ["nsenter", "-n", "-t", str(self.sleepers[machine].pid), *command]

    def start(self, machine, rank, secret, name):
        words = [word for kind in ("input", "labels") for word in ("--data", f"{kind}={data / kind}.npy")]
        words += ["--steps", "5", "--threads", "1", "--log", folder / f"{name}.jsonl"] if rank == 0 else ["--steps", "5", "--threads", "1", "--log",
                                                                                                   folder / f"{name}.jsonl"]
        variables = {"RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": "1", "MASTER_ADDR": HOSTS[0],
                     "MASTER_PORT": PORT, **({"KEDGE_JOB_SECRET": secret} if secret else {})}
        return subprocess.Popen([str(word) for word in self.inside(machine, program, *words)], env={**os.environ, **variables},
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def listening(self, machine):
        return [line.split()[3] for line in output_of(*self.inside(machine, "ss", "-Hltn")).splitlines()]


def end(job, code):
    said = job.communicate(timeout=60)[1]
    assert job.returncode == code, (job.returncode, said)
    return said


def steps(name):
    return (folder / f"{name}.jsonl").read_text().count("\n")


def await_listener(machines, machine):
    for _ in range(600):
        if found := machines.listening(machine):
            return found
        time.sleep(0.1)
    raise AssertionError("rank 0 does not listen")


with Machines() as machines:
    first = machines.start(0, 0, SECRET, "secret")
    await_listener(machines, 0)
    for other in ("another secret of the same job", None):
        stranger = machines.start(1, 1, other, "secret")
        begin = None
        said = end(stranger, 1)
        assert "it has another secret, or one of both has none (KEDGE_JOB_SECRET)" in said, said
    second = machines.start(1, 1, SECRET, "secret")
    end(first, 0), end(second, 0)
    assert steps("secret") == 5
    print("with a secret: 2 strangers refused, the job trained")

    first = machines.start(0, 0, None, "open")
    addresses = await_listener(machines, 0)
    assert all(address.startswith(HOSTS[0] + ":") for address in addresses), addresses
    second = machines.start(1, 1, None, "open")
    end(first, 0), end(second, 0)
    assert steps("open") == 5
    print("without a secret: trained, and nobody listened at another address")
