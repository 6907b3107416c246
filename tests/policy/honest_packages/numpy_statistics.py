import numpy as np
from numpy import linalg
from numpy.random import default_rng

rng = default_rng(3)
samples = rng.normal(5, 2, size=(200, 3))
print(samples.shape, bool(abs(samples.mean() - 5) < 1), samples.std(axis=0).round(1).shape)
a = np.array([[2.0, 1.0], [1.0, 3.0]])
print(np.linalg.solve(a, np.array([1, 2])), linalg.det(a).round(3), (a @ a.T).tolist(), a[a > 1].sum())
x = np.linspace(0, 1, 5)
print(np.where(x > 0.5, 1, 0), np.cumsum(x), np.interp(0.3, x, x**2).round(4), x.dtype, np.unique([3, 1, 3]))
coefficients = np.polyfit([0, 1, 2], [1, 3, 7], 2)
print(np.round(np.polyval(coefficients, 3), 6), np.isnan(np.array([1, np.nan])).any(), np.einsum("ij,jk->ik", a, a)[0, 0])
