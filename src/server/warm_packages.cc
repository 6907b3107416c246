#include "server/warm_packages.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/unique_fd.h"

namespace caisson {
namespace {

constexpr std::size_t kMostLines = 8;
constexpr std::size_t kMostNames = 16;
constexpr std::size_t kMostNameBytes = 64;
constexpr std::size_t kMostFileBytes = 16384;

bool IsName(std::string_view name) {
  return !name.empty() && name.size() <= kMostNameBytes && std::ranges::all_of(name, [](char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  });
}

bool AreNames(const WarmPackages::Packages& packages) {
  return !packages.empty() && packages.size() <= kMostNames &&
         std::ranges::all_of(packages, IsName);
}

std::string ReadFile(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status{};
  if (!file.is_open() || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  std::string text(kMostFileBytes, '\0');
  const ssize_t size = ::read(file.get(), text.data(), text.size());
  text.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
  return text;
}

std::vector<WarmPackages::Packages> Parse(const std::string& text) {
  std::vector<WarmPackages::Packages> lines;
  std::istringstream rest(text);
  for (std::string line; lines.size() < kMostLines && std::getline(rest, line);) {
    std::istringstream words(line);
    WarmPackages::Packages packages;
    for (std::string name; words >> name;) packages.push_back(std::move(name));
    if (AreNames(packages)) lines.push_back(std::move(packages));
  }
  return lines;
}

}  // namespace

std::string WarmFileOf(const EnvironmentMap& environment) {
  const auto directory = [&](const char* name) {
    const auto found = environment.find(name);
    return found != environment.end() && found->second.starts_with('/') ? found->second
                                                                        : std::string();
  };
  std::string cache = directory("XDG_CACHE_HOME");
  if (cache.empty()) {
    const std::string home = directory("HOME");
    if (home.empty()) return {};
    cache = home + "/.cache";
  }
  return cache + "/caisson/warm-packages";
}

WarmPackages::WarmPackages(std::string path)
    : path_(std::move(path)), state_(State{.before = Parse(ReadFile(path_)), .noted = {}}) {}

std::vector<WarmPackages::Packages> WarmPackages::latest() const {
  auto before = state_.Lock()->before;
  before.resize(std::min(before.size(), kMostWarm));
  return before;
}

void WarmPackages::Note(const Packages& packages) {
  Packages sorted = packages;
  std::ranges::sort(sorted);
  if (!AreNames(sorted)) return;
  auto state = state_.Lock();
  if (std::ranges::find(state->noted, sorted) != state->noted.end()) return;
  state->noted.insert(state->noted.begin(), sorted);
  if (state->noted.size() > kMostLines) state->noted.resize(kMostLines);
  std::vector<Packages> lines = state->noted;
  for (const Packages& line : state->before) {
    if (std::ranges::find(lines, line) == lines.end()) lines.push_back(line);
  }
  lines.resize(std::min(lines.size(), kMostLines));
  Write(lines);
}

void WarmPackages::Write(const std::vector<Packages>& lines) const {
  std::string text;
  for (const Packages& line : lines) {
    for (const std::string& name : line) text += (&name == &line.front() ? "" : " ") + name;
    text += '\n';
  }
  std::error_code failed;
  const std::filesystem::path directory = std::filesystem::path(path_).parent_path();
  std::filesystem::create_directories(directory, failed);
  // Another program that ends at the same time replaces the file, too: each writes its own copy.
  std::string copy = path_ + ".XXXXXX";
  const UniqueFd file(::mkostemp(copy.data(), O_CLOEXEC));
  if (!file.is_open()) return;
  const bool written =
      ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (!written || ::rename(copy.c_str(), path_.c_str()) != 0) ::unlink(copy.c_str());
}

}  // namespace caisson
