// bench_serve_load: how long requests to a served model take, and how many are answered, beside the engine itself.
//
//   bench_serve_load --model FILE --name NAME --http HOST:PORT --grpc HOST:PORT --way engine|grpc|rest_binary|rest_json
//                    [--clients 1] [--requests 500] [--batch 16] [--threads 1]
//
// With one client: one request of one sample after the other. Prints a line of JSON: {"p50_us", "p99_us", "per_s"}, the
// times of a request as its client sees them. With several, each has a connection of its own and sends the next request
// when it has an answer. The way `engine` calls the network in this process: with one client a sample at a time, with
// several `batch` samples at a time.
#include <arpa/inet.h>
#include <grpcpp/grpcpp.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "mangrove/base/random.h"
#include "mangrove/engine/execution.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/serve/open_inference.grpc.pb.h"

namespace mangrove {
namespace {

using Ask = std::function<void()>;  // asks once, and waits for the answer
using Time = std::chrono::steady_clock;

[[noreturn]] void fail(const std::string& why) {
  std::fprintf(stderr, "bench_serve_load: %s\n", why.c_str());
  std::_Exit(1);  // any thread may come here
}

struct Settings {
  std::string model, name, http, grpc, way;
  int clients = 1, requests = 500, threads = 1;
  std::int64_t batch = 16;
};

/// The network's input for one sample.
struct Sample {
  std::string input;
  std::vector<std::int64_t> shape;
  std::vector<float> values;
};

Sample sample_of(const Graph& graph) {
  const auto& [name, info] = graph.inputs().front();
  const Shape shape = info.shape.with_batch(1);
  Sample sample{name, {shape.dims().begin(), shape.dims().end()}, {}};
  Random random(1);
  for (std::int64_t i = 0; i < shape.elements(); ++i) sample.values.push_back(static_cast<float>(random.normal()));
  return sample;
}

Ask engine_client(const Graph& graph, const Sample& sample, std::int64_t batch, int threads) {
  const auto program = Program::compile(graph, {.batch = batch, .threads = threads});
  if (!program.ok()) fail(program.error().message);
  std::shared_ptr<Execution> execution = std::move(*Execution::create(*program, threads));
  return [execution, sample] {
    const std::span<float> input = execution->input<float>(sample.input);
    for (std::size_t at = 0; at < input.size(); at += sample.values.size())
      std::ranges::copy(sample.values, input.begin() + static_cast<std::ptrdiff_t>(at));
    execution->forward();
  };
}

Ask grpc_client(const Settings& settings, const Sample& sample) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection of its own
  const auto channel = grpc::CreateCustomChannel(settings.grpc, grpc::InsecureChannelCredentials(), arguments);
  const std::shared_ptr<inference::GRPCInferenceService::Stub> stub = inference::GRPCInferenceService::NewStub(channel);
  inference::ModelInferRequest request;
  request.set_model_name(settings.name);
  auto& input = *request.add_inputs();
  input.set_name(sample.input);
  input.set_datatype("FP32");
  input.mutable_shape()->Add(sample.shape.begin(), sample.shape.end());
  request.add_raw_input_contents(sample.values.data(), sample.values.size() * sizeof(float));
  return [stub, request] {
    grpc::ClientContext context;
    inference::ModelInferResponse response;
    const grpc::Status status = stub->ModelInfer(&context, request, &response);
    if (!status.ok()) fail("gRPC: " + status.error_message());
    if (response.raw_output_contents_size() == 0) fail("gRPC: no outputs");
  };
}

/// A connection that is kept, as HTTP/1.1 clients do.
class HttpConnection {
 public:
  explicit HttpConnection(const std::string& address) {
    const std::size_t colon = address.rfind(':');
    addrinfo hints{}, *found = nullptr;
    hints.ai_socktype = SOCK_STREAM;
    if (getaddrinfo(address.substr(0, colon).c_str(), address.substr(colon + 1).c_str(), &hints, &found) != 0)
      fail("unknown address " + address);
    socket_ = socket(found->ai_family, SOCK_STREAM, 0);
    if (connect(socket_, found->ai_addr, found->ai_addrlen) != 0) fail("nothing answers at " + address);
    freeaddrinfo(found);
    const int on = 1;
    setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  }
  ~HttpConnection() { close(socket_); }
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  void ask(const std::string& request) {
    for (std::size_t at = 0; at < request.size();) {
      const ssize_t sent = send(socket_, request.data() + at, request.size() - at, 0);
      if (sent <= 0) fail("HTTP: the connection broke");
      at += static_cast<std::size_t>(sent);
    }
    std::size_t header = std::string::npos, length = 0;
    got_.clear();
    while (header == std::string::npos || got_.size() < header + length) {
      char buffer[65536];
      const ssize_t read = recv(socket_, buffer, sizeof(buffer), 0);
      if (read <= 0) fail("HTTP: the connection broke");
      got_.append(buffer, static_cast<std::size_t>(read));
      if (header != std::string::npos) continue;
      const std::size_t end = got_.find("\r\n\r\n");
      if (end == std::string::npos) continue;
      header = end + 4;
      if (!got_.starts_with("HTTP/1.1 200")) fail("HTTP: " + got_.substr(0, 500));
      const std::size_t field = got_.find("Content-Length: ");
      if (field == std::string::npos) fail("HTTP: no Content-Length");
      length = std::strtoull(got_.c_str() + field + 16, nullptr, 10);
    }
  }

 private:
  int socket_ = -1;
  std::string got_;
};

std::string http_request(const Settings& settings, const Sample& sample, bool is_binary) {
  const std::size_t bytes = sample.values.size() * sizeof(float);
  nlohmann::json input = {{"name", sample.input}, {"datatype", "FP32"}, {"shape", sample.shape}};
  nlohmann::json body;
  if (is_binary) {
    input["parameters"] = {{"binary_data_size", bytes}};
    body["parameters"] = {{"binary_data_output", true}};
  } else {
    input["data"] = sample.values;
  }
  body["inputs"] = {input};
  std::string text = body.dump();
  const std::size_t json = text.size();
  if (is_binary) text.append(reinterpret_cast<const char*>(sample.values.data()), bytes);
  std::string head = "POST /v2/models/" + settings.name + "/infer HTTP/1.1\r\nHost: " + settings.http +
                     "\r\nContent-Length: " + std::to_string(text.size()) + "\r\n";
  if (is_binary)
    head +=
        "Content-Type: application/octet-stream\r\nInference-Header-Content-Length: " + std::to_string(json) + "\r\n";
  return head + "\r\n" + text;
}

Ask http_client(const Settings& settings, const Sample& sample, bool is_binary) {
  const auto connection = std::make_shared<HttpConnection>(settings.http);
  return [connection, request = http_request(settings, sample, is_binary)] { connection->ask(request); };
}

Ask client(const Settings& settings, const Graph& graph, const Sample& sample) {
  if (settings.way == "engine")
    return engine_client(graph, sample, settings.clients > 1 ? settings.batch : 1, settings.threads);
  if (settings.way == "grpc") return grpc_client(settings, sample);
  if (settings.way == "rest_binary") return http_client(settings, sample, true);
  if (settings.way == "rest_json") return http_client(settings, sample, false);
  fail("unknown way '" + settings.way + "'");
}

void measure(const Settings& settings) {
  const auto graph = load_onnx(settings.model);
  if (!graph.ok()) fail(graph.error().message);
  const Sample sample = sample_of(*graph);
  const bool is_engine = settings.way == "engine";
  const int clients = is_engine ? 1 : settings.clients;
  const int each = is_engine && settings.clients > 1 ? std::max(1, settings.requests / static_cast<int>(settings.batch))
                                                     : std::max(1, settings.requests / clients);
  std::vector<Ask> asks;
  asks.reserve(static_cast<std::size_t>(clients));
  for (int i = 0; i < clients; ++i) asks.push_back(client(settings, *graph, sample));
  for (const Ask& ask : asks)
    for (int i = 0; i < 5; ++i) ask();
  std::vector<std::vector<double>> times(asks.size());
  const Time::time_point began = Time::now();
  {
    std::vector<std::jthread> threads;
    for (std::size_t c = 0; c < asks.size(); ++c)
      threads.emplace_back([&, c] {
        for (int i = 0; i < each; ++i) {
          const Time::time_point start = Time::now();
          asks[c]();
          times[c].push_back(std::chrono::duration<double, std::micro>(Time::now() - start).count());
        }
      });
  }
  const double seconds = std::chrono::duration<double>(Time::now() - began).count();
  std::vector<double> all;
  for (const auto& one : times) all.insert(all.end(), one.begin(), one.end());
  std::ranges::sort(all);
  const double samples =
      static_cast<double>(all.size()) * (is_engine && settings.clients > 1 ? static_cast<double>(settings.batch) : 1);
  const nlohmann::json result = {{"p50_us", all[all.size() / 2]},
                                 {"p99_us", all[std::min(all.size() - 1, all.size() * 99 / 100)]},
                                 {"per_s", samples / seconds}};
  std::printf("%s\n", result.dump().c_str());
}

}  // namespace
}  // namespace mangrove

int main(int argc, char** argv) try {
  CLI::App app("how long requests to a served model take");
  mangrove::Settings settings;
  app.add_option("--model", settings.model)->required();
  app.add_option("--name", settings.name);
  app.add_option("--http", settings.http);
  app.add_option("--grpc", settings.grpc);
  app.add_option("--way", settings.way)->required();
  app.add_option("--clients", settings.clients)->check(CLI::Range(1, 1000));
  app.add_option("--requests", settings.requests)->check(CLI::Range(1, 10'000'000));
  app.add_option("--batch", settings.batch)->check(CLI::Range(1, 1024));
  app.add_option("--threads", settings.threads)->check(CLI::Range(1, 256));
  CLI11_PARSE(app, argc, argv);
  mangrove::measure(settings);
  return 0;
} catch (const std::exception& problem) {
  std::fprintf(stderr, "bench_serve_load: %s\n", problem.what());
  return 1;
}
