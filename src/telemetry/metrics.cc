#include "telemetry/metrics.h"

#include <charconv>

namespace caisson {
namespace {

// route="/v1/runs",status="200"
std::string ToText(const Metrics::Labels& labels) {
  std::string text;
  for (const auto& [name, value] : labels) {
    text.append(text.empty() ? "" : ",").append(name).append("=\"");
    for (const char c : value) {
      if (c == '"' || c == '\\') text.push_back('\\');
      c == '\n' ? text.append("\\n") : text.append(1, c);
    }
    text.push_back('"');
  }
  return text;
}

std::string ToText(double number) {
  std::array<char, 64> digits;
  return {digits.begin(), std::to_chars(digits.begin(), digits.end(), number).ptr};
}

void AppendLine(std::string& out, std::string_view name, std::string_view labels,
                std::string_view value) {
  out.append(name);
  if (!labels.empty()) out.append("{").append(labels).append("}");
  out.append(" ").append(value).append("\n");
}

}  // namespace

void Metrics::Count(std::string_view name, const Labels& labels) {
  const std::string text = ToText(labels);
  auto state = state_.Lock();
  ++state->counters[std::string(name)][text];
}

void Metrics::Time(std::string_view name, const Labels& labels, std::chrono::nanoseconds time) {
  const std::string text = ToText(labels);
  const double seconds = std::chrono::duration<double>(time).count();
  auto state = state_.Lock();
  Histogram& histogram = state->histograms[std::string(name)][text];
  ++histogram.count;
  histogram.sum += seconds;
  for (std::size_t i = 0; i < kBounds.size(); ++i) {
    if (seconds <= kBounds[i]) ++histogram.buckets[i];
  }
}

void Metrics::AppendHistogram(std::string& out, const std::string& name, const std::string& labels,
                              const Histogram& histogram) {
  const std::string comma = labels.empty() ? "" : ",";
  for (std::size_t i = 0; i < kBounds.size(); ++i) {
    AppendLine(out, name + "_bucket", labels + comma + "le=\"" + ToText(kBounds[i]) + "\"",
               std::to_string(histogram.buckets[i]));
  }
  AppendLine(out, name + "_bucket", labels + comma + "le=\"+Inf\"",
             std::to_string(histogram.count));
  AppendLine(out, name + "_sum", labels, ToText(histogram.sum));
  AppendLine(out, name + "_count", labels, std::to_string(histogram.count));
}

std::string Metrics::Text() {
  std::string out;
  auto state = state_.Lock();
  for (const auto& [name, help] : described_) {
    const auto counter = state->counters.find(name);
    const auto histogram = state->histograms.find(name);
    const bool times = histogram != state->histograms.end();
    if (counter == state->counters.end() && !times) continue;
    out.append("# HELP " + name + " " + help + "\n# TYPE " + name + " ");
    out.append(times ? "histogram\n" : "counter\n");
    if (times) {
      for (const auto& [labels, one] : histogram->second) AppendHistogram(out, name, labels, one);
    } else {
      for (const auto& [labels, count] : counter->second) {
        AppendLine(out, name, labels, std::to_string(count));
      }
    }
  }
  return out;
}

}  // namespace caisson
