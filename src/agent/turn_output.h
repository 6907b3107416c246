// A TurnOutput holds the items that a turn produces and tells their events.
//
// Trust     Contents are hostile; they are passed on.
// Threads   Those of its turn.
// Lifetime  The vector of items outlives it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/turn.h"

namespace caisson {

class TurnOutput {
 public:
  using OnEvent = std::function<void(const TurnEvent&)>;

  // `next`: the number of the first event. `open`: ids of items that are not done yet.
  TurnOutput(std::vector<TurnItem>& items, std::uint64_t next, const std::set<std::string>& open,
             OnEvent on_event)
      : items_(items), next_(next), on_event_(std::move(on_event)) {
    for (const TurnItem& item : items) is_open_.push_back(open.contains(item.id));
  }

  void Begin() { Tell(TurnBegan{}); }
  void End(TurnState state) { Tell(TurnEnded{state}); }

  // Adds an item that begins now, as it is then. Returns its index.
  std::size_t Add(TurnItem item) {
    Tell(ItemAdded{item});
    items_.push_back(std::move(item));
    is_open_.push_back(true);
    return items_.size() - 1;
  }
  void Delta(std::size_t index, ItemDelta::Kind kind, std::string text) {
    if (!text.empty()) Tell(ItemDelta{items_[index].id, kind, std::move(text)});
  }
  // The item is complete. Does nothing if that was said before.
  void Done(std::size_t index) {
    if (!is_open_[index]) return;
    is_open_[index] = false;
    Tell(ItemDone{items_[index]});
  }
  // Adds an item that is complete at once.
  std::size_t AddWhole(TurnItem item) {
    const std::size_t index = Add(std::move(item));
    Done(index);
    return index;
  }

  bool is_open(std::size_t index) const { return is_open_[index]; }
  TurnItem& at(std::size_t index) { return items_[index]; }
  std::size_t size() const { return items_.size(); }
  const std::vector<TurnItem>& items() const { return items_; }

 private:
  template <typename Event>
  void Tell(Event event) {
    if (on_event_) on_event_({.number = next_, .event = std::move(event)});
    ++next_;
  }

  std::vector<TurnItem>& items_;
  std::uint64_t next_;
  const OnEvent on_event_;
  std::vector<bool> is_open_;
};

}  // namespace caisson
