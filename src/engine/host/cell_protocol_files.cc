// Handles a cell's requests about files of the host and the changes it made to them.
#include <boost/asio/post.hpp>
#include <cstring>
#include <utility>

#include "engine/host/cell_protocol.h"

namespace caisson {
namespace {

using wire::FileError;

constexpr std::size_t kMaxPathBytes = 4096;

Error Violation(const char* what) {
  return Error(ErrorCode::kInternal, std::string("the cell broke the protocol: ") + what);
}

template <typename T>
std::optional<T> TakeHeader(std::string_view& message) {
  T header;
  if (message.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, message.data(), sizeof header);
  message.remove_prefix(sizeof header);
  return header;
}

template <typename T>
std::string_view AsBytes(const T& pod) {
  return {reinterpret_cast<const char*>(&pod), sizeof pod};
}

std::string Encode(const std::vector<HostEntry>& entries) {
  std::string out;
  for (const HostEntry& entry : entries) {
    const wire::ListedHeader header{
        .version = entry.version,
        .name_length = static_cast<std::uint16_t>(entry.name.size()),
        .directory = entry.directory ? std::uint16_t{1} : std::uint16_t{0},
        .reserved = 0};
    out.append(AsBytes(header)).append(entry.name);
  }
  return out;
}

}  // namespace

void CellProtocol::UseHostFiles(std::shared_ptr<HostFiles> files, asio::any_io_executor lane) {
  host_files_ = std::move(files);
  lane_ = std::move(lane);
}

std::span<const MountPoint> CellProtocol::mounts() const {
  return host_files_ ? host_files_->mounts() : std::span<const MountPoint>();
}

// Runs off the lane until the last step. Meanwhile the worker may have been told to stop, or be
// gone.
std::move_only_function<void(FileError, std::string)> CellProtocol::FileAnswerer(
    std::uint32_t number) {
  open_file_request_ = ++file_requests_;
  return [weak = weak_from_this(), lane = lane_, request = open_file_request_, number](
             FileError error, std::string bytes) {
    asio::post(lane, [weak, request, number, error, bytes = std::move(bytes)] {
      if (auto protocol = weak.lock()) protocol->AnswerFile(request, number, error, bytes);
    });
  };
}

Result<void> CellProtocol::OnFileList(std::string_view message) {
  const auto header = TakeHeader<wire::FileListHeader>(message);
  if (!header || header->mount >= mounts().size()) return Violation("a bad file request");
  if (open_file_request_ != 0) return Violation("two file requests at once");
  host_files_->List(header->mount, std::string(message),
                    [answer = FileAnswerer(header->number)](auto entries) mutable {
                      if (entries) return answer(FileError::kNone, Encode(*entries));
                      answer(entries.error(), {});
                    });
  return {};
}

Result<void> CellProtocol::OnFileRead(std::string_view message) {
  const auto header = TakeHeader<wire::FileReadHeader>(message);
  if (!header || header->mount >= mounts().size() || header->length > wire::kMaxReadBytes) {
    return Violation("a bad file request");
  }
  if (open_file_request_ != 0) return Violation("two file requests at once");
  host_files_->Read(header->mount,
                    {.path = std::string(message),
                     .version = header->version,
                     .offset = header->offset,
                     .length = header->length,
                     .exact = header->exact != 0},
                    [answer = FileAnswerer(header->number)](auto bytes) mutable {
                      if (bytes) return answer(FileError::kNone, *std::move(bytes));
                      answer(bytes.error(), {});
                    });
  return {};
}

void CellProtocol::AnswerFile(std::uint64_t request, std::uint32_t number, FileError error,
                              std::string_view bytes) {
  if (request != open_file_request_) return;  // The run has ended.
  open_file_request_ = 0;
  const wire::FileAnswerHeader header{.number = number, .error = error};
  auto sent = link_->Send(wire::ToWorker::kFileAnswer, id_, AsBytes(header), bytes);
  if (!sent) Distrust(sent.error().message());
}

Result<void> CellProtocol::OnChange(std::string_view message) {
  const auto header = TakeHeader<wire::ChangeHeader>(message);
  if (!header || header->mount >= mounts().size() || header->directory > 1 ||
      header->file.change > 2 || header->file.path_length > message.size() ||
      header->file.path_length > kMaxPathBytes ||
      mounts()[header->mount].mode == MountMode::kReadOnly) {
    return Violation("a bad change");
  }
  const std::string_view path = message.substr(0, header->file.path_length);
  message.remove_prefix(path.size());
  HostChange change{.mount = header->mount,
                    .path = std::string(path),
                    .change = static_cast<FileChange>(header->file.change),
                    .seen = header->seen};
  if (header->directory != 0) {
    if (!message.empty() || changes_.size() >= 4 * limits_.files + 1024) {
      return Violation("a bad change of a directory");
    }
  } else {
    change.file = outcome_.files.size();
    TRY(KeepFile(header->file, mounts()[header->mount].guest_path + '/' + change.path,
                 std::string(message)));
    change.omitted = outcome_.files.back().omitted;
  }
  changes_.push_back(std::move(change));
  return {};
}

void CellProtocol::Settle(Outcome outcome, RunDone done) {
  if (!layer_.entries.empty()) {
    return host_files_->SettleLayer(std::exchange(layer_, {}), std::move(outcome), std::move(done));
  }
  if (changes_.empty()) return done(std::move(outcome));
  host_files_->Settle(std::exchange(changes_, {}), std::move(outcome), std::move(done));
}

}  // namespace caisson
