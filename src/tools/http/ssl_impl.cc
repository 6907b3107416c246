// The one translation unit that compiles Asio's TLS sources, as base/asio_impl.cc does for the
// rest.
#include <boost/asio/ssl/impl/src.hpp>
