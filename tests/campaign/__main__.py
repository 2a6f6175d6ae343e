"""``python -m tests.campaign``: seeded bad inputs and what became of them. Not among the tests that run by default."""

import argparse
import logging
import os
import warnings

import numpy as np

from aezsl.errors import AezslError
from tests.campaign import generators, parameters
from tests.campaign.outcome import Tally, table

#: By group: kinds of input, and the errors that are a sentence of ours. Methods speak as scikit-learn does.
GROUPS = {
    "loaders": ("image", "deep_image", "class_table", "feature_file"),
    "parameters": ("parameter",),
    "models": ("model_file",),
    "requests": ("request",),
    "methods": ("method",),
}
REFUSALS = {"method": (ValueError,)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=200, help="inputs of every kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default=",".join(GROUPS), help=f"of {', '.join(GROUPS)}")
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    os.environ["TQDM_DISABLE"] = "1"
    tallies = []
    for group in options.only.split(","):
        for number, kind in enumerate(GROUPS[group]):
            tally = Tally(kind)
            for i in range(options.n):
                rng = np.random.default_rng((options.seed, number, i))
                make = getattr(parameters if group == "parameters" else generators, kind)
                tally.take(i, lambda make=make, rng=rng: make(rng), REFUSALS.get(kind, (AezslError,)))
            tallies.append(tally)
    print(table(tallies))
    for note in (note for tally in tallies for note in tally.notes[:5]):
        print(note)


if __name__ == "__main__":
    main()
