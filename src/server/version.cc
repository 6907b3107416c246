#include "server/version.h"

namespace caisson {

std::string_view Version() {
  return CAISSON_VERSION;
}

}  // namespace caisson
