// Lists the packages that engine native can offer: those installed, and those of them that code may
// use by default.
//
// Trust     File names of the system, or of a virtual environment that the operator named.
// Threads   Any; reads a few directories.
// Lifetime  Values.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace caisson {

// Returns whether `prefix` is a virtual environment of the Python inside fork servers, so that the
// system's packages are available too. Otherwise it is another Python, with only its own packages.
bool IsForEmbedded(const std::string& prefix);

// Returns the top-level module names in the package directories of a fork server with this prefix,
// sorted. Excludes the standard library, which both engines have.
std::vector<std::string> InstalledPackages(const std::string& prefix);

// The packages that code may use by default: to compute, to read and write documents, to draw. None
// is for the network or for starting programs, which no cell can do anyway.
std::span<const std::string_view> UsualPackages();

// Returns those of `installed` that are in `allowed`.
std::vector<std::string> AllowedPackages(const std::vector<std::string>& installed,
                                         std::span<const std::string_view> allowed);

}  // namespace caisson
