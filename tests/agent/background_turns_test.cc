// Background turns: their events, their end, and turns of replicas that are lost.
#include <gmock/gmock.h>

#include "tests/agent/turns_fixture.h"

namespace caisson {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class BackgroundTurnsTest : public TurnsTest {
 protected:
  TurnView Detach(std::string agent, std::string id = "resp_1") {
    auto view = loop_.Await(here_->turns().StartDetached(
        ann_, {.agent = std::move(agent), .id = ResponseId(id), .input = {Said("hello")}}));
    EXPECT_TRUE(view) << view.error().message();
    return *view;
  }
  TurnView Find(StoredTurns& turns, std::string id = "resp_1") {
    return *loop_.Await(turns.Find(ann_, ResponseId(std::move(id))));
  }
  TurnView End(StoredTurns& turns) {
    loop_.Until([&] { return HasEnded(Find(turns).state); });
    return Find(turns);
  }
  // Events from `from` on, one letter each.
  std::string Told(StoredTurns& turns, std::uint64_t from) {
    std::string told;
    const auto done =
        loop_.Await(turns.Events(ann_, ResponseId("resp_1"), from, [&](const TurnEvent& event) {
          EXPECT_EQ(event.number, from + told.size());
          told += "badDe"[event.event.index()];
        }));
    EXPECT_TRUE(done) << done.error().message();
    return told;
  }
  // Holds the next request to the model.
  std::shared_ptr<Wakeup> Hold(std::string text) {
    ScriptedReply slow = TextOf(std::move(text));
    slow.hold = std::make_shared<Wakeup>();
    model_->Push(slow);
    return slow.hold;
  }
  void UntilAsked(std::size_t requests) {
    loop_.Until([&] { return model_->requests().size() >= requests; });
    loop_.Poll();
  }
};

TEST_F(BackgroundTurnsTest, ABackgroundTurnEndsByItselfAndTellsItsEventsAgain) {
  model_->Push(CallOf("read", "{}"));
  model_->Push(TextOf("Done."));
  const TurnView begun = Detach("caller");
  EXPECT_EQ(begun.state, TurnState::kQueued);
  const TurnView view = End(here_->turns());
  EXPECT_EQ(view.state, TurnState::kCompleted);
  EXPECT_EQ(TextIn(view), "Done.");
  EXPECT_EQ(view.style, TurnSpec::Style::kBackground);
  // Began; the call added, its arguments, done; the text added, its text, done; ended.
  EXPECT_EQ(Told(here_->turns(), 0), "badDadDe");
  EXPECT_EQ(Told(here_->turns(), 6), "De");
  EXPECT_EQ(Told(here_->turns(), 8), "");
  EXPECT_THAT(effects_, ElementsAre("read"));
  const auto foreign = loop_.Await(here_->turns().Events(bob_, begun.id, 0, {}));
  EXPECT_EQ(foreign.error().code(), ErrorCode::kNotFound);
}

TEST_F(BackgroundTurnsTest, EventsAreFollowedWhileTheTurnGoesOn) {
  const auto hold = Hold("Wait for it.");
  Detach("coder");
  std::string told;
  bool ended = false;
  const auto follow = [&]() -> asio::awaitable<void> {
    const auto done = co_await here_->turns().Events(
        ann_, ResponseId("resp_1"), 0,
        [&](const TurnEvent& event) { told += "badDe"[event.event.index()]; });
    EXPECT_TRUE(done);
    ended = true;
  };
  loop_.Start(follow());
  loop_.Until([&] { return told.size() >= 3; });
  EXPECT_EQ(told, "bad");
  EXPECT_FALSE(ended);
  const auto early = loop_.Await(here_->turns().Remove(ann_, ResponseId("resp_1")));
  EXPECT_EQ(early.error().code(), ErrorCode::kFailedPrecondition);
  hold->Wake();
  loop_.Until([&] { return ended; });
  EXPECT_EQ(told, "badDe");
  EXPECT_TRUE(loop_.Await(here_->turns().Remove(ann_, ResponseId("resp_1"))));
}

TEST_F(BackgroundTurnsTest, AForegroundTurnKeepsNoEvents) {
  const TurnView view = Ask("coder");
  const auto refused = loop_.Await(here_->turns().Events(ann_, view.id, 0, {}));
  EXPECT_EQ(refused.error().code(), ErrorCode::kFailedPrecondition);
}

TEST_F(BackgroundTurnsTest, ATurnCannotFollowOneThatRuns) {
  const auto hold = Hold("x");
  Detach("coder");
  const auto refused = TryStart({.agent = "coder", .previous = ResponseId("resp_1")});
  EXPECT_EQ(refused.error().code(), ErrorCode::kFailedPrecondition);
  hold->Wake();
  End(here_->turns());
  EXPECT_TRUE(TryStart({.agent = "coder", .previous = ResponseId("resp_1")}));
}

TEST_F(BackgroundTurnsTest, CancellingEndsIt) {
  Hold("half");
  Detach("coder");
  UntilAsked(1);
  const auto cancelled = loop_.Await(here_->turns().Cancel(ann_, ResponseId("resp_1")));
  EXPECT_EQ(cancelled->state, TurnState::kCancelled);
  EXPECT_EQ(TextIn(Find(here_->turns())), "half");
  // Again: it stays as it is.
  EXPECT_EQ(loop_.Await(here_->turns().Cancel(ann_, ResponseId("resp_1")))->state,
            TurnState::kCancelled);
}

TEST_F(BackgroundTurnsTest, AnotherReplicaCancelsIt) {
  Hold("half");
  Detach("coder");
  UntilAsked(1);
  const auto there = Make();
  bool done = false;
  const auto tend = [&]() -> asio::awaitable<void> {
    while (!done) {
      co_await here_->turns().TendOnce();
      co_await asio::post(asio::use_awaitable);
    }
  };
  loop_.Start(tend());
  const auto cancelled = loop_.Await(there->turns().Cancel(ann_, ResponseId("resp_1")));
  done = true;
  loop_.Poll();
  ASSERT_TRUE(cancelled) << cancelled.error().message();
  EXPECT_EQ(cancelled->state, TurnState::kCancelled);
}

TEST_F(BackgroundTurnsTest, AnotherReplicaContinuesATurnWhoseReplicaIsLost) {
  model_->Push(CallOf("read", R"({"to":"a"})", "a"));
  const auto hold = Hold("Half of the ans");
  Detach("caller");
  UntilAsked(2);
  loop_.Until([&] { return Find(here_->turns()).state == TurnState::kRunning; });
  const auto there = Make();
  loop_.Await(there->turns().TendOnce());
  EXPECT_THAT(model_->requests(), SizeIs(2));  // Its replica still has its lease.
  std::vector<std::string> bodies;
  loop_.Until([&] {
    return loop_.Await(store_->turns().Events(ann_, ResponseId("resp_1"), 0, 100))->size() >= 6;
  });
  clock_.Advance(std::chrono::seconds(10));
  model_->Push(TextOf("The whole answer."));
  loop_.Await(there->turns().TendOnce());
  const TurnView view = End(there->turns());
  EXPECT_EQ(view.state, TurnState::kCompleted);
  EXPECT_THAT(effects_, ElementsAre("read a"));
  EXPECT_THAT(TextIn(view), HasSubstr("The whole answer."));
  // The model is not shown what the lost replica had only begun to say.
  EXPECT_EQ(Seen(), "user: hello\ncall a: read {\"to\":\"a\"}\nresult a: read done\n");
  // What a client saw stays true: the half message ends, then the whole one comes.
  EXPECT_EQ(Told(there->turns(), 0), "badDadDadDe");
  // The lost replica comes back and changes nothing.
  hold->Wake();
  loop_.Poll();
  EXPECT_EQ(Told(there->turns(), 0), "badDadDadDe");
}

TEST_F(BackgroundTurnsTest, ARunThatWasStartedIsFoundByItsKeyAndNotRepeated) {
  // Events are stored with the steps alone, so the end of the call is not.
  here_ = Make({.background = {.gather = std::chrono::hours(1)}});
  model_->Push(CallOf("read", R"({"to":"a"})", "a"));
  const auto hold = Hold("never stored");
  Detach("caller");
  UntilAsked(2);
  EXPECT_THAT(effects_, ElementsAre("read a"));
  const auto there = Make();
  clock_.Advance(std::chrono::seconds(10));
  model_->Push(TextOf("Answer."));
  loop_.Await(there->turns().TendOnce());
  const TurnView view = End(there->turns());
  EXPECT_EQ(TextIn(view), "Answer.");
  EXPECT_THAT(effects_, ElementsAre("read a"));
  EXPECT_EQ(Seen(), "user: hello\ncall a: read {\"to\":\"a\"}\nresult a: read done\n");
  hold->Wake();
  loop_.Poll();
}

TEST_F(BackgroundTurnsTest, AClosedReplicaGivesItsTurnsToOthers) {
  Hold("half");
  Detach("coder");
  UntilAsked(1);
  here_.reset();
  here_ = Make();
  model_->Push(TextOf("Answer."));
  loop_.Await(here_->turns().TendOnce());
  EXPECT_THAT(TextIn(End(here_->turns())), HasSubstr("Answer."));
}

TEST_F(BackgroundTurnsTest, AGatedCallOfABackgroundTurnWaits) {
  model_->Push(CallOf("send", "{}", "a"));
  Detach("caller");
  const TurnView first = End(here_->turns());
  EXPECT_EQ(first.state, TurnState::kWaiting);
  const auto request = All<ApprovalRequest>(first.output).at(0);
  here_.reset();
  here_ = Make();
  const auto second =
      loop_.Await(here_->turns().StartDetached(ann_, {.agent = "caller",
                                                      .id = ResponseId("resp_2"),
                                                      .input = {Answered(request.approval, true)},
                                                      .previous = first.id}));
  ASSERT_TRUE(second) << second.error().message();
  loop_.Until([&] { return HasEnded(Find(here_->turns(), "resp_2").state); });
  EXPECT_EQ(Find(here_->turns(), "resp_2").state, TurnState::kCompleted);
  EXPECT_THAT(effects_, ElementsAre("send"));
}

TEST_F(BackgroundTurnsTest, ATurnThatTakesItsReplicasDownEnds) {
  here_ = Make({.max_attempts = 2});
  Hold("half");
  Detach("coder");
  UntilAsked(1);
  // Three processes take it and die at once.
  for (int i = 0; i < 2; ++i) {
    clock_.Advance(std::chrono::seconds(10));
    const LeaseTerm term{
        .holder = "dead", .now = clock_.Now(), .until = clock_.Now() + std::chrono::seconds(5)};
    ASSERT_TRUE(loop_.Await(store_->turns().Claim(ann_, ResponseId("resp_1"), term)));
  }
  clock_.Advance(std::chrono::seconds(10));
  const auto there = Make({.max_attempts = 2});
  loop_.Await(there->turns().TendOnce());
  const TurnView view = End(there->turns());
  EXPECT_EQ(view.state, TurnState::kFailed);
  EXPECT_THAT(view.error, HasSubstr("lost 2 times"));
}

}  // namespace
}  // namespace caisson
