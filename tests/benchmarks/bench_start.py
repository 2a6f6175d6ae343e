"""Processor time of ``kedro run`` until its first node starts, beside that of importing what it stands on.

python -m tests.benchmarks.bench_start [pipeline] [n_runs]
"""

import statistics
import subprocess
import sys

#: Ends a run of Kedro where its first node would start, or once the node has its inputs, and says the processor time.
RUN = """
import os, sys, time
from importlib import import_module

def stop(*_):
    print(time.process_time())
    sys.stdout.flush()
    os._exit(0)

module, name, method = {where!r}
setattr(getattr(import_module(module), name), method, stop)
sys.argv = ["kedro", "run", "--pipeline={pipeline}"]
import_module("kedro.framework.cli.cli").main()
"""

#: What every run needs, whatever it does.
IMPORTS = """
import time
import kedro.framework.cli.cli, kedro_mlflow.framework.cli.cli, mlflow, mlflow.store.tracking.sqlalchemy_store
import pandas, sklearn.base
print(time.process_time())
"""


def processor_seconds(program, n_runs):
    answers = [
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
        for _ in range(n_runs)
    ]
    return statistics.median(float(answer.split()[-1]) for answer in answers)


def main(pipeline="aezsl_lr", n_runs="5"):
    imports = processor_seconds(IMPORTS, int(n_runs))
    print(f"importing Kedro, MLflow with its store, pandas and scikit-learn: {imports:.2f} s")
    for what, where in (
        ("until the first node starts", ("kedro.runner.task", "Task", "execute")),
        ("until it has its inputs", ("kedro.pipeline.node", "Node", "run")),
    ):
        seconds = processor_seconds(RUN.format(where=where, pipeline=pipeline), int(n_runs))
        print(f"kedro run --pipeline={pipeline} {what}: {seconds:.2f} s, {seconds / imports:.2f} times as much")


if __name__ == "__main__":
    main(*sys.argv[1:])
