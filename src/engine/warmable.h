// Warmable is implemented by engines that can get ready for packages before code imports them.
//
// Trust     Module names come from code that ran. They only select among what the engine has.
// Threads   Any.
// Lifetime  What the listener uses outlives the engine.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace caisson {

class Warmable {
 public:
  using OnPackages = std::function<void(const std::vector<std::string>& modules)>;

  virtual ~Warmable() = default;
  // Gets ready for code that imports packages. Returns at once.
  virtual void Warm() = 0;
  // Calls the listener for each run that needs packages, on a thread that may block. Set it before
  // the first run.
  virtual void ListenForPackages(OnPackages listener) = 0;
};

}  // namespace caisson
