#include "cli/statement.h"

#include <string>

namespace caisson::cli {
namespace {

// Scans the text like a tokenizer, but only for brackets, strings and comments.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  bool NeedsMore() {
    while (at_ < text_.size()) Step();
    if (quote_size_ == 3 || depth_ > 0 || continued_) return true;
    return in_block_ && !ends_with_empty_line_;
  }

 private:
  void Step() {
    if (quote_size_ > 0) return InString();
    const char c = text_[at_];
    if (c == '\n') return EndLine();
    ++at_;
    if (c == '#') return SkipComment();
    if (c == '"' || c == '\'') return BeginString(c);
    if (c == '\\' && at_ < text_.size() && text_[at_] == '\n') {
      ++at_;
      continued_ = at_ == text_.size();
      return;
    }
    if (c == '(' || c == '[' || c == '{') ++depth_;
    if ((c == ')' || c == ']' || c == '}') && depth_ > 0) --depth_;
    if (c == ' ' || c == '\t' || c == '\r') return;
    if (line_empty_ && c == '@' && depth_ == 0) in_block_ = true;
    line_empty_ = false;
    last_ = c;
  }

  void EndLine() {
    ++at_;
    if (depth_ == 0) {
      if (last_ == ':') in_block_ = true;
      ends_with_empty_line_ = line_empty_;
      last_ = 0;
      line_empty_ = true;
    }
  }

  void SkipComment() {
    while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    line_empty_ = false;
  }

  void BeginString(char quote) {
    quote_ = quote;
    line_empty_ = false;
    last_ = quote;
    const bool triple = text_.substr(at_, 2) == std::string(2, quote);
    quote_size_ = triple ? 3 : 1;
    if (triple) at_ += 2;
  }

  void InString() {
    const char c = text_[at_++];
    if (c == '\\') {
      if (at_ < text_.size()) ++at_;
    } else if (quote_size_ == 1 && (c == quote_ || c == '\n')) {
      quote_size_ = 0;  // A string that ends at the end of a line is an error.
      if (c == '\n') --at_;
    } else if (c == quote_ && text_.substr(at_, 2) == std::string(2, quote_)) {
      at_ += 2;
      quote_size_ = 0;
    }
  }

  const std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  int quote_size_ = 0;  // 0: not in a string; else 1 or 3.
  char quote_ = 0;
  char last_ = 0;  // Of this line, without blanks and comments.
  bool line_empty_ = true;
  bool continued_ = false;
  bool in_block_ = false;
  bool ends_with_empty_line_ = false;
};

}  // namespace

bool NeedsMore(std::string_view text) {
  return Scanner(text).NeedsMore();
}

}  // namespace caisson::cli
