// An ApiError is an error in the form that clients of the Responses API expect; the only place that
// maps errors to statuses.
//
//   {"error":{"message":"…","type":"invalid_request_error","param":"input","code":"invalid_value"}}
//
// Trust     Messages of errors that the client can act on are sent; those of internal errors go to
//           the log. An id of another owner gives the bytes of an unknown id (I4).
// Threads   Pure functions.
// Lifetime  Values.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "net/http_message.h"

namespace caisson::responses {

struct ApiError {
  int status = 400;
  std::string message;
  std::string param{};  // Empty: null.
  std::string code{};   // Empty: null.
  std::string log{};    // For the server's log only.
};

// kNever: a repeated request could run code again, so clients must not repeat it by themselves.
enum class Repeat { kClientDecides, kNever };

// Maps an error that says nothing about a particular field.
ApiError FromError(const Error& error);

std::string ErrorJson(const ApiError& error);
net::Response ToResponse(const ApiError& error, Repeat repeat = Repeat::kClientDecides);

// The answers about objects that are unknown or belong to another owner.
ApiError NoResponse(std::string_view id);
ApiError NoPreviousResponse(std::string_view id);
ApiError NoConversation(std::string_view id);
ApiError NoItem(std::string_view id);
ApiError NoModel(std::string_view name);
ApiError InvalidValue(std::string_view param, std::string message);

}  // namespace caisson::responses
