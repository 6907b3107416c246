#include "guest/testing/fake_holder.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>

#include "guest/abi.h"

namespace caisson {
namespace {

// The state of the one guest of this process; a child has its own copy.
struct Holder {
  HolderOptions options;
  std::deque<std::string> inbox;
  std::vector<std::pair<std::int32_t, Value>> pending;  // Posted, not answered.
  std::int32_t next_seq = 0;
  Held held;
  int report_fd = -1;
};

Holder& TheHolder() {
  static Holder holder;
  return holder;
}

std::string Encode(const Value& value) {
  std::string bytes;
  if (!EncodeValue(value, bytes)) std::abort();
  return bytes;
}

Value Str(std::string_view text) {
  return Value(std::string(text));
}

Value Answer(std::int32_t seq, const Value& call) {
  const auto& parts = call.If<List>()->items;
  const std::string& name = *parts[0].If<std::string>();
  const auto& positional = parts[1].If<List>()->items;
  const auto& keywords = parts[2].If<Dict>()->items;
  const auto make = [&](std::int64_t outcome, Value value) {
    return Value(Tuple{{Value(std::int64_t{seq}), Value(outcome), std::move(value)}});
  };
  if (name == "echo" || name == "create_task") {
    if (positional.size() == 1 && keywords.empty()) return make(0, positional[0]);
    return make(0, List{{parts[1], parts[2]}});
  }
  if (name == "doubt") return make(1, Tuple{{Str("UncertainError"), Str("perhaps done")}});
  if (name == "fail") return make(1, Tuple{{Str("ValueError"), Str("boom")}});
  if (name == "deny") return make(2, Str("not today"));
  return make(1, Tuple{{Str("LookupError"), Str("no tool named " + name)}});
}

// Moves the answers to everything posted so far into the inbox, last posted first.
void AnswerAll(Holder& holder) {
  for (std::size_t i = holder.pending.size(); i-- > 0;) {
    holder.inbox.push_back(Encode(Answer(holder.pending[i].first, holder.pending[i].second)));
  }
  holder.pending.clear();
}

void WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written <= 0) _exit(99);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

std::string ReadAll(int fd) {
  std::string content;
  char chunk[65536];
  lseek(fd, 0, SEEK_SET);
  for (ssize_t size; (size = read(fd, chunk, sizeof chunk)) > 0;) {
    content.append(chunk, static_cast<std::size_t>(size));
  }
  close(fd);
  return content;
}

enum class Place { kLast, kBeforeAnother };

std::string EncodeRequest(const std::string& code, Place place, const HolderOptions& options) {
  Dict request;
  request.items.emplace_back(Str("code"), Bytes{code});
  request.items.emplace_back(Str("result_bytes"), Value(options.result_bytes));
  List tools = options.described_tools;
  for (const std::string& tool : options.tools) tools.items.push_back(Str(tool));
  request.items.emplace_back(Str("tools"), std::move(tools));
  if (options.argv0) request.items.emplace_back(Str("argv0"), Str(*options.argv0));
  if (place == Place::kBeforeAnother) request.items.emplace_back(Str("keep"), Value(true));
  for (const auto& [key, value] : options.more.items) request.items.emplace_back(key, value);
  return Encode(std::move(request));
}

void BootOnce() {
  static const int booted = caisson_boot();
  if (booted != 0) {
    std::fprintf(stderr, "caisson_boot failed: %d\n", booted);
    std::abort();
  }
}

std::int64_t CpuNow() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

void LimitMemory(std::size_t bytes) {
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  unsigned long pages = 0;
  if (file == nullptr || std::fscanf(file, "%lu", &pages) != 1) _exit(95);
  std::fclose(file);
  const rlim_t limit = pages * static_cast<unsigned long>(sysconf(_SC_PAGESIZE)) + bytes;
  const rlimit both = {.rlim_cur = limit, .rlim_max = limit};
  if (setrlimit(RLIMIT_AS, &both) != 0) _exit(95);
}

// The child: runs all pieces, then writes the results for the parent.
[[noreturn]] void RunChild(const std::vector<std::string>& pieces, const HolderOptions& options,
                           int report_fd) {
  Holder& holder = TheHolder();
  holder.options = options;
  holder.report_fd = report_fd;
  if (options.memory_bytes > 0) LimitMemory(options.memory_bytes);
  List run_ns;
  for (const std::string& code : pieces) {
    holder.inbox.clear();
    const Place place = &code == &pieces.back() ? Place::kLast : Place::kBeforeAnother;
    holder.inbox.push_back(EncodeRequest(code, place, options));
    const std::int64_t start = CpuNow();
    if (caisson_run() != 0) _exit(98);
    run_ns.items.emplace_back(CpuNow() - start);
  }
  const Held& held = holder.held;
  WriteAll(report_fd,
           Encode(Tuple{{Value(std::int64_t{held.calls}), Value(std::int64_t{held.most_in_flight}),
                         Value(held.waited_ns), std::move(run_ns)}}));
  _exit(0);
}

// A frame is a length of four bytes and a value. The child's counters follow the last one.
void ReadReports(const std::string& content, std::size_t pieces, Held& held) {
  std::string_view rest = content;
  while (held.reports.size() < pieces && rest.size() >= 4) {
    std::uint32_t size;
    std::memcpy(&size, rest.data(), 4);
    auto report = DecodeValue(rest.substr(4, size));
    if (!report || report->If<Dict>() == nullptr) {
      held.crashed = true;
      return;
    }
    held.reports.push_back(*report->If<Dict>());
    rest.remove_prefix(4 + std::size_t{size});
  }
  const auto counters = DecodeValue(rest);
  if (!counters) return;
  const auto& items = counters->If<Tuple>()->items;
  held.calls = static_cast<int>(*items[0].If<std::int64_t>());
  held.most_in_flight = static_cast<int>(*items[1].If<std::int64_t>());
  held.waited_ns = *items[2].If<std::int64_t>();
  for (const Value& ns : items[3].If<List>()->items) {
    held.run_ns.push_back(*ns.If<std::int64_t>());
  }
}

}  // namespace

Held Hold(const std::vector<std::string>& pieces, const HolderOptions& options) {
  BootOnce();
  const int out = memfd_create("stdout", 0);
  const int error_out = memfd_create("stderr", 0);
  const int report = memfd_create("report", 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(out, 1);
    dup2(error_out, 2);
    RunChild(pieces, options, report);
  }
  int status = 0;
  waitpid(child, &status, 0);
  Held held;
  held.crashed = !WIFEXITED(status) || WEXITSTATUS(status) != 0;
  held.out = ReadAll(out);
  held.error_out = ReadAll(error_out);
  ReadReports(ReadAll(report), pieces.size(), held);
  return held;
}

const Value* Held::Field(std::string_view name) const {
  return reports.empty() ? nullptr : reports.back().Find(name);
}

std::string Held::End() const {
  const Value* end = Field("end");
  return crashed ? "crashed" : end == nullptr ? "no report" : *end->If<std::string>();
}

std::string Held::ResultJson() const {
  const Value* result = Field("result");
  if (result == nullptr) return "-";
  auto json = ToJson(*result);
  return json ? *json : json.error().message();
}

std::string Held::Repr() const {
  const Value* repr = Field("repr");
  return repr == nullptr ? "-" : *repr->If<std::string>();
}

std::string Held::Error(std::string_view field) const {
  const Value* error = Field("error");
  const Value* text = error == nullptr ? nullptr : error->If<Dict>()->Find(field);
  const auto* string = text == nullptr ? nullptr : text->If<std::string>();
  return string == nullptr ? "-" : *string;
}

std::int64_t Held::ErrorLine() const {
  const Value* error = Field("error");
  const Value* line = error == nullptr ? nullptr : error->If<Dict>()->Find("line");
  const auto* number = line == nullptr ? nullptr : line->If<std::int64_t>();
  return number == nullptr ? -1 : *number;
}

}  // namespace caisson

using caisson::TheHolder;

int32_t host_wait(int32_t seq, int64_t timeout_ns) {
  caisson::Holder& holder = TheHolder();
  AnswerAll(holder);
  if (!holder.inbox.empty()) return 1;
  if (seq != CAISSON_ANY_CALL || timeout_ns < 0) _exit(97);  // It would wait forever.
  holder.held.waited_ns += timeout_ns;
  timespec duration = {.tv_sec = timeout_ns / 1'000'000'000, .tv_nsec = timeout_ns % 1'000'000'000};
  nanosleep(&duration, nullptr);
  return 0;
}

void host_wake(void) {}  // There are no threads here.

int32_t host_post(const void* message, uint32_t length) {
  caisson::Holder& holder = TheHolder();
  auto call = caisson::DecodeValue({static_cast<const char*>(message), length});
  if (!call) _exit(96);
  if (holder.next_seq >= holder.options.max_calls) return CAISSON_POST_TOO_BIG;
  holder.pending.emplace_back(holder.next_seq, *std::move(call));
  holder.held.calls++;
  holder.held.most_in_flight =
      std::max(holder.held.most_in_flight, static_cast<int>(holder.pending.size()));
  return holder.next_seq++;
}

uint32_t host_take(void* out, uint32_t capacity) {
  caisson::Holder& holder = TheHolder();
  if (holder.inbox.empty()) return 0;
  const std::string& message = holder.inbox.front();
  const auto size = static_cast<uint32_t>(message.size());
  if (size > capacity) return size;
  std::memcpy(out, message.data(), size);
  holder.inbox.pop_front();
  return size;
}

void host_report(const void* message, uint32_t length) {
  const int fd = TheHolder().report_fd;
  caisson::WriteAll(fd, {reinterpret_cast<const char*>(&length), sizeof length});
  caisson::WriteAll(fd, {static_cast<const char*>(message), length});
}
