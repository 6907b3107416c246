#include "bench/samples.h"

#include <algorithm>
#include <cmath>

namespace caisson::bench {

Distribution Summarise(Samples samples) {
  std::ranges::sort(samples);
  const std::size_t n = samples.size();
  const std::size_t middle = n / 2;
  const double median = n % 2 == 1 ? samples[middle] : (samples[middle - 1] + samples[middle]) / 2;
  // The smallest value that at least 99 of 100 do not exceed.
  const std::size_t rank = (n * 99 + 99) / 100;
  return {.median = median, .p99 = samples[rank - 1], .n = n};
}

double GeometricMean(const Samples& samples) {
  double sum = 0;
  for (const double sample : samples) sum += std::log(sample);
  return std::exp(sum / static_cast<double>(samples.size()));
}

}  // namespace caisson::bench
