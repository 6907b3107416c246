#include "cli/store_flags.h"

#include <pwd.h>
#include <unistd.h>

#include <array>

#include "identity/local_resolver.h"
#include "server/open_store.h"

namespace caisson::cli {

void AddStoreFlags(Command command, StoreFlags& flags) {
  command.AddOption("--config", flags.config, "The configuration file that names the store",
                    {.value = "FILE"});
  command.AddOption("--tenant", flags.tenant, "Act for this tenant", {.value = "NAME"});
  command.AddOption("--user", flags.user, "Act for this user; by default the local one",
                    {.value = "NAME"});
  command.AddOption("--chat", flags.chat, "Act in this chat", {.value = "NAME"});
}

Result<OpenedStore> OpenStoreOf(const StoreFlags& flags) {
  Config config;
  if (!flags.config.empty()) {
    TRY_ASSIGN(config, LoadConfig(flags.config));
  }
  auto identity = Identity::Create({.tenant = flags.tenant,
                                    .user = flags.user.value_or(LocalIdentity().user()),
                                    .chat = flags.chat});
  if (!identity) {
    return Error(ErrorCode::kInvalidArgument, identity.error().message());
  }
  auto opened = OpenStore(config, MissingStore::kRefuse);
  if (!opened && flags.config.empty() && opened.error().code() == ErrorCode::kNotFound) {
    return Error(ErrorCode::kNotFound,
                 opened.error().message() + "; --config names a configuration with another");
  }
  TRY_ASSIGN(auto store, std::move(opened));
  return OpenedStore{
      .config = std::move(config), .store = std::move(store), .owner = IsolationKey(*identity)};
}

std::string CurrentUser() {
  std::array<char, 4096> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  ::getpwuid_r(::geteuid(), &entry, buffer.data(), buffer.size(), &found);
  return found != nullptr ? found->pw_name : "uid " + std::to_string(::geteuid());
}

}  // namespace caisson::cli
