#include "model/dialect.h"

#include "base/base64.h"
#include "model/server_json.h"
#include "wire/object.h"

namespace caisson::model {

void AppendSampling(Dict& body, const ModelRequest& request) {
  if (request.temperature) Append(body, "temperature", *request.temperature);
  if (request.top_p) Append(body, "top_p", *request.top_p);
}

std::string DataUrl(const DataPart& data) {
  if (!data.url.empty()) return JsonText(data.url);
  return "data:" + JsonText(data.media_type) + ";base64," + EncodeBase64(data.bytes);
}

bool IsImage(const DataPart& data) {
  // The type of data that is named by its URL alone may be unknown.
  return data.media_type.starts_with("image/") || (data.media_type.empty() && !data.url.empty());
}

std::string Placeholder(const DataPart& data) {
  const std::string name = data.filename.empty() ? "" : JsonText(data.filename) + ", ";
  if (!data.url.empty()) return "[file: " + name + JsonText(data.url) + "]";
  return "[file: " + name + JsonText(data.media_type) + ", " + std::to_string(data.bytes.size()) +
         " bytes]";
}

std::string JoinedText(const std::vector<Part>& parts) {
  std::string text;
  for (const Part& part : parts) {
    if (!text.empty()) text.push_back('\n');
    if (const auto* piece = std::get_if<TextPart>(&part)) text.append(JsonText(piece->text));
    if (const auto* refusal = std::get_if<RefusalPart>(&part)) {
      text.append(JsonText(refusal->text));
    }
    if (const auto* data = std::get_if<DataPart>(&part)) text.append(Placeholder(*data));
  }
  return text;
}

}  // namespace caisson::model
