#include "mangrove/cluster/discovery.h"

#include <avahi-client/client.h>
#include <avahi-client/lookup.h>
#include <avahi-client/publish.h>
#include <avahi-common/address.h>
#include <avahi-common/error.h>
#include <avahi-common/malloc.h>
#include <avahi-common/simple-watch.h>
#include <avahi-common/strlst.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <stop_token>
#include <thread>

#include "mangrove/base/log.h"
#include "mangrove/base/mutex.h"
#include "mangrove/cluster/announced.h"
#include "mangrove/identity/digest.h"

namespace mangrove::cluster {
namespace {

constexpr Seconds kSearchCheckEvery = 0.05;  // whether a search is over
constexpr Seconds kConnectEvery = 60;        // to a daemon that does not let us in
constexpr int kMostAnswers = 256;
constexpr int kMostNames = 16;  // that others have taken, before we give up

template <auto free>
struct Free {
  template <class T>
  void operator()(T* object) const {
    free(object);
  }
};
using Poll = std::unique_ptr<AvahiSimplePoll, Free<avahi_simple_poll_free>>;
using AvahiConnection = std::unique_ptr<AvahiClient, Free<avahi_client_free>>;  // frees what was made with it, too
using Entries = std::unique_ptr<AvahiStringList, Free<avahi_string_list_free>>;

/// Lets the library do its work, for at most this long. False: it cannot any more.
bool iterate(AvahiSimplePoll* poll, Seconds at_most) {
  return avahi_simple_poll_iterate(poll, static_cast<int>(at_most * 1000)) >= 0 || errno == EINTR;
}

std::string reason(int error) {
  return std::string("Avahi: ") + avahi_strerror(error);
}

/// A search, as the library's callbacks see it.
struct Search {
  const std::vector<std::string>& authority_hashes;
  const std::function<void(const std::string& address)>& announced;
  int answers = 0;
  std::string failure{};  // "": none
};

bool names_one_of(const AvahiStringList* entries, const std::vector<std::string>& authority_hashes) {
  for (; entries != nullptr; entries = entries->next)
    if (names_authority({reinterpret_cast<const char*>(entries->text), entries->size}, authority_hashes)) return true;
  return false;
}

void on_resolved(AvahiServiceResolver* resolver, AvahiIfIndex, AvahiProtocol, AvahiResolverEvent event, const char*,
                 const char*, const char*, const char*, const AvahiAddress* address, std::uint16_t port,
                 AvahiStringList* entries, AvahiLookupResultFlags, void* data) {
  const auto& search = *static_cast<Search*>(data);
  if (event == AVAHI_RESOLVER_FOUND && names_one_of(entries, search.authority_hashes)) {
    std::array<char, AVAHI_ADDRESS_STR_MAX> host{};
    avahi_address_snprint(host.data(), host.size(), address);
    if (const auto found = announced_address(host.data(), port)) search.announced(*found);
  }
  avahi_service_resolver_free(resolver);
}

void on_browsed(AvahiServiceBrowser* browser, AvahiIfIndex interface, AvahiProtocol protocol, AvahiBrowserEvent event,
                const char* name, const char* type, const char* domain, AvahiLookupResultFlags, void* data) {
  auto& search = *static_cast<Search*>(data);
  AvahiClient* const client = avahi_service_browser_get_client(browser);
  if (event == AVAHI_BROWSER_FAILURE) search.failure = reason(avahi_client_errno(client));
  if (event != AVAHI_BROWSER_NEW || ++search.answers > kMostAnswers) return;
  // an answer that cannot be resolved is none; of an unspecified protocol, only the first address would be told
  avahi_service_resolver_new(client, interface, protocol, name, type, domain, protocol, AVAHI_LOOKUP_USE_MULTICAST,
                             on_resolved, data);
}

void on_search_state(AvahiClient* client, AvahiClientState state, void* data) {
  if (state == AVAHI_CLIENT_FAILURE) static_cast<Search*>(data)->failure = reason(avahi_client_errno(client));
}

Error cannot_search(const std::string& why) {
  return make_error(Code::failed_precondition,
                    "the local network cannot be searched from here (" + why + "; the package avahi-daemon is needed)");
}

}  // namespace

Status listen_for_coordinators(const std::vector<std::string>& authority_hashes, Deadline deadline,
                               const std::function<void(const std::string& address)>& announced,
                               const std::function<bool()>& is_over) {
  const Poll poll(avahi_simple_poll_new());
  Search search{authority_hashes, announced};
  int error = 0;
  const AvahiConnection client(
      avahi_client_new(avahi_simple_poll_get(poll.get()), AvahiClientFlags(0), on_search_state, &search, &error));
  if (client == nullptr) return cannot_search(reason(error));
  const auto* browser = avahi_service_browser_new(client.get(), AVAHI_IF_UNSPEC, AVAHI_PROTO_UNSPEC, kAnnouncedType,
                                                  nullptr, AVAHI_LOOKUP_USE_MULTICAST, on_browsed, &search);
  if (browser == nullptr) return cannot_search(reason(avahi_client_errno(client.get())));
  const SteadyClock clock;
  while (!is_over() && clock.now() < deadline) {
    const bool goes_on = iterate(poll.get(), std::clamp(deadline - clock.now(), 0.0, kSearchCheckEvery));
    if (!search.failure.empty() || !goes_on)
      return cannot_search(search.failure.empty() ? reason(AVAHI_ERR_OS) : search.failure);
  }
  return {};
}

/// The library is used by one thread alone, which makes and frees all of its objects.
struct Announcement::Impl {
  Impl(const HostPort& listen, std::vector<std::string> hashes);

  void run(const std::stop_token& stop);
  void connect();
  void publish(AvahiClient* client);
  int add_service(const std::string& txt_entry) const;
  void say(const std::string& why);
  static void on_client_state(AvahiClient* client, AvahiClientState state, void* data);
  static void on_group_state(AvahiEntryGroup* group, AvahiEntryGroupState state, void* data);

  const int port;
  const AvahiIfIndex interface;
  const Poll poll{avahi_simple_poll_new()};
  Mutex mutex;
  std::vector<std::string> authority_hashes MG_GUARDED_BY(mutex);
  bool is_outdated MG_GUARDED_BY(mutex) = false;  // what is published names other authorities

  AvahiConnection client{};
  AvahiEntryGroup* group = nullptr;  // of the client
  bool is_lost = false;              // the client is of no more use
  int names = 0;                     // that were tried since it was announced
  std::string said{};                // why it is not announced, as was logged last
  std::jthread thread;
};

Announcement::Impl::Impl(const HostPort& listen, std::vector<std::string> hashes)
    : port(listen.port),
      interface(interface_of(listen.host).value_or(AVAHI_IF_UNSPEC)),
      authority_hashes(std::move(hashes)) {
  thread = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void Announcement::Impl::run(const std::stop_token& stop) {
  const std::stop_callback wake(stop, [this] { avahi_simple_poll_wakeup(poll.get()); });
  const SteadyClock clock;
  Instant next = clock.now();
  while (!stop.stop_requested()) {
    if (is_lost) {  // the daemon has ended; the next client waits for its successor
      client.reset();
      group = nullptr;
      is_lost = false;
      next = clock.after(kSearchCheckEvery);
    }
    if (client == nullptr && clock.now() >= next) {
      next = clock.after(kConnectEvery);
      connect();
    }
    bool outdated = false;
    {
      MutexLock lock(mutex);
      outdated = std::exchange(is_outdated, false);
    }
    if (outdated && group != nullptr) publish(client.get());
    if (!iterate(poll.get(), kSearchCheckEvery * 10)) return say(reason(AVAHI_ERR_OS));
  }
  client.reset();
}

void Announcement::Impl::connect() {
  int error = 0;
  client.reset(
      avahi_client_new(avahi_simple_poll_get(poll.get()), AVAHI_CLIENT_NO_FAIL, on_client_state, this, &error));
  if (client == nullptr) say(reason(error));
}

/// Logs why the coordinator is not announced, once.
void Announcement::Impl::say(const std::string& why) {
  if (std::exchange(said, why) != why) log_info("no announcement on the local network", {{"reason", why}});
}

/// The library calls it before avahi_client_new() has returned, too.
void Announcement::Impl::on_client_state(AvahiClient* client, AvahiClientState state, void* data) {
  auto& self = *static_cast<Impl*>(data);
  switch (state) {
    case AVAHI_CLIENT_S_RUNNING:
      return self.publish(client);
    case AVAHI_CLIENT_FAILURE:
      self.is_lost = true;
      return self.say(reason(avahi_client_errno(client)));
    case AVAHI_CLIENT_CONNECTING:
      return self.say(reason(AVAHI_ERR_NO_DAEMON));
    case AVAHI_CLIENT_S_COLLISION:  // the name of this machine changes, and is running again then
    case AVAHI_CLIENT_S_REGISTERING:
      if (self.group != nullptr) avahi_entry_group_reset(self.group);
  }
}

void Announcement::Impl::publish(AvahiClient* to) {
  if (group == nullptr) group = avahi_entry_group_new(to, on_group_state, this);
  if (group == nullptr) return say(reason(avahi_client_errno(to)));
  std::string txt_entry;
  {
    MutexLock lock(mutex);
    txt_entry = announced_authorities(authority_hashes);
  }
  avahi_entry_group_reset(group);
  int error = add_service(txt_entry);
  if (error == AVAHI_OK) error = avahi_entry_group_commit(group);
  if (error != AVAHI_OK) say(reason(error));
}

/// The name is by chance, so that two coordinators of one network have different ones.
int Announcement::Impl::add_service(const std::string& txt_entry) const {
  const Entries entries(avahi_string_list_new(txt_entry.c_str(), nullptr));
  const std::string name = "mangrove coordinator " + identity::random_hex(4);
  return avahi_entry_group_add_service_strlst(group, interface, AVAHI_PROTO_UNSPEC, AvahiPublishFlags(0), name.c_str(),
                                              kAnnouncedType, nullptr, nullptr, static_cast<std::uint16_t>(port),
                                              entries.get());
}

void Announcement::Impl::on_group_state(AvahiEntryGroup* group, AvahiEntryGroupState state, void* data) {
  auto& self = *static_cast<Impl*>(data);
  AvahiClient* const client = avahi_entry_group_get_client(group);
  if (state == AVAHI_ENTRY_GROUP_ESTABLISHED) {
    self.said.clear();
    self.names = 0;
    log_info("announced on the local network", {{"port", self.port}});
  }
  if (state == AVAHI_ENTRY_GROUP_FAILURE) self.say(reason(avahi_client_errno(client)));
  if (state != AVAHI_ENTRY_GROUP_COLLISION) return;
  if (++self.names < kMostNames) return self.publish(client);
  self.say("every name that was tried is taken");
}

Announcement::Announcement(const HostPort& listen, std::vector<std::string> authority_hashes)
    : impl_(std::make_unique<Impl>(listen, std::move(authority_hashes))) {}

Announcement::~Announcement() = default;

void Announcement::set_authorities(std::vector<std::string> authority_hashes) {
  {
    MutexLock lock(impl_->mutex);
    impl_->authority_hashes = std::move(authority_hashes);
    impl_->is_outdated = true;
  }
  avahi_simple_poll_wakeup(impl_->poll.get());
}

}  // namespace mangrove::cluster
