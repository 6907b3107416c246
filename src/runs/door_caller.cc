#include "runs/door_caller.h"

#include <cstddef>
#include <utility>

namespace caisson {
namespace {

using enum CallerVariable;

constexpr std::size_t kMaxNameBytes = 256;

bool IsName(std::string_view text) {
  return !text.empty() && text.size() <= kMaxNameBytes && text.find('\0') == text.npos;
}

}  // namespace

CallerContext RemoteCaller(CallerHost& host, const Identity& identity, std::string_view door) {
  CallerContext context(host);
  context.Bind({.values = {{kPlatform, std::string(door)},
                           {kSource, std::string(door)},
                           {kScopeId, identity.tenant().value_or("")},
                           {kUserId, identity.user()},
                           {kChatId, identity.chat().value_or("")},
                           {kPrincipal, IsolationKey(identity).str()},
                           {kTransport, "http"}},
                .async_delivery = AsyncDelivery::kUnsupported});
  return context;
}

CallerContext LocalCaller(CallerHost& host, std::string_view door) {
  CallerContext context = CallerContext::OfStart(host);
  for (const auto& [variable, value] :
       {std::pair(kPlatform, door), {kSource, door}, {kUserId, std::string_view("local")}}) {
    if (!context.slot(variable)) context.Set(variable, std::string(value));
  }
  context.DeclareStateless();
  return context;
}

std::shared_ptr<const CallerContext> ForRequest(const CallerContext& session, RequestNames names) {
  auto context = std::make_shared<CallerContext>(session.Fork());
  if (IsName(names.message_id)) context->Set(kMessageId, std::move(names.message_id));
  if (IsName(names.session)) context->Set(kId, std::move(names.session));
  return context;
}

}  // namespace caisson
