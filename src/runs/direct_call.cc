#include "runs/direct_call.h"

#include <utility>

#include "wire/fields.h"

namespace caisson {

Result<RecordedDirectCall> ToRecord(const DirectCall& call) {
  RecordedDirectCall record{.tool = call.tool};
  TRY(EncodeValue(Value(call.arguments), record.packed));
  return record;
}

Result<DirectCall> FromRecord(const RecordedDirectCall& record) {
  TRY_ASSIGN(Dict arguments, DecodeDict(record.packed, "call of the run"));
  return DirectCall{.tool = record.tool, .arguments = std::move(arguments)};
}

}  // namespace caisson
