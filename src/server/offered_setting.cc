#include "server/offered_setting.h"

#include <utility>

namespace caisson {

OfferedSetting::OfferedSetting(CodeSetting setting,
                               std::vector<std::shared_ptr<Upstream>> upstreams, Asks asks)
    : upstreams_(std::move(upstreams)), asks_(asks), setting_([&] {
        auto tools = setting.tools->tools();
        for (auto& tool : tools) tool = Gated(std::move(tool));
        setting.tools = std::make_shared<const ToolSet>(std::move(tools));
        return std::make_shared<const CodeSetting>(std::move(setting));
      }()) {}

std::shared_ptr<const Tool> OfferedSetting::Gated(std::shared_ptr<const Tool> tool) const {
  return asks_ == Asks::kAlways ? tool->AskingAlways() : std::move(tool);
}

std::shared_ptr<const CodeSetting> OfferedSetting::For(const CallerContext* caller) const {
  constexpr std::size_t kMaxSettings = 256;
  if (upstreams_.empty()) return setting_;
  SettingsByTools::key_type offered;
  for (const auto& upstream : upstreams_) offered.push_back(upstream->ToolsFor(caller));
  auto settings = settings_.Lock();
  if (const auto found = settings->find(offered); found != settings->end()) return found->second;
  auto tools = setting_->tools->tools();
  for (const auto& more : offered) {
    for (const auto& tool : *more) tools.push_back(Gated(tool));
  }
  CodeSetting setting = *setting_;
  setting.tools = std::make_shared<const ToolSet>(std::move(tools));
  if (settings->size() >= kMaxSettings) settings->clear();
  auto made = std::make_shared<const CodeSetting>(std::move(setting));
  settings->emplace(std::move(offered), made);
  return made;
}

}  // namespace caisson
