xs = [1, 2, 3, 4, 5]
ys = [2.1, 3.9, 6.2, 7.8, 10.1]


def fit(xs, ys):
    n = len(xs)
    mx, my = sum(xs) / n, sum(ys) / n
    sxy = sum((x - mx) * (y - my) for x, y in zip(xs, ys, strict=True))
    sxx = sum((x - mx) ** 2 for x in xs)
    slope = sxy / sxx
    intercept = my - slope * mx
    residuals = [y - (slope * x + intercept) for x, y in zip(xs, ys)]
    r2 = 1 - sum(r * r for r in residuals) / sum((y - my) ** 2 for y in ys)
    return slope, intercept, r2


slope, intercept, r2 = fit(xs, ys)
print(f"y = {slope:.3f}x + {intercept:.3f} ({r2=:.4f})")
{"slope": round(slope, 3), "intercept": round(intercept, 3)}
