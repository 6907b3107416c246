// caisson-forkserver: started by the host with the control socket as wire::kControlFd. It starts
// Python inside its private root, drops what it no longer needs, then forks cells until the host is
// gone.
//
//   caisson-forkserver --tier=NAME [--preload=MODULE,...] [--prefix=PREFIX [--foreign]]
//                   [--see=PATH]... [--scratch=PATH]
//   caisson-forkserver --sweep=PATH
//
// The second form removes the files of cells when the host has ended (sweeper.h).
//
// SCRATCH is a directory in which each cell makes a directory for its files, for tiers without a
// mount namespace.
//
// PREFIX is a virtual environment of the embedded Python, or another Python, which is then started
// for each run (runner.h). With --foreign it is always started.
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "engine/native/forkserver/environment.h"
#include "engine/native/forkserver/foreign_judge.h"
#include "engine/native/forkserver/fork_server.h"
#include "engine/native/forkserver/heap_gaps.h"
#include "engine/native/forkserver/library.h"
#include "engine/native/forkserver/page_tables.h"
#include "engine/native/forkserver/rehearsal.h"
#include "engine/native/forkserver/runner.h"
#include "engine/native/forkserver/sweeper.h"
#include "guest/native/forked.h"

#if __has_feature(address_sanitizer)
// The host decides which signals end a cell and how its memory is limited, not the sanitizer.
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming): the sanitizer's own
// name.
extern "C" const char* __asan_default_options() {
  return "handle_segv=0:handle_sigbus=0:handle_abort=0:handle_sigill=0:handle_sigfpe=0:"
         "allocator_may_return_null=1:detect_leaks=0";
}
#endif

namespace caisson::forkserver {
namespace {

// A cell's memory is limited by its address space. Reserving less leaves more to use: one heap for
// all threads instead of 64 MiB for each, and smaller stacks so that many threads fit.
constexpr std::size_t kThreadStackBytes = 2 << 20;

struct Arguments {
  jail::Tier tier = jail::Tier::kNamespace;
  std::string preload;
  std::string scratch;
  std::string sweep;
  LibraryOptions library;
};

Result<Arguments> Parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const std::size_t equals = argument.find('=');
    const std::string_view name = argument.substr(0, equals);
    const std::string value(equals == std::string_view::npos ? "" : argument.substr(equals + 1));
    if (name == "--tier") {
      TRY_ASSIGN(arguments.tier, jail::ParseTier(value));
    } else if (name == "--preload") {
      arguments.preload = value;
      std::ranges::replace(arguments.preload, ',', ' ');
    } else if (name == "--scratch") {
      arguments.scratch = value;
    } else if (name == "--sweep") {
      arguments.sweep = value;
    } else if (name == "--prefix") {
      arguments.library.prefix = value;
    } else if (argument == "--foreign") {
      arguments.library.is_foreign = true;
    } else if (name == "--see") {
      arguments.library.extra_paths.push_back(value);
    } else {
      return Error(ErrorCode::kInvalidArgument, "unknown argument " + std::string(argument));
    }
  }
  return arguments;
}

void SetUpProcess() {
  ::mallopt(M_ARENA_MAX, 1);
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstacksize(&attributes, kThreadStackBytes);
  ::pthread_setattr_default_np(&attributes);
  ::pthread_attr_destroy(&attributes);
  ::clearenv();
  for (const auto& [name, value] : kEnvironment) ::setenv(name, value, 1);
}

Result<void> RehearseOften(Holder& holder) {
  for (int i = 0; i < 3; ++i) {
    if (caisson_reseed() != 0) return Error(ErrorCode::kInternal, "Python has no random numbers");
    TRY(Rehearse(holder));
  }
  return {};
}

// Everything here saves work that each cell would have to do.
Result<void> PrepareToFork(const jail::Enclosure& enclosure) {
  Holder holder;
  TRY(RehearseOften(holder));
  CloseHeapGaps();
  const auto maps = enclosure.OpenOwn("maps");
  const auto pagemap = enclosure.OpenOwn("pagemap");
  // A process that may not read its own program may not read these either. Its cells are only
  // slower.
  if (!maps || !pagemap) return {};
  return KeepWhatIsUsed({*maps, *pagemap}, [&holder] { return RehearseOften(holder); });
}

// Runs inside the root: a module that cannot be imported here could not be imported in a cell
// either.
Result<void> BringPythonUp(const jail::Enclosure& enclosure, const Library& library,
                           const std::string& preload) {
  if (caisson_boot_native(library.module_path.c_str(), preload.c_str()) != 0) {
    return Error(ErrorCode::kFailedPrecondition, "Python did not start");
  }
  return PrepareToFork(enclosure);
}

Result<void> Main(int argc, char** argv) {
  TRY_ASSIGN(const Arguments arguments, Parse(argc, argv));
  if (!arguments.sweep.empty()) return Sweep(arguments.sweep, UniqueFd(wire::kControlFd));
  SetUpProcess();
  TRY_ASSIGN(const Library library, MakeLibrary(arguments.tier, arguments.library));
  if (library.foreign) TRY(ForeignJudge::Boot());
  TRY_ASSIGN(jail::Enclosure enclosure,
             jail::Enclosure::Open(
                 {.tier = arguments.tier, .name = "caisson-forkserver", .root = library.root}));
  std::optional<Runner> runner;
  if (library.foreign) {
    TRY_ASSIGN(runner, Runner::Prepare(enclosure, *library.foreign));
  } else {
    TRY(BringPythonUp(enclosure, library, arguments.preload));
  }
  UniqueFd scratch;
  // Another interpreter would see the host's names of its files, which reveal other cells.
  if (!arguments.scratch.empty() && !library.foreign) {
    scratch = UniqueFd(::open(arguments.scratch.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!scratch.is_open()) return Error::FromErrno(errno, "open " + arguments.scratch);
  }
  ForkServer fork_server(std::move(enclosure), Control(UniqueFd(wire::kControlFd)), library.rules,
                         std::move(runner), std::move(scratch));
  TRY(fork_server.Prepare());
  return fork_server.Run();
}

}  // namespace
}  // namespace caisson::forkserver

int main(int argc, char** argv) {
  auto result = caisson::forkserver::Main(argc, argv);
  if (result) return EXIT_SUCCESS;
  // The host shows this to the requester of the run.
  std::fprintf(stderr, "caisson-forkserver: %s\n", result.error().message().c_str());
  return EXIT_FAILURE;
}
