// A BodyBudget limits the memory that request bodies take, for each account and for all together.
//
// Bytes are charged when they arrive. An announced length costs nothing.
//
// Trust     Clients choose how much they send. The server decides which account is charged
//           (Request::account).
// Threads   Any.
// Lifetime  Outlives its shares.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "base/guarded.h"

namespace caisson::net {

class BodyBudget {
 public:
  BodyBudget(std::size_t bytes, std::size_t bytes_per_account)
      : bytes_(bytes), bytes_per_account_(bytes_per_account) {}

  enum class Grown { kYes, kAccountIsFull, kAllIsFull };

  // The memory of one body. The destructor returns it.
  class Share {
   public:
    Share() = default;
    Share(Share&& other) noexcept
        : budget_(std::exchange(other.budget_, nullptr)),
          account_(std::move(other.account_)),
          bytes_(std::exchange(other.bytes_, 0)) {}
    Share& operator=(Share&& other) noexcept {
      std::swap(budget_, other.budget_);
      std::swap(account_, other.account_);
      std::swap(bytes_, other.bytes_);
      return *this;
    }
    ~Share() {
      if (budget_ != nullptr && bytes_ > 0) budget_->GiveBack(account_, bytes_);
    }

    // Adds `more` bytes. If that would exceed a limit, the share stays as it is. Precondition: the
    // share comes from Open().
    Grown Grow(std::size_t more) {
      const Grown grown = budget_->Take(account_, more);
      if (grown == Grown::kYes) bytes_ += more;
      return grown;
    }

   private:
    friend class BodyBudget;
    Share(BodyBudget& budget, std::string account)
        : budget_(&budget), account_(std::move(account)) {}
    BodyBudget* budget_ = nullptr;
    std::string account_{};
    std::size_t bytes_ = 0;
  };

  Share Open(std::string account) { return Share(*this, std::move(account)); }

 private:
  struct Taken {
    std::size_t all = 0;
    // The server chooses the keys. Accounts with 0 bytes have no entry.
    std::map<std::string, std::size_t> by_account;
  };

  Grown Take(const std::string& account, std::size_t bytes) {
    auto taken = taken_.Lock();
    if (bytes > bytes_ - taken->all) return Grown::kAllIsFull;
    const auto found = taken->by_account.find(account);
    const std::size_t own = found == taken->by_account.end() ? 0 : found->second;
    if (bytes > bytes_per_account_ - own) return Grown::kAccountIsFull;
    taken->by_account[account] = own + bytes;
    taken->all += bytes;
    return Grown::kYes;
  }

  void GiveBack(const std::string& account, std::size_t bytes) {
    auto taken = taken_.Lock();
    taken->all -= bytes;
    const auto found = taken->by_account.find(account);
    found->second -= bytes;
    if (found->second == 0) taken->by_account.erase(found);
  }

  const std::size_t bytes_;
  const std::size_t bytes_per_account_;
  Guarded<Taken> taken_;
};

}  // namespace caisson::net
