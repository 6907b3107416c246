// The only translation unit that compiles Asio's TLS sources; base/asio_impl.cc compiles the rest.
#include <boost/asio/ssl/impl/src.hpp>
