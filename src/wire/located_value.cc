#include "wire/located_value.h"

#include <algorithm>
#include <utility>

#include "wire/json.h"

namespace caisson {
namespace {

// Walks text that ParseJson has accepted, so that only the structure matters.
class LineFinder {
 public:
  LineFinder(std::string_view text, LocatedValue& found) : text_(text), found_(found) {}

  // Returns false if there are too many parts.
  bool Walk(const std::string& pointer) {
    SkipSpace();
    if (found_.lines.size() >= kMaxLocatedParts) return false;
    found_.lines.emplace(pointer, line_);
    if (Peek() == '{') return WalkItems('}', pointer);
    if (Peek() == '[') return WalkItems(']', pointer);
    if (Peek() == '"') {
      TakeString();
    } else {
      while (position_ < text_.size() && !std::string_view(",]} \t\r\n").contains(Peek())) Skip();
    }
    return true;
  }

 private:
  bool WalkItems(char end, const std::string& pointer) {
    Skip();
    for (std::size_t index = 0;; ++index) {
      SkipSpace();
      if (Peek() == end || position_ >= text_.size()) break;
      std::string step = "/" + std::to_string(index);
      if (end == '}') {
        step = PointerStep(Key(TakeString()));
        SkipSpace();
        Skip();  // The colon.
      }
      if (!Walk(pointer + step)) return false;
      SkipSpace();
      if (Peek() == ',') Skip();
    }
    Skip();
    return true;
  }

  static std::string Key(std::string_view quoted) {
    const auto key = ParseJson(quoted);
    const auto* text = key ? key->If<std::string>() : nullptr;
    return text == nullptr ? std::string() : *text;
  }

  std::string_view TakeString() {
    const std::size_t begin = position_;
    Skip();
    while (position_ < text_.size() && Peek() != '"') {
      if (Peek() == '\\') Skip();
      Skip();
    }
    Skip();
    return text_.substr(begin, position_ - begin);
  }

  char Peek() const { return position_ < text_.size() ? text_[position_] : '\0'; }
  void Skip() {
    if (position_ >= text_.size()) return;
    if (text_[position_++] == '\n') ++line_;
  }
  void SkipSpace() {
    while (position_ < text_.size() && std::string_view(" \t\r\n").contains(Peek())) Skip();
  }

  const std::string_view text_;
  LocatedValue& found_;
  std::size_t position_ = 0;
  std::uint32_t line_ = 1;
};

}  // namespace

std::uint32_t LocatedValue::LineOf(std::string_view pointer) const {
  for (;;) {
    if (const auto found = lines.find(pointer); found != lines.end()) return found->second;
    if (pointer.empty()) return 1;
    pointer = pointer.substr(0, pointer.rfind('/'));
  }
}

std::string PointerStep(std::string_view key) {
  std::string step = "/";
  for (const char c : key) {
    if (c == '~') {
      step += "~0";
    } else if (c == '/') {
      step += "~1";
    } else {
      step += c;
    }
  }
  return step;
}

Result<LocatedValue> ParseLocatedJson(std::string_view text) {
  if (text.size() > kMaxLocatedBytes) {
    return Error(ErrorCode::kResourceExhausted, "the text is longer than 1 MiB");
  }
  LocatedValue located;
  TRY_ASSIGN(located.value, ParseJson(text));
  if (!LineFinder(text, located).Walk("")) {
    return Error(ErrorCode::kResourceExhausted, "the text has more than 100,000 parts");
  }
  return located;
}

}  // namespace caisson
