#include "mangrove/sensors/mqtt_link.h"

#include <mosquitto.h>
#include <mqtt_protocol.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <span>
#include <thread>
#include <utility>

#include "mangrove/base/clock.h"
#include "mangrove/base/log.h"
#include "mangrove/base/mutex.h"
#include "mangrove/base/printable.h"
#include "mangrove/base/stop.h"
#include "mangrove/identity/secret_file.h"
#include "mangrove/sensors/backoff.h"
#include "mangrove/sensors/url.h"

namespace mangrove::sensors {
namespace {

constexpr Seconds kFirstPause = 0.2, kLongestPause = 30;
constexpr int kLoopMilliseconds = 100;  // between two looks whether to stop
constexpr std::uint32_t kSessionForEver = 0xffffffff;
constexpr int kFirstError = 0x80;  // of the reasons of MQTT 5 and the answers to a subscription
constexpr Seconds kTellRefusedEvery = 10;
constexpr Bytes kHeaderRoom = 70'000;  // topic and properties of a packet, besides its payload

const std::vector<Scheme> kMqttSchemes = {{"mqtt", 1883}, {"mqtts", 8883}};

/// libmosquitto counts how often it is initialised.
struct MosquittoLibrary {
  MosquittoLibrary() { mosquitto_lib_init(); }
  ~MosquittoLibrary() { mosquitto_lib_cleanup(); }
  MosquittoLibrary(const MosquittoLibrary&) = delete;
  MosquittoLibrary& operator=(const MosquittoLibrary&) = delete;
};

Status check_call(int code, const std::string& what) {
  if (code == MOSQ_ERR_SUCCESS) return {};
  return make_error(Code::invalid_argument, what + ": " + mosquitto_strerror(code));
}

/// source: MQTT 5.0, 2.4 Reason Code.
Fate fate_of(int reason) {
  if (reason < kFirstError) return Fate::confirmed;
  return reason == MQTT_RC_QUOTA_EXCEEDED ? Fate::returned : Fate::refused;
}

const char* text_or_null(const std::string& text) {
  return text.empty() ? nullptr : text.c_str();
}

/// One line: what stands behind it, e.g. the end of the line, is left out. errors: those of read_secret_file().
Result<std::string> read_password(const std::string& file) {
  MG_TRY(std::string text, identity::read_secret_file(file).context("key 'password_file'"));
  text.resize(std::min(text.find_first_of("\r\n"), text.size()));
  return text;
}

class MqttLink final : public Link {
 public:
  static Result<std::unique_ptr<Link>> start(const SourceOptions& options, const std::string& default_client_id,
                                             LinkEvents events);
  ~MqttLink() override;

  bool is_connected() const override { return is_connected_; }
  std::uint64_t reconnects() const override { return connections_ > 0 ? connections_ - 1 : 0; }
  Status send(std::uint64_t token, const std::string& topic, std::string_view payload) override;

 private:
  struct Destroy {
    void operator()(mosquitto* handle) const { mosquitto_destroy(handle); }
  };
  MqttLink(SourceOptions options, Url url, LinkEvents events)
      : options_(std::move(options)), url_(std::move(url)), events_(std::move(events)) {}

  Status make(const std::string& default_client_id);
  Status set_will();
  Status set_tls();
  Status set_session();
  void work(const std::stop_token& stop);
  int connect();
  void set_connected(bool is_connected);
  void lose_connection();

  void connected(int reason);
  void came(const mosquitto_message& message);
  void subscribed(int granted);
  void published(int number, int reason);

  const MosquittoLibrary library_;
  const SourceOptions options_;
  const Url url_;
  const LinkEvents events_;
  std::unique_ptr<mosquitto, Destroy> handle_;
  std::atomic<bool> is_connected_ = false;
  std::atomic<std::uint64_t> connections_ = 0;
  bool has_connected_ = false;  // of the thread: the address is known to the library
  Instant told_{-1e9};          // of the thread: when a refused message was logged
  Mutex mutex_;
  std::map<int, std::uint64_t> tokens_ MG_GUARDED_BY(mutex_);  // by the library's number of a message
  std::jthread thread_;
};

Result<std::unique_ptr<Link>> MqttLink::start(const SourceOptions& options, const std::string& default_client_id,
                                              LinkEvents events) {
  MG_TRY(Url url, parse_url(options.link.url, kMqttSchemes).context("key 'url'"));
  std::unique_ptr<MqttLink> link(new MqttLink(options, std::move(url), std::move(events)));
  MG_RETURN_IF_ERROR(link->make(default_client_id));
  link->thread_ = std::jthread([raw = link.get()](const std::stop_token& stop) { raw->work(stop); });
  return std::unique_ptr<Link>(std::move(link));
}

MqttLink::~MqttLink() {
  thread_ = std::jthread();  // asks it to stop, and waits
}

Status MqttLink::make(const std::string& default_client_id) {
  const LinkOptions& link = options_.link;
  const std::string& id = link.client_id.empty() ? default_client_id : link.client_id;
  handle_.reset(mosquitto_new(id.c_str(), !link.keep_session, this));
  if (handle_ == nullptr) return make_error(Code::invalid_argument, "key 'client_id': '" + id + "' is no client id");
  MG_RETURN_IF_ERROR(check_call(mosquitto_threaded_set(handle_.get(), true), "mqtt"));
  const int version = link.version == "5" ? MQTT_PROTOCOL_V5 : MQTT_PROTOCOL_V311;
  MG_RETURN_IF_ERROR(
      check_call(mosquitto_int_option(handle_.get(), MOSQ_OPT_PROTOCOL_VERSION, version), "key 'version'"));
  MG_RETURN_IF_ERROR(check_call(mosquitto_int_option(handle_.get(), MOSQ_OPT_TCP_NODELAY, 1), "mqtt"));
  if (!link.user.empty()) {
    std::string password;
    if (!link.password_file.empty()) {
      MG_TRY(password, read_password(link.password_file));
    }
    MG_RETURN_IF_ERROR(
        check_call(mosquitto_username_pw_set(handle_.get(), link.user.c_str(), text_or_null(password)), "key 'user'"));
  }
  MG_RETURN_IF_ERROR(set_will());
  MG_RETURN_IF_ERROR(set_tls());
  mosquitto_connect_callback_set(handle_.get(), [](mosquitto* /*handle*/, void* self, int reason) {
    static_cast<MqttLink*>(self)->connected(reason);
  });
  mosquitto_message_callback_set(handle_.get(),
                                 [](mosquitto* /*handle*/, void* self, const mosquitto_message* message) {
                                   static_cast<MqttLink*>(self)->came(*message);
                                 });
  mosquitto_subscribe_callback_set(
      handle_.get(), [](mosquitto* /*handle*/, void* self, int /*number*/, int count, const int* granted) {
        for (const int one : std::span(granted, static_cast<std::size_t>(count)))
          static_cast<MqttLink*>(self)->subscribed(one);
      });
  mosquitto_publish_v5_callback_set(handle_.get(), [](mosquitto* /*handle*/, void* self, int number, int reason,
                                                      const mosquitto_property* /*properties*/) {
    static_cast<MqttLink*>(self)->published(number, reason);
  });
  return link.version == "5" ? set_session() : Status();
}

Status MqttLink::set_will() {
  const LinkOptions& link = options_.link;
  if (link.will_topic.empty()) return {};
  return check_call(mosquitto_will_set(handle_.get(), link.will_topic.c_str(), static_cast<int>(link.will.size()),
                                       link.will.data(), static_cast<int>(link.will_qos), link.will_retain),
                    "keys 'will_topic' and 'will'");
}

/// Without a CA of its own, the broker's certificate is checked with those of the machine.
Status MqttLink::set_tls() {
  if (url_.scheme != "mqtts") return {};
  const LinkOptions& link = options_.link;
  const char* const folder = link.ca.empty() ? "/etc/ssl/certs" : nullptr;
  MG_RETURN_IF_ERROR(check_call(mosquitto_tls_set(handle_.get(), text_or_null(link.ca), folder,
                                                  text_or_null(link.certificate), text_or_null(link.key), nullptr),
                                "keys 'ca', 'certificate' and 'key'"));
  return check_call(mosquitto_tls_opts_set(handle_.get(), 1, "tlsv1.2", nullptr), "mqtts");
}

/// What a client of MQTT 5 says when it connects: how long the broker keeps its session, and the longest packet.
Status MqttLink::set_session() {
  mosquitto_property* properties = nullptr;
  const std::uint32_t kept = options_.link.keep_session ? kSessionForEver : 0;
  int code = mosquitto_property_add_int32(&properties, MQTT_PROP_SESSION_EXPIRY_INTERVAL, kept);
  if (code == MOSQ_ERR_SUCCESS)
    code = mosquitto_property_add_int32(&properties, MQTT_PROP_MAXIMUM_PACKET_SIZE,
                                        static_cast<std::uint32_t>(options_.max_message + kHeaderRoom));
  // Only this call takes properties, and it would block. Without a host it keeps them and connects nowhere.
  if (code == MOSQ_ERR_SUCCESS)
    (void)mosquitto_connect_bind_v5(handle_.get(), nullptr, url_.port, static_cast<int>(options_.link.keepalive),
                                    nullptr, properties);
  mosquitto_property_free_all(&properties);
  return check_call(code, "mqtt");
}

int MqttLink::connect() {
  if (has_connected_) return mosquitto_reconnect_async(handle_.get());
  const int code =
      mosquitto_connect_async(handle_.get(), url_.host.c_str(), url_.port, static_cast<int>(options_.link.keepalive));
  has_connected_ = code == MOSQ_ERR_SUCCESS;
  return code;
}

void MqttLink::work(const std::stop_token& stop) {
  Backoff backoff(kFirstPause, kLongestPause, Random(std::hash<std::string>()(options_.name + url_.host)));
  bool was_told = false;
  while (!stop.stop_requested()) {
    int code = connect();
    const std::uint64_t before = connections_;
    while (code == MOSQ_ERR_SUCCESS && !stop.stop_requested()) {
      code = mosquitto_loop(handle_.get(), kLoopMilliseconds, 1);
      if (connections_ == before) continue;
      backoff.succeeded();
      was_told = false;
    }
    lose_connection();
    if (stop.stop_requested()) break;
    if (!was_told)
      log_warn("no connection to broker",
               {{"source", options_.name}, {"url", options_.link.url}, {"why", mosquitto_strerror(code)}});
    was_told = true;
    wait_for_stop(stop, backoff.next());
  }
  if (mosquitto_disconnect(handle_.get()) == MOSQ_ERR_SUCCESS) (void)mosquitto_loop(handle_.get(), 0, 1);
}

void MqttLink::set_connected(bool is_connected) {
  if (is_connected_.exchange(is_connected) != is_connected) events_.changed();
}

/// What goes out with QoS 0 is thrown away by the library when it connects again, and is not told of.
void MqttLink::lose_connection() {
  std::map<int, std::uint64_t> lost;
  {
    const MutexLock lock(mutex_);  // after it, nothing is given to the library until there is a connection again
    set_connected(false);
    if (options_.link.answers_qos == 0) lost.swap(tokens_);
  }
  for (const auto& [number, token] : lost) events_.receipt({.token = token, .fate = Fate::returned});
}

void MqttLink::connected(int reason) {
  if (reason != 0) {
    log_warn("broker refuses", {{"source", options_.name},
                                {"url", options_.link.url},
                                {"why", options_.link.version == "5" ? mosquitto_reason_string(reason)
                                                                     : mosquitto_connack_string(reason)}});
    (void)mosquitto_disconnect(handle_.get());
    return;
  }
  if (!options_.link.topic.empty()) {
    const int code =
        mosquitto_subscribe(handle_.get(), nullptr, options_.link.topic.c_str(), static_cast<int>(options_.link.qos));
    if (code != MOSQ_ERR_SUCCESS)
      log_warn("no subscription", {{"source", options_.name}, {"why", mosquitto_strerror(code)}});
  }
  ++connections_;
  log_info("connected to broker", {{"source", options_.name}, {"url", options_.link.url}});
  set_connected(true);
}

/// granted: a QoS, or 0x80 and more: refused.
void MqttLink::subscribed(int granted) {
  if (granted < kFirstError) return;
  log_warn("broker refuses the subscription",
           {{"source", options_.name},
            {"topic", options_.link.topic},
            {"why", options_.link.version == "5" ? mosquitto_reason_string(granted) : "it gives no reason"}});
  events_.unsubscribed();
}

void MqttLink::came(const mosquitto_message& message) {
  Message made{.topic = message.topic, .payload = {}, .arrived = events_.wall_clock()};
  if (message.payloadlen > 0)
    made.payload.assign(static_cast<const char*>(message.payload), static_cast<std::size_t>(message.payloadlen));
  events_.came(std::move(made));
}

/// reason: of MQTT 5; 0 with 3.1.1, which has none.
void MqttLink::published(int number, int reason) {
  std::uint64_t token = 0;
  {
    const MutexLock lock(mutex_);
    const auto found = tokens_.find(number);
    if (found == tokens_.end()) return;
    token = found->second;
    tokens_.erase(found);
  }
  events_.receipt({.token = token, .fate = fate_of(reason)});
  if (const Instant now = SteadyClock().now(); reason >= kFirstError && now - told_ >= kTellRefusedEvery) {
    told_ = now;
    log_warn("broker does not take an answer", {{"sink", options_.name}, {"why", mosquitto_reason_string(reason)}});
  }
}

Status MqttLink::send(std::uint64_t token, const std::string& topic, std::string_view payload) {
  const MutexLock lock(mutex_);  // so that the answer finds the token
  if (!is_connected_) return make_error(Code::unavailable, "there is no connection to " + options_.link.url);
  int number = 0;
  const int code = mosquitto_publish(handle_.get(), &number, topic.c_str(), static_cast<int>(payload.size()),
                                     payload.data(), static_cast<int>(options_.link.answers_qos), false);
  const bool is_kept = code == MOSQ_ERR_NO_CONN && options_.link.answers_qos > 0;  // it goes out after reconnecting
  if (code == MOSQ_ERR_SUCCESS || is_kept) {
    tokens_[number] = token;
    return {};
  }
  const bool is_lost = code == MOSQ_ERR_NO_CONN || code == MOSQ_ERR_CONN_LOST || code == MOSQ_ERR_ERRNO;
  return make_error(is_lost ? Code::unavailable : Code::invalid_argument,
                    "publishing to '" + printable(topic) + "': " + mosquitto_strerror(code));
}

void add_mqtt_keys(Keys& keys, LinkOptions& link) {
  keys.add("url", link.url, "mqtt://HOST:PORT of the broker, or mqtts:// with TLS");
  keys.add("topic", link.topic,
           "subscription, with + and #, and $share/GROUP/ in front where several servers share it");
  keys.add("qos", link.qos, "of the subscription", 0, 2);
  keys.add("answers_qos", link.answers_qos, "of what is sent; of 0 nobody confirms that it has come", 0, 2);
  keys.add("version", link.version, "of MQTT: 3.1.1 or 5");
  keys.add("client_id", link.client_id, "by which the broker knows this process");
  keys.add("keep_session", link.keep_session, "the broker keeps messages while this process is away; needs client_id");
  keys.add_seconds("keepalive", link.keepalive, "between signs of life", 5, 3600);
  keys.add("will_topic", link.will_topic, "where the broker tells that this process has gone without a word");
  keys.add("will", link.will, "what it tells there");
  keys.add("will_qos", link.will_qos, "of that message", 0, 2);
  keys.add("will_retain", link.will_retain, "new subscribers get it, too");
  keys.add("user", link.user, "name for the broker");
  keys.add("password_file", link.password_file, "file with the password, which only its owner may read");
  keys.add("ca", link.ca,
           "PEM file of the authority that signed the broker's certificate; without it those of the machine");
  keys.add("certificate", link.certificate, "PEM file of this client's certificate");
  keys.add("key", link.key, "PEM file of its key, which only its owner may read");
}

/// errors: those of read_secret_file().
Status check_secret(const char* key, const std::string& file) {
  if (file.empty()) return {};
  const auto read = identity::read_secret_file(file);
  return read.ok() ? Status() : Status(read.error().context(std::string("key '") + key + "'"));
}

Status check_tls_keys(const SourceOptions& options, const Url& url) {
  const LinkOptions& link = options.link;
  const bool has_tls = !link.ca.empty() || !link.certificate.empty() || !link.key.empty();
  if (has_tls && url.scheme != "mqtts")
    return make_error(Code::invalid_argument, "keys 'ca', 'certificate' and 'key': they need an url of mqtts://");
  if (link.certificate.empty() != link.key.empty())
    return make_error(Code::invalid_argument, "keys 'certificate' and 'key': give both");
  return check_secret("key", link.key);
}

Status check_mqtt(const SourceOptions& options) {
  const LinkOptions& link = options.link;
  MG_TRY(const Url url, parse_url(link.url, kMqttSchemes).context("key 'url'"));
  if (!url.path.empty()) return make_error(Code::invalid_argument, "key 'url': a broker has no path: give topic");
  if (link.version != "3.1.1" && link.version != "5")
    return make_error(Code::invalid_argument, "key 'version': '" + link.version + "': expected 3.1.1 or 5");
  // libmosquitto 2.0 counts the messages that it may still take wrongly then, and ends the connection
  if (link.version == "5" && link.qos == 2 && !link.topic.empty())
    return make_error(Code::invalid_argument,
                      "key 'qos': a subscription of 2 does not work with version 5: libmosquitto "
                      "loses the connection when it sends answers, too; use 1, or version 3.1.1");
  if (!link.topic.empty() && mosquitto_sub_topic_check(link.topic.c_str()) != MOSQ_ERR_SUCCESS)
    return make_error(Code::invalid_argument, "key 'topic': '" + link.topic + "' is no subscription");
  if (!link.will_topic.empty() && mosquitto_pub_topic_check(link.will_topic.c_str()) != MOSQ_ERR_SUCCESS)
    return make_error(Code::invalid_argument, "key 'will_topic': '" + link.will_topic + "' is no topic");
  if (link.keep_session && link.client_id.empty())
    return make_error(Code::invalid_argument, "key 'keep_session': the broker keeps it for a client_id: give one");
  if (!link.password_file.empty() && link.user.empty())
    return make_error(Code::invalid_argument, "key 'password_file': give user, too");
  if (!link.password_file.empty() && url.scheme == "mqtt" && !url.is_loopback())
    return make_error(Code::invalid_argument,
                      "key 'password_file': mqtt:// would send the password to '" + url.host +
                          "' in plain text: give an url of mqtts://, or of a broker on this machine");
  MG_RETURN_IF_ERROR(check_secret("password_file", link.password_file));
  return check_tls_keys(options, url);
}

}  // namespace

bool is_same_broker(const std::string& a, const std::string& b) {
  const auto first = parse_url(a, kMqttSchemes), second = parse_url(b, kMqttSchemes);
  return first.ok() && second.ok() && is_same_peer(*first, *second);
}

LinkKind mqtt_links() {
  return {.name = "mqtt",
          .help = "messages of an MQTT broker, which also takes answers",
          .is_sink = true,
          .add_keys = &add_mqtt_keys,
          .check = &check_mqtt,
          .start = &MqttLink::start};
}

}  // namespace mangrove::sensors
