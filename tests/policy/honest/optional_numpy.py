try:
    import numpy as np
except ImportError:
    np = None


def mean(values):
    if np is not None:
        return float(np.mean(values))
    return sum(values) / len(values)


mean([1, 2, 3, 4])
