#include "cli/tell.h"

#include <cerrno>

namespace caisson::cli {

int AfterWriting(const Output& out, int status) {
  if (out.failed() == 0) return status;
  if (out.failed() == EPIPE) return kExitCodeFailed;
  Output::Stderr().Write("caisson: cannot write to stdout: " +
                         Error::FromErrno(out.failed(), "write").message() + "\n");
  return kExitUsage;
}

int Tell(const Result<std::string>& text, int status) {
  if (!text) {
    Output::Stderr().Write("caisson: " + text.error().message() + "\n");
    return ExitStatus(text.error().code());
  }
  Output out = Output::Stdout();
  out.Write(*text);
  return AfterWriting(out, status);
}

}  // namespace caisson::cli
