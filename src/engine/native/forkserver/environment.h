// The environment variables of every cell.
//
// Trust     Constants of ours; a run may add others.
// Threads   Constants.
// Lifetime  Constants.
#pragma once

#include <utility>

namespace caisson::forkserver {

// Without these, BLAS libraries would start threads in the fork server, which must have none when
// it forks.
inline constexpr std::pair<const char*, const char*> kEnvironment[] = {
    {"HOME", "/tmp"},         {"LANG", "C.UTF-8"},           {"MPLBACKEND", "Agg"},
    {"MPLCONFIGDIR", "/tmp"}, {"MKL_NUM_THREADS", "1"},      {"NUMEXPR_NUM_THREADS", "1"},
    {"OMP_NUM_THREADS", "1"}, {"OPENBLAS_NUM_THREADS", "1"},
};

}  // namespace caisson::forkserver
