// Which packages engine native can offer: what is installed, and which of that code may use unless the
// operator says otherwise.
//
// Trust     Names of files of the system, or of a virtual environment the operator named.
// Threads   Any; reads a few directories.
// Lifetime  Values.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace caisson {

// Whether `prefix` is a virtual environment of the Python inside nurseries, so that the system's packages are there too.
// Else it is another Python, with nothing but its own.
bool IsForEmbedded(const std::string& prefix);

// Top-level module names in the directories for packages that a nursery with this prefix has, sorted. Not
// the standard library: both engines have that.
std::vector<std::string> InstalledPackages(const std::string& prefix);

// What code may use by default: to compute, to read and write documents, to draw. Nothing that is for the
// network or for starting programs, which no cell can do anyway.
std::span<const std::string_view> UsualPackages();

// Those of `installed` that are in `allowed`.
std::vector<std::string> AllowedPackages(const std::vector<std::string>& installed,
                                         std::span<const std::string_view> allowed);

}  // namespace caisson
