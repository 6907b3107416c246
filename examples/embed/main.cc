// A program that runs Python code written by a model, and lets it call two functions of the
// program.
//
//   cmake -S . -B build -DCMAKE_PREFIX_PATH=/usr/local -DCMAKE_CXX_COMPILER=clang++-19
//   cmake --build build && build/embed
//
// An argument names the tier, for containers that refuse the default: build/embed landlock
#include <caisson/caisson.h>

#include <iostream>

namespace {

using caisson::Dict;
using caisson::Value;

// An example of code from a model.
constexpr const char* kCode = R"(
basket = {"apple": 3, "pear": 2}
total = sum(price(fruit) * count for fruit, count in basket.items())
print("that makes", total)
reserve(items=basket, note=f"{total} in all")
)";

std::shared_ptr<const caisson::Tool> PriceTool() {
  caisson::ToolDefinition price{.name = "price", .description = "What one fruit costs."};
  price.input_schema = *caisson::ParseJson(
      R"({"type": "object", "properties": {"fruit": {"enum": ["apple", "pear"]}}, "required": ["fruit"]})");
  return *caisson::Tool::Make(price, caisson::Inline([](const Dict& given) -> Value {
                                return *given.Find("fruit") == Value("apple") ? 2 : 3;
                              }));
}

std::shared_ptr<const caisson::Tool> ReserveTool() {
  caisson::ToolDefinition reserve{.name = "reserve", .description = "Puts fruit aside."};
  reserve.input_schema = *caisson::ParseJson(
      R"({"type": "object", "properties": {"items": {"type": "object"}, "note": {"type": "string"}}, "required": ["items"]})");
  return *caisson::Tool::Make(reserve, caisson::Inline([](const Dict& given) -> Value {
                                std::cout << "reserved: " << *caisson::ToJson(*given.Find("items"))
                                          << "\n";
                                return "R-1";
                              }));
}

}  // namespace

int main(int argc, char** argv) {
  caisson::HostOptions options;
  options.keeps = caisson::HostOptions::Keeps::kNothing;
  options.code.backend.installation = CAISSON_LIBEXEC_DIR;
  if (argc > 1) options.code.backend.tier = argv[1];
  options.code.setting.tools =
      std::make_shared<caisson::ToolSet>(std::vector{PriceTool(), ReserveTool()});

  const auto host = caisson::Host::Open(std::move(options));
  if (!host) {
    std::cerr << host.error().message() << "\n";
    return 1;
  }
  const auto run = (*host)->Run(kCode);
  if (!run) {
    std::cerr << run.error().message() << "\n";
    return 1;
  }
  for (const caisson::Content& content : caisson::ToContents(*run)) {
    if (const auto* text = std::get_if<caisson::TextContent>(&content))
      std::cout << text->text << "\n";
    if (const auto* error = std::get_if<caisson::ErrorContent>(&content))
      std::cout << error->message << "\n";
  }
  return run->outcome.status == caisson::RunStatus::kCompleted ? 0 : 1;
}
