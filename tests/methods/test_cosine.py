import numpy as np
import pytest

from aezsl.errors import DataError
from aezsl.methods import make_method
from tests.methods.core.contract import PairedContract
from tests.synthetic import make_synthetic


class TestCosine(PairedContract):
    method = "cosine"
    floor = 0.6

    def test_scores_are_cosines(self, fitted, data):
        expected = [[x @ s / np.sqrt(x @ x) / np.sqrt(s @ s) for s in data.S_new] for x in 3 * data.X_new]
        np.testing.assert_allclose(fitted.decision_function(3 * data.X_new, data.S_new), expected)


@pytest.mark.parametrize("name", ["cosine", "transclip", "zlap"])
def test_spaces_of_unlike_width_are_refused_by_name(name):
    data = make_synthetic()
    with pytest.raises(DataError, match=r"\b24\b.*\b10\b"):
        make_method(name).fit(*data[:3])
