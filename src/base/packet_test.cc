#include "base/packet.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <string>

namespace caisson {
namespace {

class PacketTest : public ::testing::Test {
 protected:
  PacketTest() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
    ours_ = UniqueFd(ends[0]);
    theirs_ = UniqueFd(ends[1]);
  }
  Packet Receive() { return ReceivePacket(ours_.get(), buffer_, MSG_DONTWAIT); }

  UniqueFd ours_;
  UniqueFd theirs_;
  std::array<char, 16> buffer_{};
};

TEST_F(PacketTest, BytesAndDescriptorsArriveTogether) {
  const int sent[] = {ours_.get(), theirs_.get()};
  ASSERT_EQ(SendPacket(theirs_.get(), "head", "rest", sent), 0);
  const Packet packet = Receive();
  EXPECT_EQ(packet.bytes, "headrest");
  ASSERT_EQ(packet.descriptors.size(), 2u);
  EXPECT_NE(packet.descriptors[0].get(), sent[0]);
  EXPECT_FALSE(packet.is_cut);
  ASSERT_EQ(SendPacket(theirs_.get(), "next", {}, {}), 0);
  EXPECT_EQ(Receive().bytes, "next");
}

TEST_F(PacketTest, ReportsBytesAndDescriptorsThatDoNotFit) {
  ASSERT_EQ(SendPacket(theirs_.get(), std::string(17, 'x'), {}, {}), 0);
  EXPECT_TRUE(Receive().is_cut);
  const std::array<int, kMaxPacketDescriptors + 1> many{};
  EXPECT_EQ(SendPacket(theirs_.get(), "x", {}, many), EINVAL);
}

TEST_F(PacketTest, DistinguishesNoPacketFromAClosedPeer) {
  EXPECT_EQ(Receive().error, EAGAIN);
  theirs_ = UniqueFd();
  const Packet packet = Receive();
  EXPECT_EQ(packet.error, 0);
  EXPECT_TRUE(packet.bytes.empty());
  EXPECT_EQ(SendPacket(ours_.get(), "x", {}, {}), EPIPE);
}

}  // namespace
}  // namespace caisson
