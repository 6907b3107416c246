def mean(values):
    """The arithmetic mean."""
    return sum(values) / len(values)


def spread(values):
    m = mean(values)
    return (sum((v - m) ** 2 for v in values) / len(values)) ** 0.5


data = [3.5, 4.0, 1.25, 9.75, 6.0]
result = {"mean": round(mean(data), 3), "spread": round(spread(data), 3), "n": len(data)}
print(result)
result
