#include "server/secrets.h"

#include <filesystem>
#include <fstream>
#include <iterator>

namespace caisson {

Result<std::string> ReadBeside(const std::string& directory, const std::string& file) {
  std::ifstream stream(std::filesystem::path(directory) / file, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(stream), {}};
  if (!stream) return Error(ErrorCode::kFailedPrecondition, "cannot read " + file);
  return text;
}

Result<std::string> FetchSecret(const SecretReference& secret, const std::string& directory,
                                const EnvironmentMap& environment) {
  if (!secret.environment.empty()) {
    const auto found = environment.find(secret.environment);
    if (found != environment.end() && !found->second.empty()) return found->second;
    return Error(ErrorCode::kFailedPrecondition,
                 "the environment variable " + secret.environment + " is not set");
  }
  TRY_ASSIGN(std::string text, ReadBeside(directory, secret.file));
  while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
  return text;
}

}  // namespace caisson
