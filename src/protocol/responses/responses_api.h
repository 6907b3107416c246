// The ResponsesApi serves agents over the OpenAI Responses API.
//
//   POST /v1/responses                          GET, DELETE /v1/responses/{id}[?stream=true]
//   POST /v1/responses/{id}/cancel              GET /v1/responses/{id}/input_items
//   POST /v1/conversations                      GET, DELETE /v1/conversations/{id}
//   GET, POST /v1/conversations/{id}/items      GET /v1/conversations/{id}/items/{item}
//   GET /v1/models[/{model}]
//
// The same routes exist without /v1, in the form that Foundry's hosted agents have: other ids,
// headers about the platform, and no "[DONE]" after a stream.
//
// Trust     Requests are hostile. The identity is resolved once per request (I2). Data of another
//           owner is not found, with the bytes of an answer about data that never existed (I4).
// Threads   Handlers run on their connections' strands, any number side by side.
// Lifetime  Its services outlive it; it outlives the server it is mounted on.
#pragma once

#include <utility>

#include "net/router.h"
#include "protocol/responses/door.h"

namespace caisson::responses {

class ResponsesApi {
 public:
  ResponsesApi(ResponsesServices services, ResponsesOptions options)
      : services_(std::move(services)), options_(std::move(options)) {}

  // Call it once for each form.
  void Mount(net::Router& router, Form form) const;

 private:
  const ResponsesServices services_;
  const ResponsesOptions options_;
};

}  // namespace caisson::responses
