"""``python -m tests.campaign``: seeded bad inputs and what became of them. Not among the tests that run by default."""

import argparse
import logging
import os
import tempfile
import warnings
from pathlib import Path

import numpy as np

from tests.campaign import (
    caches,
    disks,
    kills,
    methods,
    models,
    parameters,
    pictures,
    requests,
    results,
    tables,
    trees,
    vectors,
)
from tests.campaign.outcome import Ledger, table

#: The exit code of a campaign that was stopped by --seconds.
UNFINISHED = 75

#: By group: what makes one attempt from a generator of random numbers, and for how many of 1,000 inputs or a few more.
GROUPS = {
    "loaders": {
        pictures.whole_image: 50,
        pictures.damaged_image: 40,
        pictures.deep_image: 10,
        pictures.strange_file: 20,
        tables.class_table: 80,
        tables.own_folder: 40,
        tables.new_images: 30,
        trees.benchmark_tree: 80,
        trees.wordnet: 20,
        trees.candidate_list: 10,
        vectors.feature_npz: 40,
        vectors.feature_parquet: 40,
        vectors.feature_mat: 20,
        vectors.word_vectors: 40,
        vectors.spacy_vectors: 10,
    },
    "caches": {
        caches.vector_store: 30,
        caches.selection_table: 20,
        caches.checkpoint: 10,
        caches.problem_file: 20,
        results.result_file: 40,
        results.repeat_file: 10,
    },
    "parameters": {
        parameters.parameter_in_a_file: 70,
        parameters.parameter_on_the_command_line: 40,
        parameters.name_read_by_files: 10,
    },
    "models": {models.model_file: 50, models.classifier_file: 20},
    "requests": {requests.request: 50, requests.served_request: 30, requests.page_request: 20},
    "methods": {methods.method_fit: 150, methods.method_query: 80, methods.method_parameters: 60},
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=10_000, help="inputs in all, where all groups are asked for")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--only", default=",".join(GROUPS), help=f"of {', '.join(GROUPS)}; or one kind of input by name"
    )
    parser.add_argument(
        "--kills", type=int, help="kill every kind of run so many times instead; --only takes their names"
    )
    parser.add_argument("--full", type=int, help="fill the disk at so many moments of every kind of run instead")
    parser.add_argument("--tabs", type=int, help="steps of tabs and browsers on the page, interleaved, instead")
    parser.add_argument("--input", type=int, help="only the input of this number, with its traceback")
    parser.add_argument("--state", type=Path, help="a file that keeps what was tried: type the same again to go on")
    parser.add_argument("--seconds", type=float, help="stop after so many, between two attempts")
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    os.environ["TQDM_DISABLE"] = "1"
    if options.tabs:
        return interleave(options.tabs, options.seed)
    wanted = options.only.split(",")
    names = [name for name in kills.KINDS if name in wanted or options.only == parser.get_default("only")]
    ledger = Ledger(options.state, options.seconds)
    if options.kills:
        return report(kills.kill_all(names, options.kills, options.seed, ledger), ledger)
    if options.full:
        return report(disks.fill_all([name for name in names if name != "page"], options.full, ledger), ledger)
    kinds = {
        make: options.n * share // 1000 + 1
        for group, shares in GROUPS.items()
        for make, share in shares.items()
        if group in wanted or make.__name__ in wanted
    }
    if options.input is not None:
        return print(*(make(generator(make, options.seed, options.input)) for make in kinds))
    return report([try_all(make, n, options.seed, ledger) for make, n in kinds.items()], ledger)


def interleave(steps, seed):
    """So many steps of two browsers with two tabs each on the page; a failure is raised, made as short as it can be."""
    from hypothesis import HealthCheck, Phase, settings
    from hypothesis import seed as seeded
    from hypothesis.stateful import run_state_machine_as_test

    from tests.helpers.colours import make_place
    from tests.helpers.tabs import Tabs

    Tabs.place = make_place(Path(tempfile.mkdtemp()))
    options = {"max_examples": steps // 40 + 1, "stateful_step_count": 50, "deadline": None, "database": None}
    options |= {"phases": [Phase.generate, Phase.shrink], "suppress_health_check": list(HealthCheck)}
    run_state_machine_as_test(seeded(seed)(Tabs), settings=settings(**options))
    print("nothing mixed, nothing lost:", ", ".join(f"{n:,} {what}" for what, n in sorted(Tabs.counts.items())))


def report(tallies, ledger):
    """Print the table and what was not taken well; whether there was any such thing, or something is left to try."""
    print(table(tallies))
    for note in (note for tally in tallies for note in tally.notes[:20]):
        print(note)
    if ledger.is_stopped:
        print("not all was tried: type the same again")
        return UNFINISHED
    return any(tally.notes for tally in tallies)


def generator(make, seed, number):
    """Random numbers of one input: it is the same in every run, however many are tried."""
    return np.random.default_rng((seed, int.from_bytes(make.__name__.encode(), "big") % 2**32, number))


def try_all(make, n, seed, ledger):
    """The tally of ``n`` inputs of one kind."""
    tally = ledger.tally(make.__name__)
    for number in ledger.attempts(tally, n):
        rng = generator(make, seed, number)
        tally.take(number, lambda rng=rng: make(rng))
    return tally


if __name__ == "__main__":
    raise SystemExit(main())
