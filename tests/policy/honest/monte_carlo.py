import random
import statistics

random.seed(42)


def simulate(days=30, start=100.0, drift=0.001, volatility=0.02):
    price = start
    for _ in range(days):
        price *= 1 + random.gauss(drift, volatility)
    return price


finals = [simulate() for _ in range(500)]
quantiles = statistics.quantiles(finals, n=20)
print(f"mean {statistics.fmean(finals):.2f} sd {statistics.stdev(finals):.2f}")
print(f"5%..95%: {quantiles[0]:.2f}..{quantiles[-1]:.2f}")
sample = random.sample(finals, k=5)
random.shuffle(sample)
len(sample), random.choice("abc") in "abc"
