// A KillingStore is a Store that kills its process, as kill -9 would, at one step of one run: "BeginCall:after:2" is right
// after the second BeginCall has returned.
//
// Trust     For tests.
// Threads   As Store.
// Lifetime  Owns the store it stands before.
#pragma once

#include <memory>
#include <string>

#include "store/store.h"

namespace caisson::testing {

// Dies if `step` ("name:before" or "name:after") is the one named by SetWindow and was passed often enough.
void SetWindow(std::string window);
void PassStep(const std::string& step);

std::unique_ptr<Store> MakeKillingStore(std::unique_ptr<Store> store);

}  // namespace caisson::testing
