#include "tests/serve/scripted_server.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <utility>

namespace mangrove::serve {

ScriptedServer::ScriptedServer(std::vector<std::string> texts, bool hangs_up)
    : texts_(std::move(texts)), hangs_up_(hangs_up), listener_(net::listen_locally()), thread_([this] { serve(); }) {}

ScriptedServer::~ScriptedServer() {
  ends_ = true;
  const net::Socket wake = net::connect_locally(port());
}

void ScriptedServer::serve() {
  for (std::size_t i = 0; !ends_; ++i) {
    net::Socket client(::accept(listener_.fd(), nullptr, nullptr));
    if (ends_ || !client.open()) return;
    std::array<char, 4096> request;
    if (::recv(client.fd(), request.data(), request.size(), 0) <= 0) continue;
    ++asked_;
    net::write_all(client, texts_[std::min(i, texts_.size() - 1)]);
    if (!hangs_up_) {
      held_.push_back(std::move(client));
      continue;
    }
    ::shutdown(client.fd(), SHUT_WR);
    while (::recv(client.fd(), request.data(), request.size(), 0) > 0) continue;
  }
}

}  // namespace mangrove::serve
