#include "engine/native/forkserver/library.h"

#include <filesystem>
#include <fstream>
#include <system_error>

namespace caisson::forkserver {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPython = PYTHON_LIB_DIR;
constexpr const char* kDynamicModules = PYTHON_LIB_DIR "/lib-dynload";
constexpr const char* kSharedLibraries = "/usr/lib/" LIBRARY_ARCHITECTURE;
// Where Debian installs packages: its own, and those installed with pip.
constexpr const char* kPackages = "/usr/lib/python3/dist-packages";
constexpr const char* kLocalPackages = "/usr/local/lib/python3.11/dist-packages";

// Time zones, and data of matplotlib. A link in alternatives selects the BLAS library.
constexpr const char* kData[] = {"/usr/share/zoneinfo", "/usr/share/matplotlib", "/usr/share/fonts",
                                 "/etc/alternatives"};
// Small enough to be copied, which saves every cell a mount.
constexpr const char* kCopied[] = {"/etc/ld.so.cache", "/etc/localtime", "/etc/matplotlibrc",
                                   "/etc/mime.types"};
constexpr const char* kDevices[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random",
                                    "/dev/urandom"};
constexpr const char* kUsers = "user:x:65534:65534::/tmp:/nonexistent\n";
constexpr const char* kGroups = "user:x:65534:\n";

std::string ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool Exists(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

// Fails for a path below which a cell sees only its own files.
Result<void> RequireVisible(jail::Tier tier, const std::string& path) {
  for (const char* name : kPrivateDirectories) {
    const std::string own = std::string("/") + name;
    if (tier == jail::Tier::kNamespace && (path == own || path.starts_with(own + "/"))) {
      return Error(ErrorCode::kInvalidArgument,
                   path + " cannot be seen by cells: cells have a " + own + " of their own");
    }
  }
  return {};
}

jail::RootPlan MakeRoot(const std::vector<std::string>& trees) {
  jail::RootPlan root;
  root.binds = trees;
  root.devices.assign(std::begin(kDevices), std::end(kDevices));
  root.directories = {kFilesRoot};
  for (const char* name : kPrivateDirectories) root.directories.push_back(std::string("/") + name);
  root.files = {{"/etc/passwd", kUsers}, {"/etc/group", kGroups}};
  for (const char* path : kCopied) {
    if (Exists(path)) root.files.push_back({path, ReadFile(path)});
  }
  root.links = {{"/lib", "usr/lib"}};
  return root;
}

std::vector<jail::PathRule> MakeRules(jail::Tier tier, const std::vector<std::string>& trees) {
  using Access = jail::PathRule::Access;
  std::vector<jail::PathRule> rules;
  if (tier == jail::Tier::kNamespace) {
    // The root holds nothing else, and only these parts of it can be written.
    rules = {{"/", Access::kRead}, {"/dev", Access::kUse}};
    for (const char* name : kPrivateDirectories) {
      rules.push_back({std::string("/") + name, Access::kChange});
    }
    return rules;
  }
  for (const std::string& tree : trees) rules.push_back({tree, Access::kRead});
  for (const char* path : kCopied) rules.push_back({path, Access::kRead});
  for (const char* path : kDevices) rules.push_back({path, Access::kUse});
  return rules;
}

// Only the interpreter can be executed; the kernel finds its loader under the expected name.
void AllowStart(const Interpreter& interpreter, Library& library) {
  library.rules.push_back({interpreter.program, jail::PathRule::Access::kExecute});
  if (interpreter.loader.empty()) return;
  library.rules.push_back({interpreter.loader, jail::PathRule::Access::kExecute});
  if (!interpreter.loader_name.starts_with("/lib/") &&
      interpreter.loader_name != interpreter.loader) {
    library.root.links.push_back({interpreter.loader_name, interpreter.loader});
  }
}

}  // namespace

Result<Library> MakeLibrary(jail::Tier tier, const LibraryOptions& options) {
  Library library;
  std::vector<std::string> modules{kPython, kDynamicModules};
  std::vector<std::string> trees{kPython, "/usr/lib/python3", kLocalPackages};
  if (options.is_foreign || (!options.prefix.empty() && !IsForEmbedded(options.prefix))) {
    TRY_ASSIGN(library.foreign, FindInterpreter(options.prefix));
    trees = library.foreign->trees;
  } else if (!options.prefix.empty()) {
    const fs::path packages = fs::path(options.prefix) / "lib" / "python3.11" / "site-packages";
    modules.push_back(packages.string());
    trees.push_back(packages.string());
  }
  modules.insert(modules.end(), {kLocalPackages, kPackages});
  trees.emplace_back(kSharedLibraries);
  trees.insert(trees.end(), std::begin(kData), std::end(kData));
  trees.insert(trees.end(), options.extra_paths.begin(), options.extra_paths.end());

  for (const std::string& tree : trees) TRY(RequireVisible(tier, tree));

  for (const std::string& path : modules) {
    library.module_path += (library.module_path.empty() ? "" : ":") + path;
  }
  library.root = MakeRoot(trees);
  library.rules = MakeRules(tier, trees);
  if (library.foreign) AllowStart(*library.foreign, library);
  return library;
}

}  // namespace caisson::forkserver
