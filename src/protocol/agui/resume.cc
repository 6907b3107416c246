#include "protocol/agui/resume.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/result.h"
#include "protocol/agui/run_input.h"
#include "wire/object.h"

namespace caisson::agui {
namespace {

constexpr std::size_t kMaxAnswers = 1000;
constexpr std::size_t kMaxReasonBytes = 4096;

struct Entry {
  std::string id;
  bool cancelled = false;
  bool approve = false;
  std::string reason{};
  std::optional<Dict> changes{};
  bool is_whole = false;  // `changes` must have all arguments.
};

Error Bad(std::string what) {
  return Error(ErrorCode::kInvalidArgument, std::move(what));
}

const Value* FirstOf(const Dict& object, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    const Value* value = object.Find(name);
    if (value != nullptr && !value->is_none()) return value;
  }
  return nullptr;
}

bool IsOneOf(const Value& key, std::initializer_list<std::string_view> names) {
  const auto* name = key.If<std::string>();
  return name != nullptr && std::ranges::find(names, *name) != names.end();
}

Dict Without(const Dict& object, std::initializer_list<std::string_view> names) {
  Dict rest;
  for (const auto& item : object.items) {
    if (!IsOneOf(item.first, names)) rest.items.push_back(item);
  }
  return rest;
}

Result<void> ReadChanges(const Dict& payload, Entry& entry) {
  const Value* whole = FirstOf(payload, {"editedArgs", "edited_args"});
  const Value* some = FirstOf(payload, {"arguments"});
  Dict flat = Without(payload,
                      {"approved", "accepted", "reason", "editedArgs", "edited_args", "arguments"});
  const int ways = (whole != nullptr) + (some != nullptr) + !flat.items.empty();
  if (ways > 1) return Bad("arguments can be changed in one way only: \"editedArgs\" has all");
  if (ways == 0) return {};
  if (!flat.items.empty()) {
    entry.changes = std::move(flat);
    return {};
  }
  const auto* changes = (whole != nullptr ? whole : some)->If<Dict>();
  if (changes == nullptr) return Bad("changed arguments must be an object");
  entry.changes = *changes;
  entry.is_whole = whole != nullptr;
  return {};
}

Result<void> ReadPayload(const Value& value, Entry& entry) {
  const auto* payload = value.If<Dict>();
  if (payload == nullptr) return Bad("the payload of an answer must be an object");
  const Value* verdict = FirstOf(*payload, {"approved", "accepted"});
  const auto* approve = verdict == nullptr ? nullptr : verdict->If<bool>();
  if (approve == nullptr) return Bad("the payload of an answer needs \"approved\": true or false");
  const auto* again = FindAs<bool>(*payload, "accepted");
  if (again != nullptr && *again != *approve) return Bad("\"approved\" and \"accepted\" differ");
  entry.approve = *approve;
  if (const Value* reason = FirstOf(*payload, {"reason"})) {
    const auto* text = reason->If<std::string>();
    if (text == nullptr || text->size() > kMaxReasonBytes) {
      return Bad("\"reason\" must be a string of at most 4096 bytes");
    }
    entry.reason = *text;
  }
  TRY(ReadChanges(*payload, entry));
  if (entry.changes && !entry.approve) return Bad("a denial cannot change arguments");
  return {};
}

Result<Entry> ReadEntry(const Value& value) {
  const auto* object = value.If<Dict>();
  if (object == nullptr) return Bad("an answer must be an object");
  const Value* id = FirstOf(*object, {"interruptId", "interrupt_id", "id", "toolCallId"});
  const auto* text = id == nullptr ? nullptr : id->If<std::string>();
  if (text == nullptr || text->empty() || text->size() > kMaxIdBytes) {
    return Bad("an answer needs the \"interruptId\" of an interrupt");
  }
  Entry entry{.id = *text};
  if (const Value* status = FirstOf(*object, {"status"})) {
    const auto* word = status->If<std::string>();
    if (word == nullptr || (*word != "resolved" && *word != "cancelled")) {
      return Bad("\"status\" of an answer must be \"resolved\" or \"cancelled\"");
    }
    entry.cancelled = *word == "cancelled";
  }
  if (entry.cancelled) return entry;
  const Value* payload = FirstOf(*object, {"payload", "value", "response"});
  const Value rest =
      Without(*object, {"interruptId", "interrupt_id", "id", "toolCallId", "status", "metadata"});
  TRY(ReadPayload(payload == nullptr ? rest : *payload, entry));
  return entry;
}

// One answer alone, or in an object, is a list of one.
const List* EntriesOf(const Value& resume, List& made) {
  if (const auto* list = resume.If<List>()) return list;
  const auto* object = resume.If<Dict>();
  if (object == nullptr) return nullptr;
  if (const Value* inner = FirstOf(*object, {"interrupts", "interrupt"})) {
    if (const auto* list = inner->If<List>()) return list;
    made.items = {*inner};
  } else {
    made.items = {resume};
  }
  return &made;
}

Result<std::vector<Entry>> ReadEntries(const Value& resume) {
  List made;
  const List* list = EntriesOf(resume, made);
  if (list == nullptr) return Bad("\"resume\" must be a list of answers");
  if (list->items.empty() || list->items.size() > kMaxAnswers) {
    return Bad("\"resume\" must have 1 to 1000 answers");
  }
  std::vector<Entry> entries;
  std::set<std::string> ids;
  for (const Value& item : list->items) {
    TRY_ASSIGN(Entry entry, ReadEntry(item));
    if (!ids.insert(entry.id).second) return Bad("there are two answers to one interrupt");
    entries.push_back(std::move(entry));
  }
  return entries;
}

const OpenInterrupt* FindOpen(const std::vector<OpenInterrupt>& open, const std::string& id) {
  const auto found = std::ranges::find_if(open, [&](const OpenInterrupt& interrupt) {
    return interrupt.id == id || interrupt.tool_call == id;
  });
  return found == open.end() ? nullptr : &*found;
}

std::optional<ResumeRefusal> CheckChanges(const Entry& entry, const OpenInterrupt& interrupt) {
  if (!entry.changes) return std::nullopt;
  for (const auto& [key, value] : entry.changes->items) {
    const auto* name = key.If<std::string>();
    const Value* asked = name == nullptr ? nullptr : interrupt.arguments.Find(*name);
    if (asked == nullptr) {
      return ResumeRefusal{kResumeInvalid, "the call has no argument \"" +
                                               (name == nullptr ? "" : *name) + "\" to change"};
    }
  }
  if (!entry.is_whole || entry.changes->items.size() == interrupt.arguments.items.size()) {
    return std::nullopt;
  }
  return ResumeRefusal{kResumeInvalidResponse,
                       "\"editedArgs\" must have all arguments of the call; \"arguments\" can have "
                       "only those that change"};
}

ResumeVerdict Judge(std::vector<Entry> entries, const std::vector<OpenInterrupt>& open,
                    SystemTime now) {
  const bool cancelled = std::ranges::any_of(entries, &Entry::cancelled);
  // A closed interrupt can still be cancelled, so that a client can get past it.
  if (std::ranges::all_of(entries, &Entry::cancelled) && open.empty()) return ResumeCancelled{};
  ResumeAnswers answers;
  std::set<std::string> answered;
  for (Entry& entry : entries) {
    const OpenInterrupt* interrupt = FindOpen(open, entry.id);
    if (interrupt == nullptr) {
      if (entry.cancelled) continue;
      return ResumeRefusal{kResumeNotFound, "no interrupt of this thread is open under this id"};
    }
    if (!answered.insert(interrupt->id).second) {
      return ResumeRefusal{kResumeInvalid, "there are two answers to one interrupt"};
    }
    if (entry.cancelled) continue;
    if (interrupt->expires_at && *interrupt->expires_at <= now) {
      return ResumeRefusal{kResumeNotFound,
                           "the interrupt has expired and its call is denied; answer it with "
                           "\"cancelled\", or go on with a new message"};
    }
    if (auto refusal = CheckChanges(entry, *interrupt)) return *std::move(refusal);
    answers.push_back({.approval = ApprovalId(interrupt->id),
                       .approve = entry.approve,
                       .reason = std::move(entry.reason),
                       .changes = std::move(entry.changes)});
  }
  if (answered.size() < open.size()) {
    return ResumeRefusal{kResumeMissing, "every open interrupt needs an answer; " +
                                             std::to_string(open.size() - answered.size()) +
                                             " have none"};
  }
  if (cancelled) return ResumeCancelled{};
  return answers;
}

}  // namespace

ResumeVerdict JudgeResume(const Value& resume, const std::vector<OpenInterrupt>& open,
                          SystemTime now) {
  auto entries = ReadEntries(resume);
  if (!entries) return ResumeRefusal{kResumeInvalid, entries.error().message()};
  return Judge(*std::move(entries), open, now);
}

Dict ResponseSchema(const Dict& arguments) {
  Dict properties;
  List names;
  for (const auto& [key, value] : arguments.items) {
    properties.items.emplace_back(key, Dict{});
    names.items.push_back(key);
  }
  const Dict edited = Object({{"type", "object"},
                              {"description", "All arguments, to execute the call with these."},
                              {"properties", std::move(properties)},
                              {"required", std::move(names)},
                              {"additionalProperties", false}});
  return Object({{"type", "object"},
                 {"properties", Object({{"approved", Object({{"type", "boolean"}})},
                                        {"reason", Object({{"type", "string"}})},
                                        {"editedArgs", edited}})},
                 {"required", List{{Value("approved")}}}});
}

}  // namespace caisson::agui
