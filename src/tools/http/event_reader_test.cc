#include "tools/http/event_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace caisson {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> Events(EventReader& reader) {
  std::vector<std::string> events;
  while (auto event = reader.Next()) events.push_back(*std::move(event));
  return events;
}

std::vector<std::string> EventsOf(std::string_view text) {
  EventReader reader;
  reader.Put(text);
  return Events(reader);
}

TEST(EventReaderTest, AnEventEndsWithItsEmptyLine) {
  EventReader reader;
  reader.Put("data: one\n");
  EXPECT_THAT(Events(reader), IsEmpty());
  reader.Put("\ndata: two\n\ndata: thr");
  EXPECT_THAT(Events(reader), ElementsAre("one", "two"));
  reader.Put("ee\n\n");
  EXPECT_THAT(Events(reader), ElementsAre("three"));
}

TEST(EventReaderTest, LinesEndInAnyOfThreeWays) {
  EXPECT_THAT(EventsOf("data: a\r\n\r\ndata: b\r\rdata: c\n\n"), ElementsAre("a", "b", "c"));
}

TEST(EventReaderTest, ALineEndMayComeInTwoPieces) {
  EventReader reader;
  for (const char c : std::string_view("data: a\r\ndata: b\r\n\r\n")) reader.Put({&c, 1});
  EXPECT_THAT(Events(reader), ElementsAre("a\nb"));
}

TEST(EventReaderTest, AByteOrderMarkIsSkippedAtTheStartOnly) {
  EXPECT_THAT(EventsOf("\xef\xbb\xbf"
                       "data: a\n\n\xef\xbb\xbf"
                       "data: b\n\ndata: c\n\n"),
              ElementsAre("a", "c"));
}

TEST(EventReaderTest, OnlyDataCounts) {
  EXPECT_THAT(EventsOf(": a comment\nevent: message\nid: 7\ndatum: x\ndata\n\n\n\ndata:x\n\n"),
              ElementsAre("x"));
}

TEST(EventReaderTest, OneSpaceIsNotPartOfTheData) {
  EXPECT_THAT(EventsOf("data:  x \n\n"), ElementsAre(" x "));
}

TEST(EventReaderTest, AnEmptyDataFieldIsAnEmptyLine) {
  EXPECT_THAT(EventsOf("data:\ndata: x\n\ndata:\n\n"), ElementsAre("\nx", ""));
}

TEST(EventReaderTest, TheLastEventMayLackItsEnd) {
  EventReader reader;
  reader.Put("data: a\n\ndata: b");
  reader.End();
  EXPECT_THAT(Events(reader), ElementsAre("a", "b"));
}

}  // namespace
}  // namespace caisson
