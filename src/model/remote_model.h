// A RemoteModel is a model behind an HTTP server.
//
// Trust     The server is hostile: its answers are bounded, and the key goes only to it. Errors
//           never contain the key.
// Threads   Same as Model.
// Lifetime  Same as Model.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/dialect.h"
#include "model/make_model.h"
#include "model/model.h"
#include "tools/http/client.h"

namespace caisson::model {

class RemoteModel final : public Model {
 public:
  // `options.base_url` must have been parsed to `base`; its path has no slash at the end.
  RemoteModel(ModelOptions options, HttpUrl base, std::unique_ptr<const Dialect> dialect,
              std::unique_ptr<const HttpClient> client);

  asio::awaitable<Result<ModelReply>> Generate(ModelRequest request, OnDelta on_delta) override;

 private:
  // One conversation with the server, with its repetitions.
  class Attempts;

  HttpRequest MakeRequest(std::string body) const;

  const ModelOptions options_;
  const HttpUrl base_;
  const PrivateHosts hosts_;
  const std::vector<std::string> secrets_;  // Must not appear in errors.
  const std::unique_ptr<const Dialect> dialect_;
  const std::unique_ptr<const HttpClient> client_;
};

}  // namespace caisson::model
