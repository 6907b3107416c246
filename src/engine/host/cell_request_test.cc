#include "engine/host/cell_request.h"

#include <gtest/gtest.h>

namespace caisson {
namespace {

TEST(RequestTest, DecodesToWhatTheGuestExpects) {
  RunRequest request{.code = std::string("print(1)\0\xff", 10), .tools = {"add", "send"}};
  request.limits.result_bytes = 300;
  std::string bytes;
  AppendRequest(request, AfterRun::kDiscard, bytes);
  auto value = DecodeValue(bytes);
  ASSERT_TRUE(value) << value.error().message();
  const Dict& dict = *value->If<Dict>();
  EXPECT_EQ(dict.items.size(), 3u);
  EXPECT_EQ(dict.Find("code")->If<Bytes>()->data, request.code);
  EXPECT_EQ(*dict.Find("result_bytes"), Value(std::int64_t{300}));
  EXPECT_EQ(*dict.Find("tools"),
            Value(List{{Value(std::string("add")), Value(std::string("send"))}}));
}

TEST(RequestTest, PolicyCheckAndPackagesAreThereWhenAskedFor) {
  RunRequest request{.code = "1"};
  request.policy = Value(std::int64_t{1});
  request.purpose = Purpose::kCheck;
  request.native_packages = std::make_shared<const std::vector<std::string>>(1, "numpy");
  std::string bytes;
  AppendRequest(request, AfterRun::kDiscard, bytes);
  auto value = DecodeValue(bytes);
  ASSERT_TRUE(value) << value.error().message();
  const Dict& dict = *value->If<Dict>();
  EXPECT_EQ(dict.items.size(), 5u);
  EXPECT_EQ(*dict.Find("policy"), Value(std::int64_t{1}));
  EXPECT_EQ(*dict.Find("check"), Value(true));
  EXPECT_EQ(*dict.Find("native_packages"), Value(List{{Value(std::string("numpy"))}}));
}

TEST(RequestTest, SaysWhetherAnotherRunFollows) {
  for (const AfterRun after : {AfterRun::kDiscard, AfterRun::kKeep}) {
    std::string bytes;
    AppendRequest({.code = "1"}, after, bytes);
    auto value = DecodeValue(bytes);
    ASSERT_TRUE(value) << value.error().message();
    const Value* keep = value->If<Dict>()->Find("keep");
    EXPECT_EQ(keep != nullptr && *keep == Value(true), after == AfterRun::kKeep);
  }
}

TEST(RequestTest, SignaturesStandInForNamesAndTheEnvironmentIsADict) {
  RunRequest request{.code = "1", .tools = {"add"}};
  std::string signatures;
  ASSERT_TRUE(
      EncodeValue(List{{Value(Dict{{{std::string("name"), std::string("add")}}})}}, signatures));
  request.signatures = std::make_shared<const std::string>(signatures);
  request.environment = std::make_shared<const std::map<std::string, std::string>>(
      std::map<std::string, std::string>{{"A", "b"}});
  std::string bytes;
  AppendRequest(request, AfterRun::kDiscard, bytes);
  auto value = DecodeValue(bytes);
  ASSERT_TRUE(value) << value.error().message();
  const Dict& dict = *value->If<Dict>();
  EXPECT_EQ(dict.items.size(), 4u);
  EXPECT_EQ(*dict.Find("tools"),
            Value(List{{Value(Dict{{{std::string("name"), std::string("add")}}})}}));
  EXPECT_EQ(*dict.Find("env"), Value(Dict{{{std::string("A"), std::string("b")}}}));
}

TEST(RequestTest, LongCodeKeepsItsLength) {
  for (const std::size_t size : {0u, 1u, 127u, 128u, 16'383u, 16'384u, 3'000'000u}) {
    std::string bytes;
    AppendRequest({.code = std::string(size, 'x')}, AfterRun::kDiscard, bytes);
    auto value = DecodeValue(bytes);
    ASSERT_TRUE(value) << size;
    EXPECT_EQ(value->If<Dict>()->Find("code")->If<Bytes>()->data.size(), size);
    EXPECT_EQ(value->If<Dict>()->Find("tools"), nullptr);
  }
}

TEST(RequestTest, FilesAreAListOfPairs) {
  std::string none;
  AppendFiles({}, {}, none);
  EXPECT_EQ(none, "");
  std::string bytes;
  AppendFiles({{"/input/a", std::make_shared<const std::string>("one")},
               {"/input/b", std::make_shared<const std::string>("")}},
              {}, bytes);
  auto value = DecodeValue(bytes);
  ASSERT_TRUE(value);
  const auto pair = [](std::string path, std::string contents) {
    return Value(Tuple{{Value(std::move(path)), Value(Bytes{std::move(contents)})}});
  };
  EXPECT_EQ(*value, Value(List{{pair("/input/a", "one"), pair("/input/b", "")}}));
}

TEST(RequestTest, MountsAreTuplesOfThree) {
  const MountPoint mounts[] = {
      {.guest_path = "/data", .mode = MountMode::kOverlay, .write_bytes_limit = 300},
      {.guest_path = "/work", .mode = MountMode::kReadOnly, .write_bytes_limit = UINT64_MAX}};
  std::string bytes;
  AppendFiles({}, mounts, bytes);
  auto value = DecodeValue(bytes);
  ASSERT_TRUE(value);
  const auto mount = [](std::string path, std::int64_t mode, std::int64_t limit) {
    return Value(Tuple{{Value(std::move(path)), Value(mode), Value(limit)}});
  };
  EXPECT_EQ(*value, Value(List{{mount("/data", 2, 300), mount("/work", 0, INT64_MAX)}}));
}

TEST(RequestTest, LimitsGoIntoTheHeader) {
  const Limits limits;
  const wire::StartHeader header = MakeStartHeader(limits);
  EXPECT_EQ(header.wall_ns, 10'000'000'000u);
  EXPECT_EQ(header.cpu_ns, 10'000'000'000u);
  EXPECT_EQ(header.memory_bytes, 256u << 20);
  EXPECT_EQ(header.stdout_bytes, 64u << 10);
  EXPECT_EQ(header.files, 100u);
  EXPECT_EQ(header.open_files, 64u);
  EXPECT_EQ(header.tool_calls, 1000u);
  EXPECT_EQ(header.message_bytes, 8u << 20);
  EXPECT_EQ(header.flags, 0u);
}

}  // namespace
}  // namespace caisson
