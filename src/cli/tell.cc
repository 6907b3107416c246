#include "cli/tell.h"

#include "cli/output.h"

namespace caisson::cli {

int Tell(const Result<std::string>& text, int status) {
  if (!text) {
    Output::Stderr().Write("caisson: " + text.error().message() + "\n");
    return ExitStatus(text.error().code());
  }
  Output out = Output::Stdout();
  out.Write(*text);
  return out.failed() == 0 ? status : kExitUsage;
}

}  // namespace caisson::cli
