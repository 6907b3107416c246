#include "codeact/run_service.h"

#include <cstdint>
#include <utility>

namespace caisson {

asio::awaitable<Result<RunView>> WithFiles(RunView view, LoadFile load) {
  std::uint32_t number = 0;
  for (OutcomeFile& file : view.outcome.files) {
    const std::uint32_t its_number = number++;
    const bool is_captured = file.change != "deleted" && file.omitted.empty();
    if (!is_captured || file.contents.size() == file.size) continue;
    auto contents = co_await load(its_number);
    if (!contents) co_return std::move(contents).error().Context("load " + file.path);
    file.contents = *std::move(contents);
  }
  co_return view;
}

}  // namespace caisson
