import statistics as st
from fractions import Fraction
from statistics import NormalDist, mean, median, mode, stdev

data = [2, 4, 4, 4, 5, 5, 7, 9]
print(mean(data), median(data), mode(data), round(stdev(data), 4), st.pvariance(data))
print(st.quantiles(data, n=4), st.multimode("aabbc"), st.harmonic_mean([40, 60]))
slope, intercept = st.linear_regression([1, 2, 3], [2, 4, 6.5])
print(round(slope, 3), round(intercept, 3), round(st.correlation([1, 2, 3], [1, 2, 4]), 4))
print(round(NormalDist(100, 15).cdf(130), 4), mean([Fraction(1, 2), Fraction(1, 3)]))
