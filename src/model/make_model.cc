#include "model/make_model.h"

#include <array>
#include <utility>

#include "model/demo_model.h"

namespace caisson::model {
namespace {

constexpr std::array<std::pair<std::string_view, ModelKind>, 4> kKinds = {{
    {"openai-chat", ModelKind::kOpenAiChat},
    {"openai-responses", ModelKind::kOpenAiResponses},
    {"anthropic", ModelKind::kAnthropic},
    {"demo", ModelKind::kDemo},
}};

Error Wrong(std::string message) {
  return Error(ErrorCode::kInvalidArgument, std::move(message));
}

}  // namespace

Result<ModelKind> ParseModelKind(std::string_view name) {
  std::string names;
  for (const auto& [known, kind] : kKinds) {
    if (known == name) return kind;
    names.append(names.empty() ? "" : ", ").append(known);
  }
  return Wrong("kind \"" + std::string(name) + "\" is unknown; use one of " + names);
}

Result<std::shared_ptr<Model>> MakeModel(ModelOptions options) {
  if (options.kind == ModelKind::kDemo) {
    return std::shared_ptr<Model>(std::make_shared<DemoModel>(options.demo_pause));
  }
  return Wrong("only kind \"demo\" is available in this build");
}

}  // namespace caisson::model
