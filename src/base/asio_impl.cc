// The one translation unit that compiles Asio's own sources; everybody else only sees declarations.
#include <boost/asio/impl/src.hpp>
