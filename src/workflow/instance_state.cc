#include "workflow/instance_state.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "wire/object.h"

namespace caisson {
namespace {

constexpr std::int64_t kFormat = 1;
constexpr std::uint64_t kMaxStateBytes = kMaxWorkflowLimits.state_bytes;

Value Number(std::uint64_t number) {
  return Value(static_cast<std::int64_t>(number));
}

Value Time(SystemTime at) {
  return Value(static_cast<std::int64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(at.time_since_epoch()).count()));
}

template <typename Items, typename ToItem>
Value ListOf(const Items& items, const ToItem& to_item) {
  List list;
  for (const auto& item : items) list.items.push_back(to_item(item));
  return Value(std::move(list));
}

Value ToValue(const OpenRequest& request) {
  return Value(Object({{"id", request.id.str()},
                       {"executor", request.executor.str()},
                       {"prompt", request.prompt},
                       {"message", request.message},
                       {"response", request.response},
                       {"asked_at", Time(request.asked_at)}}));
}

Value Gathered(const InstanceState& state) {
  return ListOf(state.gathered, [](const auto& each) {
    return Value(List{{Number(each.first), ListOf(each.second, [](const std::deque<Value>& held) {
                         return ListOf(held, [](const Value& value) { return value; });
                       })}});
  });
}

// Reads a Dict. A field that is missing, or has another type, makes good() false.
class Reader {
 public:
  explicit Reader(const Value* value) : dict_(value == nullptr ? nullptr : value->If<Dict>()) {}

  template <typename T>
  T Get(std::string_view name) {
    const T* found = dict_ == nullptr ? nullptr : FindAs<T>(*dict_, name);
    if (found != nullptr) return *found;
    good_ = false;
    return T{};
  }
  Value Any(std::string_view name) {
    const Value* found = dict_ == nullptr ? nullptr : dict_->Find(name);
    if (found == nullptr) good_ = false;
    return found == nullptr ? Value() : *found;
  }
  template <typename T>
  T Number(std::string_view name) {
    const auto number = Get<std::int64_t>(name);
    if (number < 0 || static_cast<std::uint64_t>(number) > std::numeric_limits<T>::max()) {
      good_ = false;
    }
    return static_cast<T>(number);
  }
  SystemTime Time(std::string_view name) {
    return SystemTime(std::chrono::microseconds(Get<std::int64_t>(name)));
  }
  template <typename Id>
  Id GetId(std::string_view name) {
    return Id(Get<std::string>(name));
  }
  // Calls `read` with a Reader of each item of a list.
  template <typename Read>
  void Each(std::string_view name, const Read& read) {
    for (const Value& item : Get<List>(name).items) {
      Reader reader(&item);
      read(reader);
      good_ = good_ && reader.good();
    }
  }
  bool good() const { return good_; }
  void Refuse() { good_ = false; }

 private:
  const Dict* dict_;
  bool good_ = true;
};

OpenRequest ReadRequest(Reader& reader) {
  return {.id = reader.GetId<RequestId>("id"),
          .executor = reader.GetId<ExecutorId>("executor"),
          .prompt = reader.Get<std::string>("prompt"),
          .message = reader.Any("message"),
          .response = reader.Any("response"),
          .asked_at = reader.Time("asked_at")};
}

// Returns false if the list is not one that Gathered() makes.
bool ReadGathered(const List& list, InstanceState& state) {
  for (const Value& item : list.items) {
    const auto* pair = item.If<List>();
    if (pair == nullptr || pair->items.size() != 2) return false;
    const auto* index = pair->items[0].If<std::int64_t>();
    const auto* sources = pair->items[1].If<List>();
    if (index == nullptr || sources == nullptr || *index < 0) return false;
    auto& queues = state.gathered[static_cast<std::uint32_t>(*index)];
    for (const Value& source : sources->items) {
      const auto* held = source.If<List>();
      if (held == nullptr) return false;
      queues.emplace_back(held->items.begin(), held->items.end());
    }
  }
  return true;
}

bool ReadTaken(const List& list, InstanceState& state) {
  for (const Value& item : list.items) {
    const auto* pair = item.If<List>();
    if (pair == nullptr || pair->items.size() != 2) return false;
    const auto* index = pair->items[0].If<std::int64_t>();
    const auto* count = pair->items[1].If<std::int64_t>();
    if (index == nullptr || count == nullptr) return false;
    state.taken[static_cast<std::uint32_t>(*index)] = static_cast<std::uint32_t>(*count);
  }
  return true;
}

}  // namespace

std::string_view ToString(InstanceStatus status) {
  constexpr std::string_view kNames[] = {"running", "waiting", "completed", "failed"};
  return kNames[static_cast<std::size_t>(status)];
}

std::string_view ToString(WorkflowFault fault) {
  constexpr std::string_view kNames[] = {"", "step", "type", "limit", "uncertain"};
  return kNames[static_cast<std::size_t>(fault)];
}

Result<std::string> Encode(const InstanceState& state, std::uint64_t max_bytes) {
  Dict dict = Object(
      {{"format", kFormat},
       {"status", Number(static_cast<std::uint64_t>(state.status))},
       {"fault", Number(static_cast<std::uint64_t>(state.fault))},
       {"error", state.error},
       {"workflow", state.workflow},
       {"digest", state.digest},
       {"number", Number(state.number)},
       {"superstep", Number(state.superstep)},
       {"deliveries", ListOf(state.deliveries,
                             [](const Delivery& each) {
                               return Value(
                                   Object({{"to", each.to.str()}, {"message", each.message}}));
                             })},
       {"gathered", Gathered(state)},
       {"shared", state.shared},
       {"requests", ListOf(state.requests, [](const auto& each) { return ToValue(each); })},
       {"inner", ListOf(state.inner_requests, [](const auto& each) { return ToValue(each); })},
       {"approvals", ListOf(state.approvals,
                            [](const OpenApproval& each) {
                              return Value(Object({{"id", each.id.str()},
                                                   {"run", each.run.str()},
                                                   {"executor", each.executor.str()}}));
                            })},
       {"outputs", ListOf(state.outputs,
                          [](const WorkflowOutput& each) {
                            return Value(
                                Object({{"executor", each.executor.str()}, {"value", each.value}}));
                          })},
       {"taken", ListOf(state.taken,
                        [](const auto& each) {
                          return Value(List{{Number(each.first), Number(each.second)}});
                        })},
       {"messages", Number(state.messages)}});
  if (state.begun_at) Append(dict, "begun_at", Time(*state.begun_at));
  std::string bytes;
  TRY(EncodeValue(Value(std::move(dict)), bytes));
  if (bytes.size() <= max_bytes) return bytes;
  return Error(ErrorCode::kResourceExhausted,
               "the state takes " + std::to_string(bytes.size()) + " bytes, more than the " +
                   std::to_string(max_bytes) + " of limits.state_bytes");
}

Result<InstanceState> DecodeInstanceState(std::string_view bytes) {
  const Error unreadable(ErrorCode::kFailedPrecondition, "the checkpoint cannot be read");
  DecodeBudget budget(kMaxStateBytes * 16);  // Small values take more memory than bytes.
  const auto value = DecodeValue(bytes, budget);
  if (!value) return unreadable;
  Reader reader(&*value);
  InstanceState state;
  if (reader.Get<std::int64_t>("format") != kFormat) return unreadable;
  const auto status = reader.Number<std::uint8_t>("status");
  const auto fault = reader.Number<std::uint8_t>("fault");
  if (status > static_cast<int>(InstanceStatus::kFailed) ||
      fault > static_cast<int>(WorkflowFault::kUncertain)) {
    return unreadable;
  }
  state.status = static_cast<InstanceStatus>(status);
  state.fault = static_cast<WorkflowFault>(fault);
  state.error = reader.Get<std::string>("error");
  state.workflow = reader.Get<std::string>("workflow");
  state.digest = reader.Get<std::string>("digest");
  state.number = reader.Number<std::uint64_t>("number");
  state.superstep = reader.Number<std::uint64_t>("superstep");
  reader.Each("deliveries", [&](Reader& item) {
    state.deliveries.push_back(
        {.to = item.GetId<ExecutorId>("to"), .message = item.Any("message")});
  });
  if (!ReadGathered(reader.Get<List>("gathered"), state)) return unreadable;
  state.shared = reader.Get<Dict>("shared");
  reader.Each("requests", [&](Reader& item) { state.requests.push_back(ReadRequest(item)); });
  reader.Each("inner", [&](Reader& item) { state.inner_requests.push_back(ReadRequest(item)); });
  reader.Each("approvals", [&](Reader& item) {
    state.approvals.push_back({.id = item.GetId<ApprovalId>("id"),
                               .run = item.GetId<RunId>("run"),
                               .executor = item.GetId<ExecutorId>("executor")});
  });
  reader.Each("outputs", [&](Reader& item) {
    state.outputs.push_back(
        {.executor = item.GetId<ExecutorId>("executor"), .value = item.Any("value")});
  });
  if (!ReadTaken(reader.Get<List>("taken"), state)) return unreadable;
  state.messages = reader.Number<std::uint32_t>("messages");
  if (const auto* dict = value->If<Dict>(); dict != nullptr && dict->Find("begun_at") != nullptr) {
    state.begun_at = reader.Time("begun_at");
  }
  if (!reader.good()) return unreadable;
  return state;
}

}  // namespace caisson
