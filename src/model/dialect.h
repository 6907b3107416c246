// A Dialect is the form in which one API exchanges requests and replies.
//
// Trust     Requests hold hostile texts; they become strings of JSON. Replies: see ReplyReader.
// Threads   Any; a dialect never changes.
// Lifetime  Outlives its readers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/model.h"
#include "model/reply_builder.h"
#include "model/reply_reader.h"
#include "tools/http/client.h"
#include "wire/value.h"

namespace caisson::model {

struct DialectSettings {
  std::string model{};
  bool streams = true;
  bool is_openai = false;  // OpenAI's own server, which refuses names that others expect.
};

class Dialect {
 public:
  virtual ~Dialect() = default;

  // Below the base URL: "/chat/completions".
  virtual std::string_view path() const = 0;
  virtual HttpHeaders Headers(std::string_view key) const = 0;
  virtual Dict Body(const ModelRequest& request) const = 0;
  virtual std::unique_ptr<ReplyReader> Read(ReplyBuilder builder) const = 0;
};

std::unique_ptr<Dialect> MakeOpenAiChat(DialectSettings settings);
std::unique_ptr<Dialect> MakeOpenAiResponses(DialectSettings settings);
std::unique_ptr<Dialect> MakeAnthropic(DialectSettings settings);

// The names of the parameters that the APIs share, for those that the request has.
void AppendSampling(Dict& body, const ModelRequest& request);

// "data:image/png;base64,..." or the URL of the data.
std::string DataUrl(const DataPart& data);
bool IsImage(const DataPart& data);
// Text in place of data that the API cannot take.
std::string Placeholder(const DataPart& data);
// The texts and refusals of the parts, and a placeholder for each data part.
std::string JoinedText(const std::vector<Part>& parts);

}  // namespace caisson::model
