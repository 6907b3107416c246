#include "server/configured_workflows.h"

#include <filesystem>
#include <fstream>
#include <utility>

#include "config/toml_document.h"

namespace caisson {
namespace {

Result<std::string> ReadWhole(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    return Error(ErrorCode::kNotFound, "there is no file " + path);
  }
  std::ifstream file(path, std::ios::binary);
  std::string text(kMaxLocatedBytes + 1, '\0');
  if (!file.read(text.data(), static_cast<std::streamsize>(text.size())) && !file.eof()) {
    return Error(ErrorCode::kNotFound, "cannot read " + path);
  }
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

Result<LocatedValue> Parse(const std::string& path, std::string_view text) {
  if (!path.ends_with(".json")) return ParseLocatedToml(text, path);
  auto document = ParseLocatedJson(text);
  if (!document) return std::move(document).error().Context(path);
  return document;
}

}  // namespace

Result<std::shared_ptr<const Workflow>> LoadWorkflow(const std::string& path,
                                                     const Workflows& known) {
  TRY_ASSIGN(const std::string text, ReadWhole(path));
  TRY_ASSIGN(const LocatedValue document, Parse(path, text));
  const auto find = [&](std::string_view name) -> std::shared_ptr<const Workflow> {
    for (const auto& each : known) {
      if (each->name() == name) return each;
    }
    return nullptr;
  };
  return ReadDeclaration(document, path, find);
}

Result<Workflows> LoadWorkflows(const Config& config) {
  Workflows workflows;
  for (const WorkflowConfig& each : config.workflows) {
    const std::string path = std::filesystem::path(config.directory) / each.file;
    TRY_ASSIGN(auto workflow, LoadWorkflow(path, workflows));
    if (workflow->name() != each.name) {
      return Error(ErrorCode::kInvalidArgument,
                   path + ": the workflow is named \"" + workflow->name() +
                       "\", but the configuration names it \"" + each.name + "\"");
    }
    for (const AgentConfig& agent : config.agents) {
      if (agent.name != each.name) continue;
      return Error(ErrorCode::kInvalidArgument, "a workflow and an agent have the name \"" +
                                                    each.name + "\"; rename one of them");
    }
    workflows.push_back(std::move(workflow));
  }
  return workflows;
}

WorkflowHost::WorkflowHost(Host& host, Workflows workflows)
    : checkpoints_(host.state().store().checkpoints(), host.state().keys()),
      run_steps_({.runs = host.runs(), .keep = host.state().retention().finished_runs}),
      steps_(host.turns(), host.runs(), run_steps_),
      service_({.checkpoints = checkpoints_,
                .steps = steps_,
                .workflows = std::move(workflows),
                .audit = &host.state().store().audit(),
                .caller_host = &host.code().caller_host()}),
      turns_({.workflows = service_,
              .runs = host.runs(),
              .responses = host.state().store().responses()}),
      all_({&turns_, &host.turns()}) {}

}  // namespace caisson
