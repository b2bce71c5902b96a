// bench_codec: what each codec makes of the gradient of a network, how small, how exactly and how fast, on one thread.
//
//   bench_codec [--seconds 0.3] [--only CODEC]
//
// Every codec of the table with its default parameters, on random numbers (Laplace, as gradients are about, each layer
// on a scale of its own) in the layers of LeNet-5 (431,080 elements) and ResNet-20 (269,722). Prints one line of JSON:
// {"NETWORK CODEC": {"bytes_per_element", "encode_ns", "decode_ns" (each for an element, median), "relative_error" (of
// one message; null where the message holds what earlier ones left over)}}. A codec that warms up has done so before.
#include "mangrove/codec/codec.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "mangrove/base/median.h"
#include "mangrove/base/random.h"

namespace mangrove::codec {
namespace {

constexpr int kWarmUp = 401;  // messages: dgc's warm-up
constexpr std::size_t kGradients = 4;

struct Network {
  std::string name;
  std::vector<Layer> layers;
};

Network lenet() {
  return {"lenet", {{20, 25}, {1, 20}, {50, 500}, {1, 50}, {500, 800}, {1, 500}, {10, 500}, {1, 10}}};
}

Network resnet20() {
  Network network{"resnet-20", {}};
  const auto add_convolution = [&](std::int64_t inputs, std::int64_t outputs) {
    network.layers.push_back({outputs, inputs * 9});
    network.layers.insert(network.layers.end(), 2, {1, outputs});  // of the batch normalization
  };
  add_convolution(3, 16);
  for (const std::int64_t width : {16, 32, 64}) {
    for (int convolution = 0; convolution < 6; ++convolution)
      add_convolution(convolution == 0 ? std::max<std::int64_t>(width / 2, 16) : width, width);
  }
  network.layers.push_back({10, 64});
  network.layers.push_back({1, 10});
  return network;
}

std::vector<float> random_gradient(const std::vector<Layer>& layers, Random& random) {
  std::vector<float> values;
  for (const Layer& layer : layers) {
    const double scale = 0.1 / std::sqrt(static_cast<double>(layer.columns));
    for (std::int64_t i = 0; i < layer.elements(); ++i)
      values.push_back(static_cast<float>((random.below(2) == 0 ? scale : -scale) * std::log(1 - random.uniform())));
  }
  return values;
}

/// Median of the seconds that a call takes, called for so long.
double seconds_of(const std::function<void(std::size_t)>& call, double seconds) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> times;
  const auto start = Clock::now();
  for (auto before = start; times.size() < 5 || before < start + std::chrono::duration<double>(seconds);) {
    call(times.size());
    const auto after = Clock::now();
    times.push_back(std::chrono::duration<double>(after - before).count());
    before = after;
  }
  return median(std::move(times));
}

double relative_error(const std::vector<float>& decoded, const std::vector<float>& values) {
  double difference = 0, whole = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    difference += std::pow(static_cast<double>(decoded[i]) - values[i], 2);
    whole += std::pow(static_cast<double>(values[i]), 2);
  }
  return std::sqrt(difference / whole);
}

Result<nlohmann::json> measure(const CodecRow& row, const Network& network, double seconds) {
  const Stream stream{.layers = network.layers, .seed = 1};
  const auto elements = static_cast<double>(stream.elements());
  Random random(1);
  std::vector<std::vector<float>> gradients;
  while (gradients.size() < kGradients) gradients.push_back(random_gradient(network.layers, random));
  MG_TRY(const auto codec, make_codec(row.name, stream));
  std::string message;
  const auto encode = [&](std::size_t i) { message = codec->encode(gradients[i % kGradients]); };
  for (std::size_t i = 0; i < (row.keeps_residual ? kWarmUp : 1); ++i) encode(i);
  const double encode_seconds = seconds_of(encode, seconds);
  encode(0);
  std::vector<float> decoded(gradients[0].size());
  MG_RETURN_IF_ERROR(codec->decode(message, decoded));
  const double error = relative_error(decoded, gradients[0]);
  const double decode_seconds =
      seconds_of([&](std::size_t) { static_cast<void>(codec->decode(message, decoded)); }, seconds);
  return nlohmann::json{{"bytes_per_element", static_cast<double>(message.size()) / elements},
                        {"encode_ns", 1e9 * encode_seconds / elements},
                        {"decode_ns", 1e9 * decode_seconds / elements},
                        {"relative_error", row.keeps_residual ? nlohmann::json() : nlohmann::json(error)}};
}

Status run(double seconds, const std::string& only) {
  nlohmann::json line;
  for (const Network& network : {lenet(), resnet20()}) {
    for (const CodecRow& row : codecs()) {
      if (!only.empty() && row.name != only) continue;
      MG_TRY(line[network.name + " " + std::string(row.name)], measure(row, network, seconds));
    }
  }
  std::puts(line.dump().c_str());
  return {};
}

}  // namespace
}  // namespace mangrove::codec

int main(int argc, char** argv) {
  CLI::App app("Size, error and speed of every codec");
  double seconds = 0.3;
  std::string only;
  app.add_option("--seconds", seconds, "of each measurement");
  app.add_option("--only", only, "this codec alone");
  CLI11_PARSE(app, argc, argv);
  const mangrove::Status status = mangrove::codec::run(seconds, only);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s: %s\n", argv[0], status.error().message.c_str());
  return 1;
}
