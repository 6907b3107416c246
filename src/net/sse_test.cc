#include "net/sse.h"

#include <gtest/gtest.h>

namespace caisson::net {
namespace {

TEST(Event, IsItsFieldsAndAnEmptyLine) {
  EXPECT_EQ(ToText(Event{.name = "output", .data = "{}", .id = "7"}),
            "event: output\nid: 7\ndata: {}\n\n");
  EXPECT_EQ(ToText(Event{}), "data: \n\n");
}

TEST(Event, LineEndsInDataStayData) {
  EXPECT_EQ(ToText(Event{.data = "a\nevent: b\r\n\rc\n"}),
            "data: a\ndata: event: b\ndata: \ndata: c\ndata: \n\n");
}

}  // namespace
}  // namespace caisson::net
