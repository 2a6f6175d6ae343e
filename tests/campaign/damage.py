"""Ways to spoil bytes, texts and values."""

import math

import numpy as np


def damaged(data, rng):
    """Bytes overwritten, cut off, doubled, taken out, set to nothing, or put in front: never as they were."""
    spoilt = bytearray(data)
    for _ in range(rng.integers(1, 6)):
        if not spoilt:
            break
        at, length = int(rng.integers(len(spoilt))), int(rng.integers(1, 40))
        match rng.integers(7):
            case 0:
                spoilt[at] = rng.integers(256)
            case 1:
                spoilt = spoilt[:at]
            case 2:
                spoilt[at:at] = spoilt[at : at + length]
            case 3:
                del spoilt[at : at + length]
            case 4:
                spoilt[at : at + length] = bytes(len(spoilt[at : at + length]))
            case 5:
                spoilt[:0] = rng.bytes(length)
            case _:
                spoilt[at : at + length] = rng.bytes(length)
    return bytes(spoilt) if spoilt != data else bytes(spoilt[:-1])


#: Values that somebody may type, or a program write, where a number or a word was expected.
ODD = (
    *(None, True, False, 0, -1, 1, 2, 3, 10**9, 10**400, 0.5, 1.0, 2.5, -0.0, 1e-320, 1e300, math.inf, -math.inf),
    *(math.nan, "", " ", "a", "0.1", "1e-3", "null", "true", "no", "../../x", "a\0b", "$\\frac$", "=1+1", "é" * 300),
    *([], [1], ["a"], [None], [[1]], {}, {"a": 1}, {"a": {"b": []}}, (), b"x", 1j),
)


#: Those of them that a file of configuration, a command line or JSON can hold.
PLAIN = tuple(value for value in ODD if not isinstance(value, complex | bytes | tuple))


def odd_value(rng):
    """Anything."""
    return ODD[rng.integers(len(ODD))]


def plain_value(rng):
    """What can be written down."""
    return PLAIN[rng.integers(len(PLAIN))]


def misspelt(name, rng):
    """Two letters changed places, or one is gone, doubled, or of another case."""
    at = int(rng.integers(max(1, len(name) - 1)))
    match rng.integers(4):
        case 0:
            return name[:at] + name[at + 1 : at + 2] + name[at : at + 1] + name[at + 2 :]
        case 1:
            return name[:at] + name[at + 1 :]
        case 2:
            return name[:at] + name[at : at + 1] + name[at:]
        case _:
            return name[:at] + name[at].swapcase() + name[at + 1 :]


def pick(rng, options):
    """One of them, each as likely."""
    options = list(options)
    return options[int(rng.integers(len(options)))]


def same_numbers(found, expected, tolerance=1e-6):
    """Whether two arrays agree, in their shape too."""
    found, expected = np.asarray(found, dtype=np.float64), np.asarray(expected, dtype=np.float64)
    return found.shape == expected.shape and bool(np.allclose(found, expected, rtol=tolerance, atol=1e-9))
