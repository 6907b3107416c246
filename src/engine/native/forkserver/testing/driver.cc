#include "engine/native/forkserver/testing/driver.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/packet.h"

namespace caisson::forkserver {
namespace {

constexpr int kDeadlineMs = 20'000;

template <typename T>
std::string_view AsBytes(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

Value Str(std::string_view text) {
  return Value(std::string(text));
}

bool AwaitReadable(int fd) {
  pollfd ready{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&ready, 1, kDeadlineMs) > 0;
}

using Questions = std::optional<jail::SyscallListener>;

// The same, and meanwhile allows each system call that the cell must ask for.
bool AwaitReadable(int fd, const Questions& questions) {
  while (questions) {
    std::array<pollfd, 2> ready{{{.fd = fd, .events = POLLIN, .revents = 0},
                                 {.fd = questions->fd(), .events = POLLIN, .revents = 0}}};
    if (::poll(ready.data(), ready.size(), kDeadlineMs) <= 0) return false;
    if (ready[0].revents != 0) return true;
    const auto question = questions->Receive();
    if (!question) break;
    questions->Allow(*question);
  }
  return AwaitReadable(fd);
}

bool ReadExactly(int fd, char* to, std::size_t size, const Questions& questions) {
  while (size > 0) {
    if (!AwaitReadable(fd, questions)) return false;
    const ssize_t got = ::read(fd, to, size);
    if (got <= 0) return false;
    to += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

void WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;  // The cell is gone; the reader notices.
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

void Send(int fd, wire::ToWorker kind, std::string_view payload) {
  do {
    const std::string_view part = payload.substr(0, wire::kMaxFramePayload);
    payload.remove_prefix(part.size());
    const wire::StreamFrame frame{.length = static_cast<std::uint32_t>(part.size()),
                                  .kind = static_cast<std::uint16_t>(kind),
                                  .flags = payload.empty() ? std::uint16_t{0} : wire::kMoreFollows};
    WriteAll(fd, std::string(AsBytes(frame)) += part);
  } while (!payload.empty());
}

std::string Drain(int fd) {
  ::fcntl(fd, F_SETFL, O_NONBLOCK);
  std::string all;
  std::array<char, 65536> buffer{};
  for (ssize_t n = 0; (n = ::read(fd, buffer.data(), buffer.size())) > 0;) {
    all.append(buffer.data(), static_cast<std::size_t>(n));
  }
  return all;
}

std::string EncodeRequest(const std::string& code, const RunOptions& options) {
  Dict request;
  request.items.emplace_back(Str("code"), Bytes{code});
  request.items.emplace_back(Str("result_bytes"), Value(std::int64_t{128 << 10}));
  List tools;
  for (const std::string& tool : options.tools) tools.items.push_back(Str(tool));
  request.items.emplace_back(Str("tools"), std::move(tools));
  const bool keep = (options.flags & wire::kKeepCell) != 0;
  if (keep) request.items.emplace_back(Str("keep"), Value(true));
  std::string bytes;
  static_cast<void>(EncodeValue(std::move(request), bytes));
  return bytes;
}

std::string EncodeFiles(const RunOptions& options) {
  if (options.files.empty()) return {};
  List files;
  for (const auto& [path, contents] : options.files) {
    files.items.push_back(Tuple{{Str(path), Bytes{contents}}});
  }
  std::string bytes;
  static_cast<void>(EncodeValue(std::move(files), bytes));
  return bytes;
}

}  // namespace

std::string RunEnd::Text(std::string_view field) const {
  const Value* value = report.Find(field);
  const auto* text = value == nullptr ? nullptr : value->If<std::string>();
  return text == nullptr ? "-" : *text;
}

std::string RunEnd::ErrorText(std::string_view field) const {
  const Value* error = report.Find("error");
  const Value* value = error == nullptr ? nullptr : error->If<Dict>()->Find(field);
  const auto* text = value == nullptr ? nullptr : value->If<std::string>();
  return text == nullptr ? "-" : *text;
}

std::string RunEnd::Result() const {
  if (lost) return "lost";
  if (!refused.empty()) return "refused: " + refused;
  if (const Value* result = report.Find("result")) {
    auto json = ToJson(*result);
    return json ? *json : json.error().message();
  }
  const std::string error = ErrorText("type");
  return error == "-" ? Text("repr") : error + ": " + ErrorText("message");
}

void DrivenCell::Kill() const {
  ::syscall(SYS_pidfd_send_signal, pidfd.get(), SIGKILL, nullptr, 0);
}

pid_t DrivenCell::HostPid() const {
  std::ifstream info("/proc/self/fdinfo/" + std::to_string(pidfd.get()));
  std::string key;
  pid_t pid = -1;
  while (info >> key) {
    if (key == "Pid:" && info >> pid) return pid;
  }
  return -1;
}

void DrivenCell::SendStart(const std::string& code, const RunOptions& options) const {
  const std::string request = EncodeRequest(code, options);
  wire::StartHeader start{};
  start.wall_ns = start.cpu_ns = 10'000'000'000;
  start.memory_bytes = options.memory_bytes;
  start.stdout_bytes = start.stderr_bytes = 64 << 10;
  start.result_bytes = 128 << 10;
  start.file_bytes = 5 << 20;
  start.total_file_bytes = 25 << 20;
  start.files = 100;
  start.open_files = options.open_files;
  start.tool_calls = options.tool_calls;
  start.message_bytes = 8 << 20;
  start.request_length = static_cast<std::uint32_t>(request.size());
  start.flags = options.flags;
  std::string message(AsBytes(start));
  message += request;
  message += EncodeFiles(options);
  Send(socket.get(), options.again ? wire::ToWorker::kAgain : wire::ToWorker::kStart, message);
}

void DrivenCell::SendAnswer(std::uint32_t seq, const Value& value) const {
  const wire::AnswerHeader header{.seq = seq, .reserved = 0, .clock_ns = 0};
  std::string message(AsBytes(header));
  static_cast<void>(
      EncodeValue(Tuple{{Value(std::int64_t{seq}), Value(std::int64_t{0}), value}}, message));
  Send(socket.get(), wire::ToWorker::kAnswer, message);
}

std::optional<Message> DrivenCell::Receive() const {
  Message message;
  wire::StreamFrame frame{};
  do {
    if (!ReadExactly(socket.get(), reinterpret_cast<char*>(&frame), sizeof frame, questions))
      return {};
    const std::size_t before = message.payload.size();
    message.payload.resize(before + frame.length);
    if (!ReadExactly(socket.get(), message.payload.data() + before, frame.length, questions)) {
      return {};
    }
  } while ((frame.flags & wire::kMoreFollows) != 0);
  message.kind = static_cast<wire::ToHost>(frame.kind);
  return message;
}

RunEnd DrivenCell::Run(const std::string& code, const RunOptions& options, const Answerer& answer) {
  SendStart(code, options);
  RunEnd end;
  while (auto message = Receive()) {
    std::string_view payload = message->payload;
    if (message->kind == wire::ToHost::kRefused) {
      end.refused = payload;
      return end;
    }
    if (message->kind == wire::ToHost::kCall) {
      wire::CallHeader header{};
      std::memcpy(&header, payload.data(), sizeof header);
      auto call = DecodeValue(payload.substr(sizeof header));
      if (!call) break;
      const auto& parts = call->If<List>()->items;
      SendAnswer(header.seq, answer(*parts[0].If<std::string>(), parts[1].If<List>()->items));
      continue;
    }
    if (message->kind != wire::ToHost::kDone || payload.size() < sizeof end.done) break;
    std::memcpy(&end.done, payload.data(), sizeof end.done);
    auto report = DecodeValue(payload.substr(sizeof end.done));
    if (report && report->If<Dict>() != nullptr) end.report = *report->If<Dict>();
    return end;
  }
  end.lost = true;
  return end;
}

std::string DrivenCell::Output() const {
  return Drain(out.get());
}
std::string DrivenCell::ErrorOutput() const {
  return Drain(error_out.get());
}

Result<Driver> Driver::Start(jail::Tier tier, const std::vector<std::string>& arguments) {
  const UniqueFd program(::open(FORK_SERVER_PROGRAM, O_RDONLY | O_CLOEXEC));
  if (!program.is_open()) return Error::FromErrno(errno, "open " FORK_SERVER_PROGRAM);
  std::array<int, 2> control{};
  std::array<int, 2> log{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control.data()) != 0 ||
      ::pipe2(log.data(), O_CLOEXEC) != 0) {
    return Error::FromErrno(errno, "descriptors for the fork server");
  }
  const UniqueFd theirs(control[1]);
  const UniqueFd log_end(log[1]);
  std::vector<std::string> argv{"caisson-forkserver",
                                "--tier=" + std::string(jail::ToString(tier))};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  UniqueFd ours(control[0]);
  UniqueFd log_read(log[0]);
  TRY_ASSIGN(jail::Child child, jail::Spawn({.tier = tier,
                                             .program = &program,
                                             .argv = std::move(argv),
                                             .descriptors = {&theirs},
                                             .log = &log_end}));
  Driver driver(std::move(child), std::move(ours), std::move(log_read));
  const_cast<UniqueFd&>(theirs) = UniqueFd();  // Closed, so that its end is noticed.
  if (!driver.Take() || !driver.ready_) {
    // It closes the control socket before it reports why.
    static_cast<void>(driver.child_.WaitFor(std::chrono::milliseconds(kDeadlineMs)));
    return Error(ErrorCode::kUnavailable, "the fork server did not start: " + driver.Log());
  }
  return driver;
}

std::string Driver::Log() {
  return Drain(log_.get());
}

bool Driver::Take() {
  if (!AwaitReadable(control_.get())) return false;
  std::array<char, wire::kMaxControlBytes> buffer{};
  Packet packet = ReceivePacket(control_.get(), buffer);
  const std::string_view bytes = packet.bytes;
  if (packet.error != 0 || bytes.empty()) return false;
  wire::FromForkServer kind{};
  std::memcpy(&kind, bytes.data(), sizeof kind);
  if (kind == wire::FromForkServer::kReady) {
    ready_ = true;
    missing_ = bytes.substr(sizeof(wire::ForkServerReady));
    return true;
  }
  if (kind == wire::FromForkServer::kGone) {
    wire::CellGone gone{};
    std::memcpy(&gone, bytes.data(), sizeof gone);
    known_[gone.cell].gone = gone;
    return true;
  }
  wire::CellNews news{};
  std::memcpy(&news, bytes.data(), sizeof news);
  Known& cell = known_[news.cell];
  if (kind == wire::FromForkServer::kBorn) {
    cell.born = true;
    cell.pidfd = std::move(packet.descriptors.at(0));
  } else if (kind == wire::FromForkServer::kPrepared) {
    cell.prepared = cell.born;  // In this order only.
    cell.descriptors = std::move(packet.descriptors);
  } else {
    cell.failed = bytes.substr(sizeof news);
  }
  return true;
}

std::uint64_t Driver::Ask(std::uint32_t processes) {
  const wire::MakeCell request{.kind = wire::ToForkServer::kMake,
                               .processes = processes,
                               .cell = next_++,
                               .total_file_bytes = 25 << 20,
                               .files = 100,
                               .mounts = 0,
                               .groups = 0};
  ::send(control_.get(), &request, sizeof request, MSG_NOSIGNAL);
  known_[request.cell];
  return request.cell;
}

DrivenCell Driver::Make(std::uint32_t processes) {
  DrivenCell cell;
  cell.id = Ask(processes);
  AwaitPrepared(cell);
  return cell;
}

void Driver::AwaitPrepared(DrivenCell& cell) {
  Known& known = known_[cell.id];
  while (!known.prepared && known.failed.empty() && !known.gone) {
    if (!Take()) {
      cell.failed = "the fork server is gone: " + Log();
      return;
    }
  }
  cell.failed = known.failed;
  cell.prepared = known.prepared;
  cell.gone = known.gone;
  cell.pidfd = std::move(known.pidfd);
  if (known.descriptors.size() < wire::kCellDescriptors - 1) return;
  cell.socket = std::move(known.descriptors[0]);
  cell.out = std::move(known.descriptors[1]);
  cell.error_out = std::move(known.descriptors[2]);
  if (known.descriptors.size() >= wire::kCellDescriptors) {
    cell.files = std::move(known.descriptors[3]);
  }
  if (known.descriptors.size() > wire::kCellDescriptors) {
    cell.questions.emplace(std::move(known.descriptors[wire::kCellDescriptors]));
  }
}

void Driver::AwaitGone(DrivenCell& cell) {
  Known& known = known_[cell.id];
  cell.socket = UniqueFd();  // A cell that waits for more ends with its socket.
  while (!known.gone && Take()) {
  }
  cell.gone = known.gone;
  known_.erase(cell.id);
}

}  // namespace caisson::forkserver
