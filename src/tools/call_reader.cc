#include "tools/call_reader.h"

#include <algorithm>
#include <utility>

namespace caisson {
namespace {

ReadCall Refused(ToolCall call, std::shared_ptr<const Tool> tool, const Error& why) {
  ReadCall read{.tool = std::move(tool),
                .arguments = WithPositional(std::move(call.keywords), std::move(call.positional)),
                .refused = ToRaised(why)};
  read.decoded_bytes = DecodedBytes(read.arguments);
  return read;
}

}  // namespace

ReadCall Read(ToolCall call, const ToolSet& tools) {
  if (auto unpacked = Unpack(call); !unpacked) {
    return {.refused = ToRaised(std::move(unpacked).error().Context("arguments of " + call.tool))};
  }
  const Tool* tool = tools.Find(call.tool);
  if (tool == nullptr) {
    const Error missing = tools.NoSuchTool(call.tool);
    return Refused(std::move(call), nullptr, missing);
  }
  ReadCall read{.tool = tool->shared_from_this()};
  // Binding consumes the arguments. A refused encoded call is decoded again, which is cheaper than
  // copying every call.
  ToolCall kept{.packed = std::move(call.packed)};
  if (kept.packed.empty()) kept = call;
  auto bound = tool->Bind(std::move(call.positional), std::move(call.keywords));
  if (!bound) {
    static_cast<void>(Unpack(kept).has_value());
    return Refused(std::move(kept), std::move(read.tool), bound.error());
  }
  read.arguments = *std::move(bound);
  read.decoded_bytes = DecodedBytes(read.arguments);
  read.needs_approval = tool->NeedsApproval(read.arguments);
  return read;
}

JournaledCall ToJournal(std::uint32_t seq, std::string name, ReadCall call) {
  JournaledCall journaled{.seq = seq,
                          .name = std::move(name),
                          .tool = std::move(call.tool),
                          .needs_approval = call.needs_approval,
                          .refused = std::move(call.refused)};
  auto canonical = Canonicalize(call.arguments);
  if (canonical) {
    journaled.arguments = std::make_shared<const CanonicalArguments>(*std::move(canonical));
  } else if (!journaled.refused) {
    journaled.refused = ToRaised(canonical.error());
  }
  return journaled;
}

std::size_t MostDecodedBytes(std::size_t encoded_bytes) {
  constexpr std::size_t kMostPerByte = 48;  // "[]" in a list: a value and an allocation.
  return encoded_bytes >= kMaxDecodedBytes / kMostPerByte ? kMaxDecodedBytes
                                                          : (encoded_bytes + 1) * kMostPerByte;
}

}  // namespace caisson
