// Test fixtures: an HTTP server that answers each request with the result of a function, and
// certificates for it.
//
// Trust     For tests.
// Threads   On the io_context of the test.
// Lifetime  A server must outlive its connections: stop the io_context first.
#pragma once

#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/spawn.h"

namespace caisson {

inline constexpr auto kQuietlyForTest = asio::as_tuple(asio::use_awaitable);

// Listens on loopback. Sends the answer and closes the connection. An answer that ends in "never"
// is sent without this word, and the connection stays open until the client closes it.
class TestServer {
 public:
  using Answer = std::function<std::string(const std::string& request)>;

  TestServer(asio::io_context& context, Answer answer, asio::ssl::context* tls = nullptr)
      : acceptor_(context, {asio::ip::address_v4::loopback(), 0}),
        answer_(std::move(answer)),
        tls_(tls) {
    Spawn(context.get_executor(), Accept());
  }
  std::string port() const { return std::to_string(acceptor_.local_endpoint().port()); }
  void Stop() {
    acceptor_.close();
    for (const auto& socket : sockets_) socket->close();
  }
  const std::vector<std::string>& requests() const { return requests_; }
  // How many connections that stayed open were closed by the client.
  int closed() const { return closed_; }

 private:
  asio::awaitable<void> Accept() {
    for (;;) {
      auto [error, socket] = co_await acceptor_.async_accept(kQuietlyForTest);
      if (error) co_return;
      auto shared =
          sockets_.emplace_back(std::make_shared<asio::ip::tcp::socket>(std::move(socket)));
      Spawn(acceptor_.get_executor(), Serve(shared), [](const std::exception_ptr&) {});
    }
  }

  asio::awaitable<void> Serve(std::shared_ptr<asio::ip::tcp::socket> socket) {
    if (tls_ == nullptr) {
      co_await Talk(*socket);
      socket->close();
      co_return;
    }
    asio::ssl::stream<asio::ip::tcp::socket&> stream(*socket, *tls_);
    const auto [error] =
        co_await stream.async_handshake(asio::ssl::stream_base::server, kQuietlyForTest);
    if (error) co_return;
    co_await Talk(stream);
    co_await stream.async_shutdown(kQuietlyForTest);
  }

  template <typename Stream>
  asio::awaitable<void> Talk(Stream& stream) {
    std::string request;
    const auto [error, size] = co_await asio::async_read_until(
        stream, asio::dynamic_buffer(request), "\r\n\r\n", kQuietlyForTest);
    if (error) co_return;
    const std::size_t length = request.find("Content-Length: ");
    std::size_t body = length == request.npos ? 0 : std::stoul(request.substr(length + 16));
    while (request.size() < size + body) {
      std::array<char, 4096> more;
      const auto [failed, got] =
          co_await stream.async_read_some(asio::buffer(more), kQuietlyForTest);
      if (failed) co_return;
      request.append(more.data(), got);
    }
    requests_.push_back(request);
    std::string answer = answer_(request);
    const bool waits = answer.ends_with(kNever);
    if (waits) answer.resize(answer.size() - kNever.size());
    co_await asio::async_write(stream, asio::buffer(answer), kQuietlyForTest);
    if (!waits) co_return;
    std::array<char, 1> byte;
    co_await stream.async_read_some(asio::buffer(byte), kQuietlyForTest);
    ++closed_;
  }

  static constexpr std::string_view kNever = "never";

  asio::ip::tcp::acceptor acceptor_;
  const Answer answer_;
  asio::ssl::context* const tls_;
  std::vector<std::shared_ptr<asio::ip::tcp::socket>> sockets_;
  std::vector<std::string> requests_;
  int closed_ = 0;
};

// A self-signed certificate for `name`.
struct Certificate {
  std::string certificate;
  std::string key;
};

inline Certificate MakeCertificate(const std::string& name) {
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  const std::unique_ptr<X509, decltype(&X509_free)> x509(X509_new(), X509_free);
  ASN1_INTEGER_set(X509_get_serialNumber(x509.get()), 1);
  X509_set_version(x509.get(), 2);
  X509_gmtime_adj(X509_getm_notBefore(x509.get()), -3600);
  X509_gmtime_adj(X509_getm_notAfter(x509.get()), 3600);
  X509_set_pubkey(x509.get(), key.get());
  X509_NAME* subject = X509_get_subject_name(x509.get());
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  X509_set_issuer_name(x509.get(), subject);
  X509_EXTENSION* names =
      X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, ("DNS:" + name).c_str());
  X509_add_ext(x509.get(), names, -1);
  X509_EXTENSION_free(names);
  X509_sign(x509.get(), key.get(), EVP_sha256());
  const auto text = [](auto write) {
    const std::unique_ptr<BIO, decltype(&BIO_free)> bio(BIO_new(BIO_s_mem()), BIO_free);
    write(bio.get());
    char* data = nullptr;
    const long size = BIO_get_mem_data(bio.get(), &data);
    return std::string(data, static_cast<std::size_t>(size));
  };
  return {.certificate = text([&](BIO* bio) { PEM_write_bio_X509(bio, x509.get()); }),
          .key = text([&](BIO* bio) {
            PEM_write_bio_PrivateKey(bio, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
          })};
}

}  // namespace caisson
