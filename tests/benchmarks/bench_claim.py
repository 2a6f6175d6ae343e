"""Where category-specific mappings gain: against one mapping, by the number of seen classes, beside what else does.

``python -m tests.benchmarks.bench_claim [emoji=<problem.npz>] [imagenet] [photos] [--draws 5] [--figure claim.png]``

Beside each other: one linear mapping (ESZSL), category-specific ones (ESZSL with the weights cos^2, which is AEZSL_sim
with gamma and lambda2 = gamma lambda1), AEZSL_sim as the paper has it, and one non-linear mapping: ESZSL with the
kernel ((1 + cos) / 2)^8 on the semantics. Every draw has seen classes of its own. Parameters are chosen for each on a
fifth of them, which play unseen. The problem file is one that a run left in ``data/05_model_input``; ``imagenet``
(photos of 1,000 classes, tested on 50 others) and ``photos`` (the classifiers of a network instead of photos) read
``$AEZSL_REFERENCE_DATA``. Per-class accuracy in per cent.
"""

import argparse
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from aezsl.arrays import unit_rows
from aezsl.data.normalise import fit_normaliser
from aezsl.datasets.models import ProblemDataset
from aezsl.evaluation.intervals import paired_interval
from aezsl.evaluation.metrics import per_class_accuracy
from aezsl.methods.adaptive import AdaptiveESZSL
from aezsl.methods.aezsl.aezsl import AEZSLSim
from aezsl.methods.core.classifiers import LinearClassifier
from aezsl.methods.eszsl import ESZSL
from aezsl.methods.heads import union
from aezsl.methods.heads.methods import HeadMapping
from aezsl.reporting.figures import BLUE, GREEN, ORANGE, RED, line_figure
from aezsl.selection import cross_validate, grid_points

GAMMA, LAM = [0.1, 1.0, 10.0], [0.01, 0.1, 1.0, 10.0, 100.0]
FIRST = "one linear mapping"


def local_kernel(A, S):
    """((1 + cos) / 2)^8: classes that point away from each other have next to nothing to do with each other."""
    return ((1 + unit_rows(A) @ unit_rows(S).T) / 2) ** 8


def kernel_coefficients(A, S, lam):
    """The ridge classifiers of the seen classes combined by kernel ridge regression (Cs, C), one mapping for all."""
    return np.linalg.solve(local_kernel(S, S) + lam * np.eye(len(S)), local_kernel(A, S).T)


class KernelESZSL(AdaptiveESZSL):
    """ESZSL with a local kernel on the semantics in place of their inner products."""

    def _adapt(self, targets):
        k = kernel_coefficients(targets.S, self.S_, self.lam)
        return LinearClassifier(self, targets.S, self.seen_classifiers_ @ k)


class KernelHeads(HeadMapping):
    """The same on the classifiers of a network."""

    def _mapped(self, A):
        S, A = union.centred(self.seen_.S, A)
        return union.combined(kernel_coefficients(A, S, self.lam), self.seen_.rows, self.seen_.biases)


METHODS = {
    FIRST: (ESZSL(), {"gamma": GAMMA, "lam": LAM}),
    "category-specific": (AdaptiveESZSL(), {"gamma": GAMMA, "lam": LAM}),
    "AEZSL_sim": (AEZSLSim(), {"lambda1": [0.01, 0.1, 1.0], "lambda2": [0.1, 1.0, 10.0]}),
    "one mapping, local kernel": (KernelESZSL(), {"gamma": GAMMA, "lam": [0.001, 0.01, 0.1, 1.0]}),
}
RIDGES = [0.1, 0.3, 1.0, 3.0, 10.0]
HEADS = {
    FIRST: (HeadMapping(weighting="none", similar=1000), RIDGES),
    "category-specific": (HeadMapping(similar=1000), RIDGES),
    "one mapping, local kernel": (KernelHeads(), [0.01, 0.03, 0.1, 0.3, 1.0]),
}


class Images:
    """Images of many classes; ``outside``: how many of the last classes are always the unseen ones."""

    def __init__(self, X, y, S, n_unseen, outside=False):
        self.X, self.y, self.S, self.n_unseen, self.outside = X, y, S, n_unseen, outside
        self.most = len(S) - n_unseen

    @classmethod
    def of_problem(cls, path):
        problem = ProblemDataset(filepath=path).load()
        problem = problem.normalised(problem.normalisations[0])
        X, S = (np.vstack(parts) for parts in ((problem.X_train, problem.X_test), (problem.S_seen, problem.S_unseen)))
        y = np.concatenate([problem.y_train, problem.y_test + len(problem.S_seen)])
        return cls(X, y, S if problem.given is None else problem.given, len(problem.S_unseen))

    @classmethod
    def imagenet(cls):
        from tests.benchmarks.photo_tasks import data_folder, imagenet_classes, imagenet_photos

        X, y, X_out, wnid = imagenet_photos()
        outside, y_out = np.unique(wnid, return_inverse=True)
        normaliser, rows = fit_normaliser(["sqrt", "centre", "l2"], X)
        with np.load(data_folder() / "imagenet/class_vectors_minilm.npz") as file:
            vectors = dict(zip(file["wnid"].tolist(), file["vectors"].astype(np.float64), strict=True))
        S = unit_rows(np.array([vectors[name] for name in [*imagenet_classes(), *outside]]))
        return cls(np.vstack([rows, normaliser(X_out)]), np.concatenate([y, 1000 + y_out]), S, len(outside), True)

    def draw(self, n_seen, seed):
        """Accuracy of every method on a draw."""
        rng, C = np.random.default_rng(seed), len(self.S)
        order = np.arange(C)
        order[: self.most if self.outside else C] = rng.permutation(self.most if self.outside else C)
        seen, unseen = np.sort(order[:n_seen]), order[self.most :]
        data, (X_new, y_new) = (*self._of(seen), self.S[seen]), self._of(unseen)
        fold = np.sort(rng.permutation(n_seen)[: max(2, n_seen // 5)])
        found = {}
        for name, (method, grid) in METHODS.items():
            table = cross_validate(method, *data, [fold], grid)
            model = type(method)(**grid_points(grid)[int(table["mean"].idxmax())]).fit(*data)
            found[name] = 100 * per_class_accuracy(y_new, model.predict(X_new, self.S[unseen]))
        return found

    def _of(self, classes):
        place = np.full(len(self.S), -1)
        place[classes] = np.arange(len(classes))
        rows = place[self.y] >= 0
        return self.X[rows], place[self.y[rows]]


class Photos:
    """The classifiers of a network as seen classes; validated and tested on photos."""

    most, outside = 1000, True

    def __init__(self):
        from aezsl.encoders.knowledge import label_vectors, load_knowledge
        from aezsl.encoders.knowledge.named import imagenet_classes, wordnet
        from tests.benchmarks.photo_tasks import imagenet_photos

        self.known = load_knowledge()
        self.X, self.y, self.X_new, wnid = imagenet_photos()
        names, self.y_new = np.unique(wnid, return_inverse=True)
        labels = [[wordnet()[name].names[0] for name in part] for part in (imagenet_classes(), names)]
        self.A, self.A_new = (label_vectors(part).astype(np.float64) for part in labels)

    def draw(self, n_seen, seed):
        """As of images."""
        order = np.random.default_rng(seed).permutation(self.most)[:n_seen]
        held_out = order[: max(2, n_seen // 5)]
        kept, learnt = np.zeros((2, self.most), dtype=bool)
        kept[order] = learnt[order] = True
        learnt[held_out] = False
        rows = np.isin(self.y, held_out)
        true = np.searchsorted(np.sort(held_out), self.y[rows])
        found = {}
        for name, (method, ridges) in HEADS.items():
            own = type(method)(**method.get_params())

            def accuracy(lam, known, X, y, A, own=own):
                return per_class_accuracy(y, own.set_params(lam=lam).fit(known).predict(X, A))

            val = self.known.subset(learnt), self.X[rows], true, self.A[np.sort(held_out)]
            lam = max(ridges, key=lambda lam: accuracy(lam, *val))
            found[name] = 100 * accuracy(lam, self.known.subset(kept), self.X_new, self.y_new, self.A_new)
        return found


def measure(name, source, n_draws, sizes, kept):
    """One row per size, draw and method; ``kept`` holds those of an earlier call."""
    rows = []
    for n in [n for n in sizes if n < source.most] + [source.most] * (sizes[-1] >= source.most):
        for seed in range(1 if n == source.most and source.outside else n_draws):  # of all there is one draw
            known = kept[(kept["data"] == name) & (kept["seen"] == n) & (kept["draw"] == seed)]
            found = dict(zip(known["method"], known["accuracy"], strict=True)) or source.draw(n, seed)
            rows += [{"data": name, "seen": n, "draw": seed, "method": m, "accuracy": v} for m, v in found.items()]
            yield pd.DataFrame(rows)


def summarise(draws):
    """One row per size and method: mean, and difference to one linear mapping with its 95% interval over draws."""
    rows = []
    for (name, n), own in draws.groupby(["data", "seen"], sort=False):
        values = own.pivot_table("accuracy", index="draw", columns="method", sort=False)
        for method in values:
            gain = (values[method] - values[FIRST]).to_numpy()
            low, high = paired_interval(gain) if method != FIRST else (np.nan, np.nan)
            line = {"mean": values[method].mean(), "gain": gain.mean(), "low": low, "high": high, "draws": len(gain)}
            rows.append({"data": name, "seen": n, "method": method, **line})
    return pd.DataFrame(rows)


def draw_figure(table, path):
    """A panel per data set: gain over one linear mapping by the number of seen classes."""
    from matplotlib.ticker import ScalarFormatter

    figure, axes = line_figure("", "", "")
    figure.clear()
    names = list(dict.fromkeys(table["data"]))
    figure.set_size_inches(4 * len(names), 3.6)
    colours = dict(zip(METHODS, (BLUE, ORANGE, RED, GREEN), strict=True))
    for place, name in enumerate(names):
        axes = figure.add_subplot(1, len(names), place + 1)
        for method, own in table[table["data"] == name].groupby("method", sort=False):
            if method != FIRST:
                ends = np.nan_to_num([own["gain"] - own["low"], own["high"] - own["gain"]])
                style = {"color": colours[method], "marker": "o", "capsize": 3, "label": method}
                axes.errorbar(own["seen"], own["gain"], ends, **style)
        axes.axhline(0, color=BLUE, linestyle="--", linewidth=1, label=FIRST)
        axes.set(xscale="log", title=name, xlabel="seen classes", ylabel="points" if place == 0 else "")
        axes.set_xticks(sorted(set(table.loc[table["data"] == name, "seen"])))
        axes.get_xaxis().set_major_formatter(ScalarFormatter())
        axes.minorticks_off()
        axes.grid(alpha=0.4)
    most = max((one.get_legend_handles_labels() for one in figure.axes), key=lambda found: len(found[1]))
    figure.legend(*most, frameon=False, fontsize="small", loc="outside lower center", ncols=2)
    figure.savefig(path, dpi=110)


@cache
def _smallest():
    from tests.synthetic import make_synthetic

    data = make_synthetic(n_seen=12, n_unseen=4, per_class=4)
    return Images(
        np.vstack([data.X, data.X_new]), np.concatenate([data.y, 12 + data.y_new]), np.vstack([data.S, data.S_new]), 4
    )


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="+", help="<name>=<problem.npz>, imagenet, photos or smallest")
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--sizes", type=int, nargs="+", default=[50, 100, 200, 400, 1000])
    parser.add_argument("--csv", type=Path, help="keeps every draw, so that a second call goes on where one ended")
    parser.add_argument("--figure")
    options = parser.parse_args(arguments)
    makers = {"imagenet": Images.imagenet, "photos": Photos, "smallest": _smallest}
    kept = pd.DataFrame(columns=["data", "seen", "draw", "method", "accuracy"])
    if options.csv and options.csv.exists():
        kept = pd.read_csv(options.csv)
    tables = []
    for data in options.data:
        name, _, path = data.partition("=")
        others, table = kept[kept["data"] != name], kept[kept["data"] == name]
        if path != "kept":
            source = Images.of_problem(path) if path else makers[name]()
            for table in measure(name, source, options.draws, options.sizes, kept):
                if options.csv:
                    pd.concat([others, table]).to_csv(options.csv, index=False)
        tables.append(table)
        kept = pd.concat([others, table])
    summary = summarise(pd.concat(tables))
    print(summary.round(1).to_string(index=False))
    if options.figure:
        draw_figure(summary, options.figure)
    return summary


if __name__ == "__main__":
    main()
