// The only translation unit that compiles Asio's own sources. All others see declarations only.
#include <boost/asio/impl/src.hpp>
