// A BodyBudget bounds what the bodies of all requests together take: they are read before anybody knows whose they are.
//
// Trust     Clients ask for shares by announcing bodies.
// Threads   Any.
// Lifetime  Outlives its shares.
#pragma once

#include <atomic>
#include <cstddef>
#include <optional>
#include <utility>

namespace caisson::net {

class BodyBudget {
 public:
  explicit BodyBudget(std::size_t bytes) : left_(bytes) {}

  // Given back when it goes.
  class Share {
   public:
    Share() = default;
    Share(Share&& other) noexcept
        : budget_(std::exchange(other.budget_, nullptr)), bytes_(other.bytes_) {}
    Share& operator=(Share&& other) noexcept {
      std::swap(budget_, other.budget_);
      std::swap(bytes_, other.bytes_);
      return *this;
    }
    ~Share() {
      if (budget_ != nullptr) budget_->left_ += bytes_;
    }

   private:
    friend class BodyBudget;
    Share(BodyBudget& budget, std::size_t bytes) : budget_(&budget), bytes_(bytes) {}
    BodyBudget* budget_ = nullptr;
    std::size_t bytes_ = 0;
  };

  // Nothing: there is not so much left.
  std::optional<Share> Take(std::size_t bytes) {
    std::size_t left = left_.load();
    while (left >= bytes) {
      if (left_.compare_exchange_weak(left, left - bytes)) return Share(*this, bytes);
    }
    return std::nullopt;
  }

 private:
  std::atomic<std::size_t> left_;
};

}  // namespace caisson::net
