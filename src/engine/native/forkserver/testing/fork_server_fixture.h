// A real fork server for tests, with cells made in every possible way.
//
// Trust     Tests only.
// Threads   The test's.
// Lifetime  One fork server for each test, started on first use.
#pragma once

#include <fcntl.h>
#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>

#include "base/sanitized.h"
#include "engine/native/forkserver/testing/driver.h"
#include "jail/testing/namespaces.h"

namespace caisson::forkserver {

namespace fs = std::filesystem;
using jail::Tier;
using testing::HasSubstr;
using testing::StartsWith;

inline constexpr uid_t kNobody = 65534;

inline std::unique_ptr<Driver> StartForkServer(Tier tier,
                                               const std::vector<std::string>& arguments = {}) {
  if (tier == Tier::kNamespace) jail::SkipWithoutNamespaces();
  auto driver = Driver::Start(tier, arguments);
  EXPECT_TRUE(driver) << driver.error().message();
  return driver ? std::make_unique<Driver>(*std::move(driver)) : nullptr;
}

inline bool Ends(const UniqueFd& pidfd) {
  pollfd ended{.fd = pidfd.get(), .events = POLLIN, .revents = 0};
  return ::poll(&ended, 1, 20'000) == 1;
}

inline std::string ReadText(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::string ProcPath(pid_t pid, const std::string& file) {
  return "/proc/" + std::to_string(pid) + "/" + file;
}

// Returns the value of a line of /proc/PID/status.
inline std::string Status(pid_t pid, const std::string& key) {
  std::ifstream file(ProcPath(pid, "status"));
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(key + ":\t")) return line.substr(key.size() + 2);
  }
  return "-";
}

inline std::size_t CountEntries(const std::string& path) {
  std::error_code failed;
  const fs::directory_iterator entries(path, failed);
  return failed ? 0
                : static_cast<std::size_t>(std::distance(begin(entries), fs::directory_iterator()));
}

inline std::string ReadBelow(const UniqueFd& directory, const char* path) {
  const UniqueFd file(::openat(directory.get(), path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  std::string text(1 << 20, '\0');
  const ssize_t size = file.is_open() ? ::read(file.get(), text.data(), text.size()) : -1;
  return size < 0 ? "cannot read" : text.substr(0, static_cast<std::size_t>(size));
}

inline Value Echo(const std::string&, const std::vector<Value>& positional) {
  return positional.empty() ? Value() : positional[0];
}

// A fork server with the embedded Python, or one that starts the system's Python for each run, as
// it would start another version.
enum class Python { kEmbedded, kForeign };
// Where cells are made: alone, as the first of a fork server, or in a slot, as later ones.
enum class Place { kAlone, kSlot };
struct Setting {
  Tier tier;
  Python python;
  Place place = Place::kAlone;
};
inline constexpr Setting kNamespace{Tier::kNamespace, Python::kEmbedded};
inline constexpr Setting kInSlot{Tier::kNamespace, Python::kEmbedded, Place::kSlot};
inline constexpr Setting kLandlock{Tier::kLandlock, Python::kEmbedded};
inline constexpr Setting kForeign{Tier::kNamespace, Python::kForeign};
inline constexpr Setting kForeignLandlock{Tier::kLandlock, Python::kForeign};

inline std::string NameOf(const testing::TestParamInfo<Setting>& info) {
  return std::string(jail::ToString(info.param.tier)) +
         (info.param.python == Python::kForeign ? "_foreign" : "") +
         (info.param.place == Place::kSlot ? "_slot" : "");
}

class ForkServerTest : public testing::TestWithParam<Setting> {
 protected:
  Driver& fork_server() {
    if (!driver_) {
      std::vector<std::string> arguments;
      if (is_foreign()) arguments = {"--foreign", "--prefix=/usr"};
      driver_ = StartForkServer(GetParam().tier, arguments);
      if (GetParam().place == Place::kSlot) AwaitSlot();
    }
    return *driver_;
  }
  bool IsInSlot(const DrivenCell& cell) const {
    return Status(cell.HostPid(), "PPid") != std::to_string(driver_->child().pid());
  }
  // Returns when a slot is free; the next cell is made in it.
  void AwaitSlot() {
    for (int i = 0; i < 1000; ++i) {
      DrivenCell cell = driver_->Make();
      const bool is_in_slot = IsInSlot(cell);
      cell.Kill();
      driver_->AwaitGone(cell);
      if (is_in_slot) return;
      ::usleep(1000);
    }
    FAIL() << "no slot was ever free";
  }
  bool has_namespaces() const { return GetParam().tier == Tier::kNamespace; }
  bool is_foreign() const { return GetParam().python == Python::kForeign; }

  // Runs code in a fresh cell. Returns its value as JSON, or its error.
  std::string Run(const std::string& code, const RunOptions& options = {}) {
    DrivenCell cell = fork_server().Make();
    EXPECT_TRUE(cell.prepared) << cell.failed;
    return cell.prepared ? cell.Run(code, options, Echo).Result() : "not prepared";
  }
  // Runs code and returns how its cell ended.
  wire::CellGone RunToDeath(const std::string& code) {
    DrivenCell cell = fork_server().Make();
    EXPECT_TRUE(cell.prepared) << cell.failed;
    cell.SendStart(code);
    fork_server().AwaitGone(cell);
    EXPECT_TRUE(cell.gone);
    return cell.gone.value_or(wire::CellGone{});
  }

 private:
  std::unique_ptr<Driver> driver_;
};

}  // namespace caisson::forkserver
