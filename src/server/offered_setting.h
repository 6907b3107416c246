// An OfferedSetting is a setting whose tools include those that upstreams offer to a caller.
//
// Trust     The operator's configuration. Upstreams may be hostile (tools/mcp).
// Threads   Any.
// Lifetime  Shares the upstreams.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "base/guarded.h"
#include "caller/caller_context.h"
#include "runs/cells/code_runner.h"
#include "tools/mcp/upstream.h"

namespace caisson {

class OfferedSetting {
 public:
  // The calls that need an approval: those that the tools select, or all.
  enum class Asks { kAsToolsSay, kAlways };

  // The tools of the upstreams come after those of `setting`.
  OfferedSetting(CodeSetting setting, std::vector<std::shared_ptr<Upstream>> upstreams,
                 Asks asks = Asks::kAsToolsSay);

  // Returns the same pointer until the tools of this caller change. null: without a caller.
  std::shared_ptr<const CodeSetting> For(const CallerContext* caller) const;

 private:
  // Settings in use, by the tools that the upstreams offered.
  using SettingsByTools = std::map<std::vector<std::shared_ptr<const UpstreamTools>>,
                                   std::shared_ptr<const CodeSetting>>;

  std::shared_ptr<const Tool> Gated(std::shared_ptr<const Tool> tool) const;

  const std::vector<std::shared_ptr<Upstream>> upstreams_;
  const Asks asks_;
  const std::shared_ptr<const CodeSetting> setting_;  // Without the tools of upstreams.
  mutable Guarded<SettingsByTools> settings_;
};

}  // namespace caisson
