#include "jail/become.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "caller/child_environment.h"

namespace caisson::jail {
namespace {

// Returns the pointers that execve takes; the kernel only reads them.
std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (const std::string& string : strings) pointers.push_back(const_cast<char*>(string.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

Error Become(const Successor& successor) {
  CallerHost nobody({});
  ChildVariables variables{.inherit = {}};
  variables.own.insert(successor.environment.begin(), successor.environment.end());
  const auto environment = ChildEnvironment::Build(CallerContext(nobody), variables);
  if (!environment) return environment.error();
  ::syscall(SYS_execveat, successor.program, "", Pointers(successor.argv).data(),
            Pointers(environment->entries()).data(), AT_EMPTY_PATH);
  return Error::FromErrno(errno, "become " + successor.argv.front());
}

}  // namespace caisson::jail
