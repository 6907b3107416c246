#include "store/sql/sql_connection.h"

#include <chrono>

#include "base/utf8.h"

namespace caisson {

std::string SqlRow::Blob(std::size_t i) const {
  return is_null(i) ? std::string() : std::get<Bytes>(columns_[i]).data;
}

std::optional<std::string> SqlRow::OptionalText(std::size_t i) const {
  return is_null(i) ? std::nullopt : std::optional(Text(i));
}

SystemTime SqlRow::Time(std::size_t i) const {
  return SystemTime(std::chrono::microseconds(Int(i)));
}

SqlValue ToSql(SystemTime time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
}

SqlValue ToSql(const std::optional<std::string>& text) {
  return text ? SqlValue(*text) : SqlValue();
}

Result<void> CheckParameters(const std::vector<SqlValue>& parameters) {
  for (const SqlValue& parameter : parameters) {
    const auto* const text = std::get_if<std::string>(&parameter);
    if (text != nullptr && (text->find('\0') != text->npos || !IsUtf8(*text))) {
      return Error(ErrorCode::kInvalidArgument, "text with a NUL, or that is not UTF-8");
    }
  }
  return {};
}

}  // namespace caisson
