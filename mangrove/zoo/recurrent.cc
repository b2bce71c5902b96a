#include "mangrove/zoo/family.h"
#include "mangrove/zoo/network_builder.h"

namespace mangrove::zoo {
namespace {

struct Cell {
  std::string op;            // ONNX operator
  std::int64_t gates;        // stacked in its weights
  std::int64_t forget_gate;  // whose bias starts at 1; -1: it has none
};

// ONNX stacks the gates of an LSTM as input, output, forget, cell.
const Cell kLstm{.op = "LSTM", .gates = 4, .forget_gate = 2};
const Cell kGru{.op = "GRU", .gates = 3, .forget_gate = -1};

Tensor input_weights(const Cell& cell, std::int64_t inputs, std::int64_t units, Random& random) {
  Tensor weights(DType::f32, Shape{1, cell.gates * units, inputs});
  initialize(glorot_uniform(), {.in = inputs, .out = units}, random, weights.as<float>());
  return weights;
}

Tensor recurrent_weights(const Cell& cell, std::int64_t units, Random& random) {
  Tensor weights(DType::f32, Shape{1, cell.gates * units, units});
  const auto gate = static_cast<std::size_t>(units * units);
  for (std::size_t i = 0; i < static_cast<std::size_t>(cell.gates); ++i)
    initialize_orthogonal(units, random, weights.as<float>().subspan(i * gate, gate));
  return weights;
}

Tensor bias(const Cell& cell, std::int64_t units) {
  Tensor weights(DType::f32, Shape{1, 2 * cell.gates * units});
  if (cell.forget_gate >= 0) {
    const auto gate = weights.as<float>().subspan(static_cast<std::size_t>(cell.forget_gate * units),
                                                  static_cast<std::size_t>(units));
    for (float& element : gate) element = 1;
  }
  return weights;
}

/// [T, N, inputs] to the states of every step [T, N, units], or of the last one [N, units].
Value layer(NetworkBuilder& network, const Cell& cell, const std::string& name, const Value& x, std::int64_t units,
            bool last) {
  Random& random = network.random();
  const Value y = network.apply(name, cell.op, {x},
                                {{"weight", input_weights(cell, x.shape[2], units, random)},
                                 {"recurrent", recurrent_weights(cell, units, random)},
                                 {"bias", bias(cell, units)}},
                                {{"hidden_size", units}}, last ? 1 : 0);
  const std::vector<std::int64_t> direction_axis = {last ? 0 : 1};
  return network.apply(name + ".squeeze", "Squeeze", {y},
                       {{"axes", Tensor::of<std::int64_t>(Shape{1}, direction_axis)}});
}

Result<Graph> build(const Cell& cell, const Variant& variant, const ModelOptions& options) {
  const auto units = variant.size() > 0 ? variant.whole(0, 1, 1024) : 128;
  const auto layers = variant.size() > 1 ? variant.whole(1, 1, 8) : 2;
  if (!units || !layers || variant.size() > 2) return variant.mismatch();
  NetworkBuilder network(variant.name(), options);
  Value x = network.apply("steps", "Transpose", {network.input()}, {}, {{"perm", std::vector<std::int64_t>{2, 0, 1}}});
  for (std::int64_t i = 1; i <= *layers; ++i)
    x = layer(network, cell, "layer" + std::to_string(i), x, *units, i == *layers);
  return std::move(network).finish(network.dense("fc", x, options.classes));
}

/// Classifier of sensor windows [C, T]: "lstm-U-L" has L layers of U units (128 and 2 where left out, the recurrent
/// part of DeepConvLSTM) and a dense layer on the last state. Recurrent weights start orthogonal, the forget gate's
/// bias at 1. source: Hochreiter & Schmidhuber, Long short-term memory, Neural Computation 1997; Gers, Schmidhuber &
/// Cummins, 2000; Ordonez & Roggen, Deep convolutional and LSTM recurrent neural networks for multimodal wearable
/// activity recognition, Sensors 2016; forget bias: Jozefowicz, Zaremba & Sutskever, ICML 2015.
Result<Graph> build_lstm(const Variant& variant, const ModelOptions& options) {
  return build(kLstm, variant, options);
}

/// The same with gated recurrent units, "gru-U-L".
/// source: Cho et al., Learning phrase representations using RNN encoder-decoder for statistical machine translation,
/// EMNLP 2014.
Result<Graph> build_gru(const Variant& variant, const ModelOptions& options) {
  return build(kGru, variant, options);
}

}  // namespace

Family rows::lstm() {
  return {.names = {"lstm", "lstm-U-L, L layers of U units",
                    "classifier of sensor windows, 2 layers of 128 units or as named",
                    "Hochreiter & Schmidhuber, 1997; Ordonez & Roggen, Sensors 2016"},
          .sample = Sample::window,
          .build = &build_lstm,
          .models = {{"lstm", {9, 128}, 6, 204'038, 25'756'416}}};
}

Family rows::gru() {
  return {.names = {"gru", "gru-U-L, L layers of U units",
                    "classifier of sensor windows, 2 layers of 128 units or as named", "Cho et al., EMNLP 2014"},
          .sample = Sample::window,
          .build = &build_gru,
          .models = {{"gru", {9, 128}, 6, 153'222, 19'317'504}}};
}

}  // namespace mangrove::zoo
