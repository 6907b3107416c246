#include "engine/host/admission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace caisson {
namespace {

using LaneState = Admission::LaneState;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const OwnerId kAnn("ann");

std::unique_ptr<Admission> Make(Admission::Options options) {
  auto admission = std::make_unique<Admission>(options);
  for (std::size_t i = 0; i < options.lanes; ++i) admission->SetLane(i, LaneState::kUp);
  return admission;
}

// Keeps the places granted to waiting requests, in the order in which they were granted.
struct Line {
  explicit Line(Admission& line_admission) : admission(line_admission) {}
  ~Line() { admission.Close(); }  // No request gets a place while the places are returned.

  Admission::Ticket Join(const std::string& owner) {
    auto ticket = admission.Join(OwnerId(owner), [this, owner](Result<Admission::Place> place) {
      served.push_back(place ? owner : owner + ": " + place.error().message());
      if (place) places.push_back(std::make_unique<Admission::Place>(*std::move(place)));
    });
    EXPECT_TRUE(ticket) << ticket.error().message();
    return ticket ? *ticket : 0;
  }

  Admission& admission;
  std::vector<std::string> served;
  std::vector<std::unique_ptr<Admission::Place>> places;
};

TEST(AdmissionTest, PrefersTheCallersLaneThenTheEmptiest) {
  auto admission = Make({.lanes = 3, .cells_per_lane = 2, .cells = 6});
  auto a = *admission->TryTake(kAnn, 1);
  auto b = *admission->TryTake(kAnn, 1);
  EXPECT_EQ(a->lane(), 1u);
  EXPECT_EQ(b->lane(), 1u);
  auto c = *admission->TryTake(kAnn, 1);
  EXPECT_NE(c->lane(), 1u);
  auto d = *admission->TryTake(kAnn, std::nullopt);
  EXPECT_NE(d->lane(), 1u);
  EXPECT_NE(d->lane(), c->lane());
  EXPECT_EQ(admission->live(), 4u);
}

TEST(AdmissionTest, ARequestForOneLaneGetsThatOneOrNone) {
  auto admission = Make({.lanes = 2, .cells_per_lane = 1, .cells = 2});
  auto first = *admission->TryTakeOn(kAnn, 1);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->lane(), 1u);
  EXPECT_FALSE(*admission->TryTakeOn(kAnn, 1));
  EXPECT_TRUE(*admission->TryTakeOn(kAnn, 0));
  first.reset();
  EXPECT_TRUE(*admission->TryTakeOn(kAnn, 1));
  admission->SetLane(1, LaneState::kStarting);
  EXPECT_FALSE(*admission->TryTakeOn(kAnn, 1));
  admission->Close();
  EXPECT_FALSE(admission->TryTakeOn(kAnn, 0));
}

TEST(AdmissionTest, TurnsGoRoundBetweenOwners) {
  auto admission = Make({.lanes = 1, .cells_per_lane = 1, .cells = 1});
  Line line(*admission);
  auto held = *admission->TryTake(kAnn, 0);
  for (int i = 0; i < 4; ++i) line.Join("greedy");
  line.Join("ann");
  line.Join("bob");
  line.Join("ann");
  held.reset();
  while (line.served.size() < 7) {
    ASSERT_EQ(line.places.size(), 1u);
    auto place = std::exchange(line.places, {});
  }
  EXPECT_THAT(line.served,
              ElementsAre("greedy", "ann", "bob", "greedy", "ann", "greedy", "greedy"));
}

TEST(AdmissionTest, NobodyOvertakesThoseWhoWait) {
  auto admission = Make({.lanes = 2, .cells_per_lane = 1, .cells = 2});
  Line line(*admission);
  auto a = *admission->TryTake(kAnn, 0);
  auto b = *admission->TryTake(kAnn, 1);
  line.Join("x");
  line.Join("y");
  a.reset();
  EXPECT_THAT(line.served, ElementsAre("x"));
  EXPECT_FALSE(admission->TryTake(kAnn, 0)->has_value());
}

TEST(AdmissionTest, LeavingGivesTheTurnToTheNext) {
  auto admission = Make({.lanes = 1, .cells_per_lane = 1, .cells = 1});
  Line line(*admission);
  auto held = *admission->TryTake(kAnn, 0);
  const auto ticket = line.Join("x");
  line.Join("y");
  EXPECT_TRUE(admission->Leave(ticket));
  EXPECT_FALSE(admission->Leave(ticket));
  held.reset();
  EXPECT_THAT(line.served, ElementsAre("y"));
  EXPECT_EQ(admission->waiting(), 0u);
}

TEST(AdmissionTest, RefusesWhenTooManyWait) {
  auto admission = Make(
      {.lanes = 1, .cells_per_lane = 1, .cells = 1, .max_waiting = 3, .max_waiting_per_owner = 2});
  Line line(*admission);
  auto held = *admission->TryTake(kAnn, 0);
  line.Join("x");
  line.Join("x");
  auto refused = admission->Join(OwnerId("x"), [](Result<Admission::Place>) { FAIL(); });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kResourceExhausted);
  line.Join("y");
  EXPECT_FALSE(admission->Join(OwnerId("z"), [](Result<Admission::Place>) { FAIL(); }));
  EXPECT_EQ(admission->refused(), 2u);
}

TEST(AdmissionTest, OneOwnerHoldsNoMoreThanItsShare) {
  auto admission = Make({.lanes = 2, .cells_per_lane = 10, .cells = 20, .cells_per_owner = 3});
  Line line(*admission);
  std::vector<Admission::Place> places;
  for (int i = 0; i < 3; ++i) places.push_back(**admission->TryTake(kAnn, 0));
  EXPECT_FALSE(admission->TryTake(kAnn, 0)->has_value());
  EXPECT_FALSE(admission->TryTakeOn(kAnn, 1)->has_value());
  line.Join("ann");
  EXPECT_TRUE(line.served.empty());
  // Another owner gets a place at once, although somebody waits.
  EXPECT_TRUE(admission->TryTake(OwnerId("bob"), 0)->has_value());
  line.Join("bob");
  EXPECT_THAT(line.served, ElementsAre("bob"));
  places.pop_back();
  EXPECT_THAT(line.served, ElementsAre("bob", "ann"));
}

TEST(AdmissionTest, HoweverManyOwnersTakeAllTheyCanTheNextOneStartsAtOnce) {
  auto admission = Make({.lanes = 1, .cells_per_lane = 100, .cells = 100, .cells_per_owner = 50});
  Line line(*admission);
  std::vector<Admission::Place> places;
  for (const char* owner : {"a", "b", "c", "d", "e"}) {
    std::size_t own = 0;
    while (true) {
      auto place = admission->TryTake(OwnerId(owner), 0);
      ASSERT_TRUE(place);
      if (!place->has_value()) break;
      places.push_back(**std::move(place));
      ++own;
    }
    EXPECT_GE(own, 1u) << owner;
    line.Join(owner);
  }
  EXPECT_TRUE(admission->TryTake(kAnn, 0)->has_value());
  EXPECT_TRUE(line.served.empty());
}

TEST(AdmissionTest, AFullLineOfOneOwnerRefusesThatOwner) {
  auto admission = Make({.lanes = 1,
                         .cells_per_lane = 4,
                         .cells = 4,
                         .cells_per_owner = 1,
                         .max_waiting_per_owner = 1});
  Line line(*admission);
  auto held = *admission->TryTake(kAnn, 0);
  line.Join("ann");
  auto refused = admission->Join(kAnn, [](Result<Admission::Place>) { FAIL(); });
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("too many of your runs"));
  EXPECT_TRUE(admission->TryTake(OwnerId("bob"), 0)->has_value());
}

TEST(AdmissionTest, OnlyLanesThatAreUpGetCells) {
  auto admission = Make({.lanes = 2, .cells_per_lane = 1, .cells = 2});
  Line line(*admission);
  admission->SetLane(0, LaneState::kStarting);
  auto place = *admission->TryTake(kAnn, 0);
  EXPECT_EQ(place->lane(), 1u);
  EXPECT_FALSE(admission->TryTake(kAnn, 0)->has_value());
  line.Join("x");
  EXPECT_TRUE(line.served.empty());
  admission->SetLane(0, LaneState::kUp);
  EXPECT_THAT(line.served, ElementsAre("x"));
}

TEST(AdmissionTest, WhenAllLanesAreDownEverybodyIsToldWhy) {
  auto admission = Make({.lanes = 2, .cells_per_lane = 1, .cells = 2});
  Line line(*admission);
  auto a = *admission->TryTake(kAnn, 0);
  auto b = *admission->TryTake(kAnn, 1);
  line.Join("x");
  admission->SetLane(0, LaneState::kDown, "no user namespaces");
  EXPECT_TRUE(line.served.empty());
  admission->SetLane(1, LaneState::kDown, "no user namespaces");
  EXPECT_THAT(line.served, ElementsAre(HasSubstr("no user namespaces")));
  auto refused = admission->TryTake(kAnn, 0);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kUnavailable);
}

TEST(AdmissionTest, ClosingRefusesThoseWhoWaitAndThoseWhoCome) {
  auto admission = Make({.lanes = 1, .cells_per_lane = 1, .cells = 1});
  Line line(*admission);
  auto held = *admission->TryTake(kAnn, 0);
  line.Join("x");
  admission->Close();
  EXPECT_THAT(line.served, ElementsAre(HasSubstr("shutting down")));
  held.reset();
  EXPECT_FALSE(admission->TryTake(kAnn, 0));
}

TEST(AdmissionTest, ManyThreadsNeverHoldMoreThanThereIs) {
  constexpr std::size_t kPlaces = 3;
  auto admission = Make({.lanes = 1, .cells_per_lane = kPlaces, .cells = kPlaces});
  std::atomic<std::size_t> held{0};
  std::atomic<std::size_t> most{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5000; ++i) {
        auto place = admission->TryTake(kAnn, 0);
        if (!place || !place->has_value()) continue;
        const std::size_t now = held.fetch_add(1) + 1;
        std::size_t seen = most.load();
        while (seen < now && !most.compare_exchange_weak(seen, now)) {
        }
        held.fetch_sub(1);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_LE(most.load(), kPlaces);
  EXPECT_EQ(admission->live(), 0u);
}

}  // namespace
}  // namespace caisson
