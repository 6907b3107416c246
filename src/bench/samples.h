// Samples of one quantity, and their summary.
//
// Trust     Trusted numbers.
// Threads   Values.
// Lifetime  Values.
#pragma once

#include <cstddef>
#include <vector>

namespace caisson::bench {

using Samples = std::vector<double>;

struct Distribution {
  double median = 0;
  double p99 = 0;  // The largest sample if there are fewer than a hundred.
  std::size_t n = 0;
};

// Precondition: at least one sample.
Distribution Summarise(Samples samples);

double GeometricMean(const Samples& samples);

}  // namespace caisson::bench
