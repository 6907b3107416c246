#include "engine/native/packages.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <system_error>

namespace caisson {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSystemDirectories[] = {"/usr/lib/python3/dist-packages",
                                                   "/usr/local/lib/python3.11/dist-packages"};
constexpr std::string_view kEmbeddedPackages = "lib/python3.11/site-packages";
// The oldest supported minor version of other Pythons.
constexpr int kOldestMinor = 9;
constexpr int kNewestMinor = 14;
constexpr std::size_t kMaxEntries = 100'000;

constexpr std::string_view kUsual[] = {
    "PIL",        "attr",       "attrs",        "bottleneck", "bs4",         "cycler",  "dateutil",
    "docx",       "et_xmlfile", "html5lib",     "jinja2",     "joblib",      "lxml",    "markdown",
    "markupsafe", "matplotlib", "mpl_toolkits", "mpmath",     "networkx",    "numexpr", "numpy",
    "openpyxl",   "pandas",     "patsy",        "polars",     "pyarrow",     "pylab",   "pyparsing",
    "pypdf",      "pytz",       "regex",        "reportlab",  "scipy",       "seaborn", "shapely",
    "six",        "skimage",    "sklearn",      "soupsieve",  "statsmodels", "sympy",   "tabulate",
    "tzdata",     "xlrd",       "xlsxwriter",   "yaml",
};
static_assert(std::ranges::is_sorted(kUsual));

bool IsIdentifier(std::string_view name) {
  const auto letter = [](char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  return !name.empty() && letter(name.front()) &&
         std::ranges::all_of(name, [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

// "numpy" of the directory numpy, of numpy.py and of numpy.cpython-311-x86_64-linux-gnu.so.
std::string_view ModuleName(std::string_view file, bool is_directory) {
  if (is_directory) return file;
  if (!file.ends_with(".py") && !file.ends_with(".so")) return {};
  return file.substr(0, file.find('.'));
}

void AddModules(const fs::path& directory, std::vector<std::string>& names) {
  std::error_code failed;
  for (fs::directory_iterator entry(directory, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    std::error_code ignored;
    const std::string file = entry->path().filename().string();
    const std::string_view name = ModuleName(file, entry->is_directory(ignored));
    if (IsIdentifier(name) && name != "__pycache__") names.emplace_back(name);
    if (names.size() > kMaxEntries) return;
  }
}

}  // namespace

bool IsForEmbedded(const std::string& prefix) {
  std::error_code ignored;
  return prefix.empty() || fs::exists(fs::path(prefix) / kEmbeddedPackages, ignored);
}

std::vector<std::string> InstalledPackages(const std::string& prefix) {
  std::vector<std::string> names;
  if (IsForEmbedded(prefix)) {
    if (!prefix.empty()) AddModules(fs::path(prefix) / kEmbeddedPackages, names);
    for (const std::string_view directory : kSystemDirectories) AddModules(directory, names);
  } else {
    const fs::path library = fs::path(prefix) / "lib";
    for (int minor = kOldestMinor; minor <= kNewestMinor; ++minor) {
      AddModules(library / ("python3." + std::to_string(minor)) / "site-packages", names);
    }
    AddModules(library / "python3/dist-packages", names);
  }
  std::ranges::sort(names);
  const auto repeated = std::ranges::unique(names);
  names.erase(repeated.begin(), repeated.end());
  return names;
}

std::span<const std::string_view> UsualPackages() {
  return kUsual;
}

std::vector<std::string> AllowedPackages(const std::vector<std::string>& installed,
                                         std::span<const std::string_view> allowed) {
  std::vector<std::string> names;
  std::ranges::copy_if(installed, std::back_inserter(names), [&](const std::string& name) {
    return std::ranges::find(allowed, name) != allowed.end();
  });
  return names;
}

}  // namespace caisson
