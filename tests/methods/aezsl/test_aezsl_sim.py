import numpy as np
import pytest

from aezsl.errors import AezslError
from aezsl.methods.aezsl.aezsl import AEZSL, AEZSLSim
from tests.methods.core.contract import MethodContract
from tests.oracles.aezsl import cosines, single_mapping
from tests.synthetic import make_synthetic


class TestAEZSLSim(MethodContract):
    method = "aezsl_sim"
    params = {"lambda1": 0.1, "lambda2": 0.1}


def test_every_target_is_its_own_weighted_regression():
    data = make_synthetic(n_seen=7, n_unseen=3, per_class=4, d=6, a=4, nonnegative=False)
    model = AEZSLSim(0.1, 0.2).fit(*data[:3])
    for s, W in zip(cosines(data.S_new, data.S), model.adapt(data.S_new).mappings(), strict=True):
        np.testing.assert_allclose(W, single_mapping(*data[:3], s, 0.1, 0.2), rtol=1e-8, atol=1e-12)


def test_targets_one_at_a_time_give_the_same_answer():
    data = make_synthetic()
    model = AEZSLSim(0.1, 0.2).fit(*data[:3])
    P = model.classifiers(data.S_new)
    alone = np.hstack([model.classifiers(data.S_new[c : c + 1]) for c in range(len(data.S_new))])
    np.testing.assert_allclose(alone, P, rtol=1e-9, atol=1e-12)


def test_is_aezsl_without_ties():
    data = make_synthetic()
    P = AEZSLSim(0.1, 0.2).fit(*data[:3]).classifiers(data.S_new)
    np.testing.assert_array_equal(P, AEZSL(0.1, 0.2, 0.0).fit(*data[:3]).classifiers(data.S_new))
    assert "lambda3" not in AEZSLSim().get_params()


def test_lambda2_must_be_positive():
    with pytest.raises(AezslError):
        AEZSLSim(lambda2=0.0).fit(*make_synthetic()[:3])
