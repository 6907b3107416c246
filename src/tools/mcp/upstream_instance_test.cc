#include "tools/mcp/upstream_instance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>
#include <utility>
#include <vector>

#include "base/spawn.h"
#include "base/testing/test_loop.h"
#include "wire/canonical_json.h"
#include "wire/json.h"
#include "wire/object.h"

namespace caisson {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Dict Fields(std::string_view json) {
  return std::get<Dict>(ParseJson(json)->variant());
}

// The server's answers, by method.
struct Script {
  std::map<std::string, Result<Dict>> answers;
  std::vector<std::string> asked{};
  std::vector<std::string> versions{};
  OnListChanged on_list_changed{};
  std::optional<ToolProgress> tells{};  // Sent before it answers a call.
};

class ScriptedLink final : public UpstreamLink {
 public:
  ScriptedLink(const asio::any_io_executor& io, Script& script)
      : executor_(asio::make_strand(io)), script_(script) {}

  asio::any_io_executor executor() const override { return executor_; }
  asio::awaitable<Result<Dict>> Ask(std::string method, Dict, OnProgress on_progress) override {
    script_.asked.push_back(method);
    if (method == "tools/call" && on_progress && script_.tells) on_progress(*script_.tells);
    const auto found = script_.answers.find(method);
    if (found != script_.answers.end()) co_return found->second;
    co_return Error(ErrorCode::kFailedPrecondition, "there is no such method");
  }
  asio::awaitable<void> Tell(std::string method, Dict) override {
    script_.asked.push_back(method);
    co_return;
  }
  void SetVersion(std::string version) override { script_.versions.push_back(std::move(version)); }
  bool is_broken() const override { return broken_; }
  void Close() override { broken_ = true; }

 private:
  const asio::any_io_executor executor_;
  Script& script_;
  std::atomic<bool> broken_ = false;
};

constexpr std::string_view kAdd = R"({"inputSchema":{"type":"object"},"name":"add"})";

Script ServerWithAdd() {
  Script script;
  script.answers.emplace("tools/list", Fields(R"({"tools":[)" + std::string(kAdd) + "]}"));
  script.answers.emplace("tools/call", Fields(R"({"content":[],"structuredContent":7})"));
  return script;
}

class UpstreamInstanceTest : public ::testing::Test {
 protected:
  void Make(Script& script, FirstEra era) {
    UpstreamInstanceOptions options{.name = "up", .first_era = era};
    options.connect = [this,
                       &script](OnListChanged changed) -> Result<std::shared_ptr<UpstreamLink>> {
      script.on_list_changed = std::move(changed);
      return std::shared_ptr<UpstreamLink>(
          std::make_shared<ScriptedLink>(loop_.context().get_executor(), script));
    };
    options.on_listed = [this](const UpstreamDefinitions& definitions) { listed_ = definitions; };
    instance_ =
        std::make_shared<UpstreamInstance>(loop_.context().get_executor(), std::move(options));
  }

  template <typename T>
  T Now(asio::awaitable<T> work) {
    return loop_.Await(std::move(work));
  }

  std::string Raised(std::string definition) {
    const ToolAnswer answer = Now(instance_->Call("add", std::move(definition), {}, {}));
    const auto* raised = std::get_if<ToolRaised>(&answer);
    return raised == nullptr ? "" : raised->message;
  }

  TestLoop loop_;
  UpstreamDefinitions listed_;
  std::shared_ptr<UpstreamInstance> instance_;
};

TEST_F(UpstreamInstanceTest, AProgramIsFirstAskedInTheLegacyEra) {
  Script script = ServerWithAdd();
  script.answers.emplace("initialize", Fields(R"({"protocolVersion":"2025-06-18"})"));
  Make(script, FirstEra::kLegacy);
  ASSERT_TRUE(Now(instance_->Prepare()));
  EXPECT_THAT(script.asked, ElementsAre("initialize", "notifications/initialized", "tools/list"));
  EXPECT_THAT(script.versions, ElementsAre("", "2025-06-18"));
}

TEST_F(UpstreamInstanceTest, AProgramThatRefusesTheLegacyEraIsAskedInTheModernOne) {
  Script script = ServerWithAdd();
  script.answers.emplace("server/discover", Dict());
  Make(script, FirstEra::kLegacy);
  ASSERT_TRUE(Now(instance_->Prepare()));
  EXPECT_THAT(script.asked, ElementsAre("initialize", "server/discover", "tools/list"));
  EXPECT_THAT(script.versions, ElementsAre("", "2026-07-28"));
}

TEST_F(UpstreamInstanceTest, AUrlIsFirstAskedInTheModernEraAndThenInTheLegacyOne) {
  Script script = ServerWithAdd();
  script.answers.emplace("initialize", Dict());
  Make(script, FirstEra::kModern);
  ASSERT_TRUE(Now(instance_->Prepare()));
  EXPECT_THAT(script.asked, ElementsAre("server/discover", "initialize",
                                        "notifications/initialized", "tools/list"));
  EXPECT_THAT(script.versions, ElementsAre("2026-07-28", "", "2025-11-25"));
}

TEST_F(UpstreamInstanceTest, AWrongTokenIsNotRetriedInTheOtherEra) {
  Script script;
  script.answers.emplace("server/discover", Error(ErrorCode::kPermissionDenied, "a wrong token"));
  Make(script, FirstEra::kModern);
  const auto prepared = Now(instance_->Prepare());
  ASSERT_FALSE(prepared);
  EXPECT_EQ(prepared.error().code(), ErrorCode::kPermissionDenied);
  EXPECT_THAT(script.asked, ElementsAre("server/discover"));
}

TEST_F(UpstreamInstanceTest, AServerWithAnUnknownVersionIsRefused) {
  Script script = ServerWithAdd();
  script.answers.emplace("initialize", Fields(R"({"protocolVersion":"2025-06-18\r\nX-Evil: 1"})"));
  Make(script, FirstEra::kLegacy);
  const auto prepared = Now(instance_->Prepare());
  ASSERT_FALSE(prepared);
  EXPECT_THAT(prepared.error().message(), HasSubstr("supports no MCP version"));
  EXPECT_THAT(script.asked, ElementsAre("initialize", "server/discover"));
  EXPECT_THAT(script.versions, ElementsAre("", "2026-07-28"));
}

TEST_F(UpstreamInstanceTest, ACallReportsItsProgress) {
  Script script = ServerWithAdd();
  script.answers.emplace("initialize", Dict());
  script.tells = ToolProgress{.done = 3};
  Make(script, FirstEra::kLegacy);
  std::optional<double> told;
  const auto listen = [&told](const ToolProgress& progress) { told = progress.done; };
  EXPECT_EQ(std::get<Value>(Now(instance_->Call("add", std::string(kAdd), {}, listen))), Value(7));
  EXPECT_EQ(told, 3);
}

// I5: a tool is called only as it was shown to the approver.
TEST_F(UpstreamInstanceTest, AToolThatIsNotAsItWasShownIsNotCalled) {
  Script script = ServerWithAdd();
  script.answers.emplace("initialize", Dict());
  Make(script, FirstEra::kLegacy);
  ASSERT_TRUE(Now(instance_->Prepare()));
  script.answers.at("tools/list") =
      Fields(R"({"tools":[{"name":"add","description":"Another."}]})");
  script.on_list_changed();
  EXPECT_THAT(Raised(std::string(kAdd)), HasSubstr("has changed its tool"));
  script.answers.at("tools/list") = Fields(R"({"tools":[]})");
  script.on_list_changed();
  EXPECT_THAT(Raised(std::string(kAdd)), HasSubstr("has no tool \"add\" any more"));
  EXPECT_THAT(script.asked, Not(Contains("tools/call")));
}

TEST_F(UpstreamInstanceTest, AnEndlessListIsCutOff) {
  Script script = ServerWithAdd();
  script.answers.emplace("initialize", Dict());
  script.answers.at("tools/list") =
      Fields(R"({"tools":[)" + std::string(kAdd) + R"(],"nextCursor":"more"})");
  Make(script, FirstEra::kLegacy);
  ASSERT_TRUE(Now(instance_->Prepare()));
  EXPECT_EQ(std::ranges::count(script.asked, "tools/list"), 100);
}

TEST_F(UpstreamInstanceTest, EntriesThatAreNotToolsAreIgnored) {
  Script script = ServerWithAdd();
  script.answers.emplace("initialize", Dict());
  script.answers.at("tools/list") =
      Fields(R"({"tools":[5,{},{"name":7},{"name":"x"},)" + std::string(kAdd) + "]}");
  Make(script, FirstEra::kLegacy);
  ASSERT_TRUE(Now(instance_->Prepare()));
  EXPECT_EQ(listed_.size(), 2u);
  EXPECT_EQ(listed_.at("add").canonical, kAdd);
}

// The order of the properties is the order of the parameters.
TEST_F(UpstreamInstanceTest, TheOrderInWhichTheServerWritesAToolIsKept) {
  constexpr std::string_view kMove =
      R"({"name":"move","inputSchema":{"properties":{"source":{},"destination":{}}}})";
  Script script;
  script.answers.emplace("tools/list", Fields(R"({"tools":[)" + std::string(kMove) + "]}"));
  script.answers.emplace("initialize", Dict());
  Make(script, FirstEra::kLegacy);
  ASSERT_TRUE(Now(instance_->Prepare()));
  EXPECT_EQ(listed_.at("move").text, kMove);
}

TEST_F(UpstreamInstanceTest, AToolWrittenInAnotherOrderIsTheSameTool) {
  Script script = ServerWithAdd();
  script.answers.emplace("initialize", Dict());
  Make(script, FirstEra::kLegacy);
  ASSERT_TRUE(Now(instance_->Prepare()));
  const UpstreamDefinitions before = listed_;
  script.answers.at("tools/list") =
      Fields(R"({"tools":[{"name":"add","inputSchema":{"type":"object"}}]})");
  script.on_list_changed();
  EXPECT_EQ(Raised(std::string(kAdd)), "");
  EXPECT_EQ(listed_, before);
}

TEST_F(UpstreamInstanceTest, AMalformedListIsAnError) {
  Script script = ServerWithAdd();
  script.answers.emplace("initialize", Dict());
  script.answers.at("tools/list") = Fields(R"({"tools":"none"})");
  Make(script, FirstEra::kLegacy);
  const auto prepared = Now(instance_->Prepare());
  ASSERT_FALSE(prepared);
  EXPECT_THAT(prepared.error().message(), HasSubstr("lists no tools"));
}

}  // namespace
}  // namespace caisson
