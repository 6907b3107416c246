#include "protocol/mcp/run_files.h"

#include <utility>

#include "base/base64.h"
#include "base/low_priority_pool.h"
#include "base/utf8.h"
#include "protocol/mcp/outcome_result.h"
#include "wire/object.h"

namespace caisson::mcp {
namespace {

constexpr std::uint32_t kRunsPerPage = 100;

bool IsText(std::string_view media_type) {
  return media_type.starts_with("text/") || media_type == "application/json" ||
         media_type == "application/xml" || media_type == "image/svg+xml";
}

Dict Entry(const RunView& run, std::uint32_t number) {
  const OutcomeFile& file = run.outcome.files[number];
  const std::string path = ToUtf8(file.path);
  return Object({{"uri", FileUri({.run = run.id, .number = number}, path)},
                 {"name", path.substr(path.rfind('/') + 1)},
                 {"description", path + " of " + run.id.str()},
                 {"mimeType", std::string(MediaType(file.path))},
                 {"size", static_cast<std::int64_t>(file.size)}});
}

void AddFiles(const RunView& run, caisson::List& resources) {
  for (std::uint32_t number = 0; number < run.outcome.files.size(); ++number) {
    const OutcomeFile& file = run.outcome.files[number];
    if (file.change == "deleted" || !file.omitted.empty()) continue;
    resources.items.emplace_back(Entry(run, number));
  }
}

}  // namespace

asio::awaitable<Reply> RunFiles::List(std::optional<std::string> cursor, Exchange& exchange) {
  auto page = co_await runs_.List(exchange.caller().owner(), RunState::kFinished,
                                  {.after = std::move(cursor), .limit = kRunsPerPage});
  if (!page) {
    if (page.error().code() == ErrorCode::kInvalidArgument) {
      co_return InvalidParams("the cursor is unknown");
    }
    co_return RpcError{.code = RpcCode::kInternalError, .message = page.error().message()};
  }
  caisson::List resources;
  for (const RunView& run : page->items) AddFiles(run, resources);
  Dict result;
  Append(result, "resources", std::move(resources));
  if (page->next) Append(result, "nextCursor", *std::move(page->next));
  co_return result;
}

caisson::List RunFiles::Templates() const {
  return {{Value(Object({{"uriTemplate", "caisson://runs/{run_id}/files/{number}/{name}"},
                         {"name", "Files of runs"},
                         {"description", "A file that code wrote to /output."}}))}};
}

asio::awaitable<std::optional<caisson::List>> RunFiles::Read(std::string uri, Exchange& exchange) {
  const auto address = ParseFileUri(uri);
  if (!address) co_return std::nullopt;
  const IsolationKey owner = exchange.caller().owner();
  const auto run = co_await runs_.Find(owner, address->run);
  if (!run || address->number >= run->outcome.files.size()) co_return std::nullopt;
  const OutcomeFile& file = run->outcome.files[address->number];
  // A file has one URI only; other URIs are not found.
  if (FileUri(*address, ToUtf8(file.path)) != uri) co_return std::nullopt;
  auto contents = co_await runs_.File(owner, address->run, address->number);
  if (!contents) co_return std::nullopt;
  const std::string_view media_type = MediaType(file.path);
  Dict entry = Object({{"uri", uri}, {"mimeType", std::string(media_type)}});
  const bool is_text = IsText(media_type);
  const std::size_t bytes = contents->size();
  auto [name, text] =
      co_await CallAside(cpu_pool_, bytes, [is_text, contents = *std::move(contents)]() mutable {
        return is_text && IsUtf8(contents) ? std::pair("text", std::move(contents))
                                           : std::pair("blob", EncodeBase64(contents));
      });
  Append(entry, name, std::move(text));
  co_return caisson::List{{Value(std::move(entry))}};
}

}  // namespace caisson::mcp
