#include "tests/sensors/broker.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <thread>
#include <utility>

#include "mangrove/base/check.h"

namespace mangrove::sensors {
namespace {

using cluster::ChildProcess;

const char* const kProbe = "probe/probe";

std::unique_ptr<ChildProcess> started(const std::string& program, const std::vector<std::string>& arguments,
                                      const std::string& input = {}) {
  auto process = ChildProcess::start(program, arguments, "", input);
  MG_CHECK_MSG(process.ok(), process.error().message);
  return std::move(process).value();
}

bool accepts(int port) {
  const int one = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool does = ::connect(one, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  ::close(one);
  return does;
}

class LargestNumber final : public serve::Model {
 public:
  LargestNumber() {
    metadata_.name = "m";
    metadata_.version = "1";
    metadata_.inputs = {{.name = "x", .shape = {-1, 3}}};
    metadata_.outputs = {{.name = "logits", .shape = {-1, 3}}};
    metadata_.labels = {"low", "middle", "high"};
  }
  const serve::ModelMetadata& metadata() const override { return metadata_; }
  void infer(serve::InferenceRequest request, serve::AnswerSink answer) override {
    serve::InferenceResponse response{.version = "1", .outputs = {}};
    response.outputs.push_back({"logits", std::move(request.inputs.at(0).tensor)});
    answer(std::move(response));
  }
  serve::ModelStatistics statistics() const override { return {}; }

 private:
  serve::ModelMetadata metadata_;
};

}  // namespace

bool wait_for(const std::function<bool()>& condition) {
  const SteadyClock clock;
  const Deadline deadline = clock.after(kTestLong);
  while (!condition()) {
    if (clock.now() >= deadline) return false;
    std::this_thread::yield();
    SteadyClock().sleep_until(clock.after(0.01));
  }
  return true;
}

int free_port(int socket_type) {
  const int one = ::socket(AF_INET, socket_type | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  MG_CHECK(::bind(one, reinterpret_cast<const sockaddr*>(&address), size) == 0);
  MG_CHECK(::getsockname(one, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  ::close(one);
  return ntohs(address.sin_port);
}

Broker::Broker(const std::string& more) : port_(free_port(SOCK_STREAM)) {
  std::ofstream(folder_ / "mosquitto.conf") << "listener " << port_ << " 127.0.0.1\n"
                                            << "allow_anonymous true\nmax_queued_messages 100000\nuser root\n"
                                            << more;
  start();
}

void Broker::start() {
  process_ = started("/usr/sbin/mosquitto", {"-c", (folder_ / "mosquitto.conf").string()});
  MG_CHECK_MSG(wait_for([this] { return accepts(port_); }), "mosquitto does not listen");
}

void Broker::kill() {
  ::kill(process_->pid(), SIGKILL);
  process_.reset();
}

void Broker::freeze() {
  ::kill(process_->pid(), SIGSTOP);
}

void Broker::thaw() {
  ::kill(process_->pid(), SIGCONT);
}

void Broker::publish(const std::string& topic, const std::vector<std::string>& payloads, int qos) const {
  std::string lines;
  for (const std::string& payload : payloads) lines += payload + "\n";
  output_of("/usr/bin/mosquitto_pub", {"-p", std::to_string(port_), "-t", topic, "-q", std::to_string(qos), "-l"},
            lines);
}

Subscriber::Subscriber(const Broker& broker, const std::string& topic)
    : process_(started("/usr/bin/mosquitto_sub",
                       {"-p", std::to_string(broker.port()), "-q", "1", "-t", topic, "-t", kProbe, "-F", "%t %p"})) {
  const bool is_there = wait_for([&] {
    broker.publish(kProbe, {"x"});
    return process_->read_line(SteadyClock().after(0.1)).ok();
  });
  MG_CHECK_MSG(is_there, "mosquitto_sub hears nothing");
}

std::string Subscriber::next(Seconds within) {
  const Deadline deadline = SteadyClock().after(within);
  for (;;) {
    const auto line = process_->read_line(deadline);
    if (!line.ok()) return {};
    if (!line->starts_with(kProbe)) return line->substr(line->find(' ') + 1);
  }
}

std::string output_of(const std::string& program, const std::vector<std::string>& arguments, const std::string& input) {
  const auto process = started(program, arguments, input);
  std::string output;
  for (;;) {
    const auto line = process->read_line(SteadyClock().after(kTestLong));
    if (!line.ok()) break;
    output += *line + "\n";
  }
  EXPECT_TRUE(process->wait(SteadyClock().after(kTestLong))) << program;
  return output;
}

std::shared_ptr<serve::Model> largest_number() {
  return std::make_shared<LargestNumber>();
}

RunningService::RunningService(const std::string& yaml) : models(std::make_unique<OneModel>(largest_number())) {
  auto file = parse_sources(yaml, "sources.yaml");
  MG_CHECK_MSG(file.ok(), file.error().message);
  auto started_one = SensorService::start(*models, {.file = std::move(*file), .model = "m"});
  MG_CHECK_MSG(started_one.ok(), started_one.error().message);
  service = std::move(*started_one);
}

RunningService::~RunningService() {
  service->stop(5);
}

bool RunningService::wait_until(const std::function<bool(const SensorCounts&)>& condition) const {
  return wait_for([&] { return condition(service->counts()); });
}

}  // namespace mangrove::sensors
