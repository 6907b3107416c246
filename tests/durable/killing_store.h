// A KillingStore is a Store whose operations pass the steps "NAME:before" and "NAME:after"
// (windows.h).
//
// Trust     For tests.
// Threads   As Store.
// Lifetime  Owns the wrapped store.
#pragma once

#include <memory>

#include "store/store.h"

namespace caisson::testing {

std::unique_ptr<Store> MakeKillingStore(std::unique_ptr<Store> store);

}  // namespace caisson::testing
