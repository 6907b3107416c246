// An Approval says which calls of a tool need a person's yes: none, all, or those a rule picks.
//
//   Approval::Unless(small)      every call but those whose arguments fit the schema `small`
//   Approval::When(large)        only calls whose arguments fit the schema `large`
//
// Trust     Arguments are hostile. Where a rule cannot tell, the call needs approval.
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
