// Sample arguments with which the demo model calls tools that it does not know.
//
// Trust     Schemas and signatures may be an upstream's. They are only read.
// Threads   Pure functions.
// Lifetime  Keep nothing.
#pragma once

#include <string>
#include <string_view>

#include "model/model.h"
#include "wire/value.h"

namespace caisson::model {

// Returns arguments that fit a simple schema: one for each required property.
Dict SampleArguments(const Value& input_schema);

// Returns Python code that calls the first function of `signatures` whose name has "send" or
// "mail", with an argument for each required parameter. `signatures` is text with definitions such
// as "def send(to: str, subject: str = ...) -> Any:". Empty: there is no such function.
std::string SendingCall(std::string_view signatures);

}  // namespace caisson::model
