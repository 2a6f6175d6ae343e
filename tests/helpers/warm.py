"""``python -m kedro`` many times over, with the large libraries imported once.

A command spends most of its start-up on importing mlflow, scikit-learn, matplotlib and torch. This process imports them
and forks for every command, so that the tests' many commands share the cost. Kedro and the project itself are imported
by each command, as ever, in its own folder.
"""

import contextlib
import importlib
import json
import os
import runpy
import signal
import socket
import sys
import threading
import time

LIBRARIES = (
    "alembic.migration",
    "dynaconf",
    "git",
    "h5py",
    "IPython",
    "matplotlib.pyplot",
    "mlflow.pyfunc",
    "mlflow.store.tracking.sqlalchemy_store",
    "omegaconf",
    "pandas",
    "pyarrow.parquet",
    "scipy.stats",
    "sklearn.base",
    "torch",
)


def become(job):
    """Turn into the command: its folder, its output, its arguments."""
    signal.alarm(job["timeout"])
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell lets what it starts in the background ignore it
    os.chdir(job["folder"])
    for number, path, flags in (
        (0, os.devnull, os.O_RDONLY),
        (1, job["stdout"], os.O_WRONLY),
        (2, job["stderr"], os.O_WRONLY),
    ):
        os.dup2(os.open(path, flags), number)
    sys.path.insert(0, job["folder"])
    if "full_from" in job or job["arguments"][0] == "app":
        sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    if "full_from" in job:
        from tests.campaign.disks import refuse_writes

        refuse_writes(job["folder"], job["full_from"], os.open(job["count"], os.O_WRONLY))
    program, *arguments = job["arguments"]
    if program == "aezsl":
        sys.argv = [program, *arguments]
        from aezsl.console import main

        return main()
    sys.argv = ["kedro", program, *arguments]
    if program == "app":  # nobody looks at the page but who teaches it
        sys.argv.append(f"--port={free_port()}")
        from tests.campaign.kills import teach

        threading.Thread(target=teach, daemon=True).start()
    return runpy.run_module("kedro", run_name="__main__", alter_sys=True)


def free_port():
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until_used(child, seconds):
    """Until a process has had so many seconds of the processor, however busy that is, or has ended."""
    ticks = seconds * os.sysconf("SC_CLK_TCK")
    while True:
        with open(f"/proc/{child}/stat") as file:  # it stays there as long as nobody asks how it ended
            state, *fields = file.read().rpartition(")")[2].split()
        if state == "Z" or sum(map(int, fields[10:14])) >= ticks:
            return
        time.sleep(0.01)


def serve():
    """Answer every line of standard input, a job, with its exit code and seconds of the processor.

    A job may say after how many of them it is killed, and how.
    """
    for name in LIBRARIES:
        with contextlib.suppress(ImportError):  # a command that needs it will say so
            importlib.import_module(name)
    for line in sys.stdin:
        job = json.loads(line)
        child = os.fork()
        if child == 0:
            return become(job)
        if job.get("signal"):
            time.sleep(job["after"]) if job["clock"] else wait_until_used(child, job["after"])
            os.kill(child, job["signal"])
        _, status, used = os.wait4(child, 0)
        print(os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, flush=True)
    return None


if __name__ == "__main__":
    serve()
