// An Approval says which calls of a tool need an approval: none, all, or those that a rule selects.
//
//   Approval::Unless(small)      every call except those whose arguments match the schema `small`
//   Approval::When(large)        only calls whose arguments match the schema `large`
//
// Trust     Arguments are hostile. If a rule cannot be evaluated, the call needs approval.
// Threads   Immutable.
// Lifetime  A value.
#pragma once

#include <optional>
#include <utility>

#include "tools/schema.h"
#include "wire/value.h"

namespace caisson {

class Approval {
 public:
  enum class Mode { kNever, kAlways, kWhen, kUnless };

  Approval() = default;  // Never.
  static Approval Never() { return {}; }
  static Approval Always() { return Approval(Mode::kAlways, std::nullopt); }
  static Approval When(Schema arguments) { return Approval(Mode::kWhen, std::move(arguments)); }
  static Approval Unless(Schema arguments) { return Approval(Mode::kUnless, std::move(arguments)); }

  Mode mode() const { return mode_; }
  const Schema* rule() const { return rule_ ? &*rule_ : nullptr; }

  bool IsNeeded(const Dict& arguments) const;

 private:
  Approval(Mode mode, std::optional<Schema> rule) : mode_(mode), rule_(std::move(rule)) {}

  Mode mode_ = Mode::kNever;
  std::optional<Schema> rule_;
};

}  // namespace caisson
