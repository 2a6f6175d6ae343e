"""DAEZSL: a training step against the literal loss, an epoch of ImageNet, and ranking among 20,842 classes.

``python -m tests.benchmarks.bench_daezsl [step] [epoch] [rank]``, all three by default. Every measurement has a process
of its own; memory is the peak beyond what it held before, time is processor time, so that other work on the machine
does not count (with several threads it is the sum over them).
"""

import multiprocessing
import resource
import sys
import time

import numpy as np
import torch

from aezsl.evaluation.ranking import top_k_products
from aezsl.methods.daezsl.network import AdaptiveNetwork, adaptive_loss
from tests.oracles.daezsl import daezsl_loss

D, A, B = 1024, 500, 128
#: Classes, up to the paper's. At 1000 every copy of (B, C, d) or (B, C, C) takes the literal step 0.5 GB.
SIZES = (50, 100, 200, 400, 1000)
N_IMAGENET = 1_281_167


def peak_memory():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def step(kind, C, send, repeat):
    """Seconds and megabytes of forward and backward of one batch, through masks, mapping and MLP."""
    torch.manual_seed(0)
    loss = {"fast": adaptive_loss, "literal": daezsl_loss}[kind]
    network = AdaptiveNetwork(D, A, (D + A) // 2, torch.Generator().manual_seed(0))
    X = torch.nn.functional.normalize(torch.randn(B, D))
    S = torch.nn.functional.normalize(torch.randn(C, A))
    y = torch.randint(C, (B,))
    optimizer = torch.optim.Adagrad(network.parameters(), lr=0.001)
    generator = torch.Generator().manual_seed(0)
    before, times = peak_memory(), []
    for _ in range(repeat):
        start = time.process_time()
        optimizer.zero_grad()
        loss(X, y, network.W, S, network.masks(S, 0.5, generator), 0.5).backward()
        optimizer.step()
        times.append(time.process_time() - start)
    send.send((min(times), peak_memory() - before))


def measure(target, *arguments):
    """In a process of its own, so that one peak does not hide another."""
    context = multiprocessing.get_context("spawn")
    receive, send = context.Pipe(duplex=False)
    process = context.Process(target=target, args=(*arguments[:2], send, *arguments[2:]))
    process.start()
    send.close()
    try:
        result = receive.recv()
    except EOFError:
        result = None  # out of memory
    process.join()
    return result


def work(C):
    """Multiplications of the literal step, up to a factor: (B C, d) by W, and (B C, a) by S'."""
    return B * C * D * A + B * C * C * A


def room(C):
    """Numbers that the literal step keeps for the way back, up to a factor."""
    return B * C * (2 * D + A + 3 * C)


def available_mb():
    with open("/proc/meminfo") as file:
        return int(next(line for line in file if line.startswith("MemAvailable")).split()[1]) / 1e3


def bench_step():
    """Both measured as far as the literal step fits in memory, and counted on from there."""
    print(f"one step, B = {B}, d = {D}, a = {A}; {torch.get_num_threads()} threads")
    print("     C   literal s  literal MB    fast s   fast MB   faster  smaller")
    last = None
    for C in SIZES:
        mark, slow = " ", None
        if last is None or last[1][1] * room(C) / room(last[0]) < 0.6 * available_mb():
            slow = measure(step, "literal", C, 2)
        if slow is None:
            mark, (known, (seconds, megabytes)) = "*", last
            slow = seconds * work(C) / work(known), megabytes * room(C) / room(known)
        else:
            last = C, slow
        fast = measure(step, "fast", C, 5)
        print(
            f"{C:6d} {slow[0]:10.3f}{mark} {slow[1]:10.0f}{mark} {fast[0]:9.3f} {fast[1]:9.0f} "
            f"{slow[0] / fast[0]:8.1f} {slow[1] / fast[1]:8.1f}",
            flush=True,
        )
    print(f"* would not fit in memory: counted on from C = {last[0]}" if mark == "*" else "all measured")


def bench_epoch():
    seconds, megabytes = measure(step, "fast", 1000, 5)
    steps = -(-N_IMAGENET // B)
    print(
        f"an epoch of {N_IMAGENET} stored features, 1000 classes: {steps} steps of {seconds:.3f} s "
        f"= {steps * seconds / 3600:.2f} h, {megabytes:.0f} MB beside the data"
    )


def ranking(n, C, send, d=1280, k=20):
    rng = np.random.default_rng(0)
    X, P = (rng.standard_normal(shape, dtype=np.float32) for shape in ((n, d), (d, C)))
    before, start = peak_memory(), time.process_time()
    top_k_products(X, P, k)
    send.send((time.process_time() - start, peak_memory() - before))


def bench_rank():
    for n, C in ((10_000, 1549), (10_000, 20_842), (20_000, 20_842)):
        seconds, megabytes = measure(ranking, n, C)
        print(
            f"20 best of {C} classes for {n} images, d = 1280: {seconds:.1f} s, {megabytes:.0f} MB beside features and "
            f"classifiers; all scores would take {4e-6 * n * C:.0f} MB"
        )


if __name__ == "__main__":
    wanted = sys.argv[1:] or ["step", "epoch", "rank"]
    for name in wanted:
        {"step": bench_step, "epoch": bench_epoch, "rank": bench_rank}[name]()
