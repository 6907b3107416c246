#include "engine/native/forkserver/interpreter.h"

#include <elf.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <system_error>

namespace caisson::forkserver {
namespace {

namespace fs = std::filesystem;

constexpr int kOldest = 9;
constexpr int kNewest = 14;
constexpr int kEmbedded = 11;
constexpr std::string_view kName = "python3.";

fs::path LibraryOf(const fs::path& prefix, int minor) {
  return prefix / "lib" / (std::string(kName) + std::to_string(minor));
}

bool Exists(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

// 12 of "python3.12".
std::optional<int> MinorOf(const std::string& name) {
  if (!name.starts_with(kName)) return std::nullopt;
  int minor = 0;
  const char* end = name.data() + name.size();
  const auto [at, error] = std::from_chars(name.data() + kName.size(), end, minor);
  if (error != std::errc() || at != end) return std::nullopt;
  return minor;
}

// bin/python3 with links resolved or, if that name is missing, the newest bin/python3.N.
fs::path ProgramIn(const fs::path& prefix) {
  std::vector<fs::path> names{prefix / "bin" / "python3"};
  for (int minor = kNewest; minor >= kOldest; --minor) {
    names.push_back(prefix / "bin" / (std::string(kName) + std::to_string(minor)));
  }
  const auto found = std::ranges::find_if(names, Exists);
  std::error_code failed;
  return found == names.end() ? fs::path() : fs::canonical(*found, failed);
}

// Returns the path in the program's PT_INTERP; empty if it has none.
Result<std::string> LoaderName(const std::string& program) {
  std::ifstream file(program, std::ios::binary);
  Elf64_Ehdr header{};
  file.read(reinterpret_cast<char*>(&header), sizeof header);
  if (!file || !std::ranges::equal(std::string_view(ELFMAG, SELFMAG),
                                   std::string_view(reinterpret_cast<char*>(header.e_ident), 4))) {
    return Error(ErrorCode::kInvalidArgument, program + " is not a program for this machine");
  }
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr part{};
    file.seekg(static_cast<std::streamoff>(header.e_phoff + i * sizeof part));
    file.read(reinterpret_cast<char*>(&part), sizeof part);
    if (!file) return Error(ErrorCode::kInvalidArgument, program + " is truncated");
    if (part.p_type != PT_INTERP || part.p_filesz == 0 || part.p_filesz > 4096) continue;
    std::string name(part.p_filesz - 1, '\0');  // Without the NUL.
    file.seekg(static_cast<std::streamoff>(part.p_offset));
    file.read(name.data(), static_cast<std::streamsize>(name.size()));
    return name;
  }
  return std::string();
}

// Adds libpython3.N.so and similar files, which lie beside the library.
void AddSharedLibraries(const fs::path& directory, std::vector<std::string>& trees) {
  std::error_code failed;
  for (fs::directory_iterator entry(directory, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with("libpython3") && name.find(".so") != name.npos) {
      trees.push_back(entry->path().string());
    }
  }
}

}  // namespace

bool IsForEmbedded(const std::string& prefix) {
  return Exists(LibraryOf(prefix, kEmbedded) / "site-packages");
}

Result<Interpreter> FindInterpreter(const std::string& prefix) {
  const fs::path program = ProgramIn(prefix);
  const std::optional<int> minor = MinorOf(program.filename().string());
  if (!minor) {
    return Error(ErrorCode::kNotFound,
                 prefix + " contains no Python: its bin/python3 is not a python3.N");
  }
  const fs::path base = program.parent_path().parent_path();
  const fs::path library = LibraryOf(base, *minor);
  if (*minor < kOldest || *minor > kNewest || !Exists(library / "os.py")) {
    return Error(ErrorCode::kFailedPrecondition,
                 program.string() + " cannot be used: it has to be CPython 3.9 to 3.14 with its " +
                     "standard library in " + library.string());
  }

  Interpreter found{.program = program.string()};
  TRY_ASSIGN(found.loader_name, LoaderName(found.program));
  std::error_code failed;
  if (!found.loader_name.empty()) found.loader = fs::canonical(found.loader_name, failed).string();

  found.modules = {library.string(), (library / "lib-dynload").string()};
  found.trees = {found.program, library.string()};
  AddSharedLibraries(base / "lib", found.trees);
  const std::string number = "python3." + std::to_string(*minor);
  for (const fs::path& packages :
       {LibraryOf(prefix, *minor) / "site-packages", library / "site-packages",
        base / "local" / "lib" / number / "dist-packages", base / "lib/python3/dist-packages"}) {
    const bool is_known =
        std::ranges::find(found.modules, packages.string()) != found.modules.end();
    if (is_known || !Exists(packages)) continue;
    found.modules.push_back(packages.string());
    if (!packages.string().starts_with(library.string())) found.trees.push_back(packages.string());
  }
  return found;
}

}  // namespace caisson::forkserver
