#include "mangrove/learn/optimizer.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "mangrove/base/check.h"
#include "mangrove/base/check_setting.h"
#include "mangrove/base/table.h"
#include "mangrove/learn/names_with.h"
#include "mangrove/learn/optimizers/rules.h"

namespace mangrove::learn {
namespace {

// g: gradient plus weight_decay * w; t: step, from 1
constexpr OptimizerRow kOptimizers[] = {
    {"sgd", "w -= rate g (Robbins & Monro 1951)", "", 0, 0.05f, true, false, &rules::sgd},
    {"momentum", "v = momentum v + g; w -= rate v (Polyak 1964)", "momentum", 1, 0.05f, true, false, &rules::momentum},
    {"nesterov", "v = momentum v + g; w -= rate (g + momentum v) (Sutskever et al. 2013)", "momentum", 1, 0.05f, true,
     false, &rules::nesterov},
    {"adam",
     "m = beta1 m + (1 - beta1) g; v = beta2 v + (1 - beta2) g^2; w -= rate m/(1 - beta1^t) / (sqrt(v/(1 - beta2^t)) + "
     "epsilon) (Kingma & Ba 2015)",
     "beta1,beta2,epsilon", 2, 1e-3f, false, false, &rules::adam},
    {"adamw", "w -= rate weight_decay w, then adam without decay (Loshchilov & Hutter 2019)", "beta1,beta2,epsilon", 2,
     1e-3f, false, false, &rules::adamw},
    {"rmsprop", "s = alpha s + (1 - alpha) g^2; w -= rate g / (sqrt(s) + epsilon) (Tieleman & Hinton 2012)",
     "alpha,epsilon", 1, 1e-3f, false, false, &rules::rmsprop},
    {"lars",
     "per parameter: v = momentum v + rate trust |w| / (|gradient| + weight_decay |w|) g; w -= v (You et al. 2017)",
     "momentum,trust", 1, 2, true, true, &rules::lars},
};

/// Whether the value is a weight at this input of the operator.
bool is_weight(const std::string& op, std::size_t input) {
  const bool product = op == "Conv" || op == "ConvTranspose" || op == "Gemm" || op == "MatMul";
  const bool recurrent = op == "LSTM" || op == "GRU" || op == "RNN";
  return (product && input <= 1) || (recurrent && (input == 1 || input == 2));
}

}  // namespace

std::span<const OptimizerRow> optimizers() {
  return kOptimizers;
}

Result<const OptimizerRow*> find_optimizer(const std::string& name) {
  return find_row(kOptimizers, name, "unknown optimizer");
}

std::vector<std::string> optimizers_with(std::string_view constant) {
  return names_with(kOptimizers, constant);
}

Status check_options(const OptimizerOptions& options) {
  MG_RETURN_IF_ERROR(find_optimizer(options.name));
  const auto decay = [](float x) { return x >= 0 && x < 1; };
  const auto nonnegative = [](float x) { return std::isfinite(x) && x >= 0; };
  constexpr const char* kDecay = "from 0 to below 1";
  constexpr const char* kNonnegative = "0 or more";
  MG_RETURN_IF_ERROR(check_setting("momentum", options.momentum, decay(options.momentum), kDecay));
  MG_RETURN_IF_ERROR(check_setting("beta1", options.beta1, decay(options.beta1), kDecay));
  MG_RETURN_IF_ERROR(check_setting("beta2", options.beta2, decay(options.beta2), kDecay));
  MG_RETURN_IF_ERROR(check_setting("alpha", options.alpha, decay(options.alpha), kDecay));
  // 0 would divide 0 by 0 in padding
  MG_RETURN_IF_ERROR(
      check_setting("epsilon", options.epsilon, std::isfinite(options.epsilon) && options.epsilon > 0, "above 0"));
  MG_RETURN_IF_ERROR(
      check_setting("trust", options.trust, std::isfinite(options.trust) && options.trust > 0, "above 0"));
  MG_RETURN_IF_ERROR(
      check_setting("weight_decay", options.weight_decay, nonnegative(options.weight_decay), kNonnegative));
  MG_RETURN_IF_ERROR(check_setting("clip_norm", options.clip_norm, nonnegative(options.clip_norm), kNonnegative));
  return check_setting("clip_value", options.clip_value, nonnegative(options.clip_value), kNonnegative);
}

std::vector<bool> spared_from_decay(const Graph& graph) {
  std::vector<bool> spared;
  for (const std::string& name : graph.parameters()) {
    bool decays = false;
    if (graph.value(name).shape.rank() >= 2) {
      for (const Node& node : graph.nodes())
        for (std::size_t i = 0; i < node.inputs.size(); ++i)
          decays = decays || (node.inputs[i] == name && is_weight(node.op, i));
    }
    spared.push_back(!decays);
  }
  return spared;
}

Result<Optimizer> Optimizer::create(const OptimizerOptions& options, std::vector<Parameter> parameters) {
  MG_RETURN_IF_ERROR(check_options(options));
  MG_TRY(const OptimizerRow* row, find_optimizer(options.name));
  return Optimizer(options, *row, std::move(parameters));
}

Optimizer::Optimizer(const OptimizerOptions& options, const OptimizerRow& row, std::vector<Parameter> parameters)
    : options_(options), row_(&row), parameters_(std::move(parameters)), slots_(row.slots) {
  for (const Parameter& parameter : parameters_) {
    MG_CHECK(parameter.gradient.size() == parameter.value.size());
    elements_ += parameter.value.size();
    for (auto& slot : slots_) slot.emplace_back(parameter.value.size());
  }
}

void Optimizer::move_to(std::vector<Parameter> parameters) {
  const auto same_sizes = [](const Parameter& a, const Parameter& b) {
    return a.value.size() == b.value.size() && a.gradient.size() == b.gradient.size();
  };
  MG_CHECK(std::equal(parameters.begin(), parameters.end(), parameters_.begin(), parameters_.end(), same_sizes));
  parameters_ = std::move(parameters);
}

void Optimizer::step(float learning_rate, std::int64_t step, int threads) {
  constexpr std::size_t kWorthThreads = 1 << 14;
  MG_CHECK(step >= 1 && threads >= 1);
  clip();
  const int parts = elements_ < kWorthThreads ? 1 : threads;
  if (parts == 1) return update_part(0, 1, learning_rate, step);
#pragma omp parallel for num_threads(parts)
  for (int part = 0; part < parts; ++part) update_part(part, parts, learning_rate, step);
}

/// One of `parts` equal parts of all parameters, one behind the other. Of a layer-wise rule: the parameters that begin
/// in it.
void Optimizer::update_part(int part, int parts, float learning_rate, std::int64_t step) {
  const auto border = [&](int k) { return elements_ * static_cast<std::size_t>(k) / static_cast<std::size_t>(parts); };
  const std::size_t begin = border(part), end = border(part + 1);
  std::size_t start = 0;  // of the parameter
  for (std::size_t i = 0; i < parameters_.size(); start += parameters_[i++].value.size()) {
    const Parameter& parameter = parameters_[i];
    const std::size_t size = parameter.value.size();
    std::size_t first = std::clamp(begin, start, start + size) - start;
    std::size_t last = std::clamp(end, start, start + size) - start;
    if (row_->is_layer_wise) {
      first = 0;
      last = begin <= start && start < end ? size : 0;
    }
    if (first == last) continue;
    Update update{.weight = parameter.value.subspan(first, last - first),
                  .gradient = parameter.gradient.subspan(first, last - first),
                  .slots = {},
                  .learning_rate = learning_rate,
                  .weight_decay = parameter.spared ? 0 : options_.weight_decay,
                  .spared = parameter.spared,
                  .step = step};
    for (std::size_t slot = 0; slot < slots_.size(); ++slot)
      update.slots[slot] = std::span(slots_[slot][i]).subspan(first, last - first);
    row_->update(update, options_);
  }
}

// source of clipping by norm: Pascanu, Mikolov & Bengio, On the difficulty of training recurrent neural networks, ICML
// 2013
void Optimizer::clip() {
  if (options_.clip_norm > 0) {
    double squares = 0;
    for (const Parameter& parameter : parameters_)
      for (const float g : parameter.gradient) squares += static_cast<double>(g) * g;
    const auto scale = static_cast<float>(options_.clip_norm / (std::sqrt(squares) + 1e-6));
    if (scale < 1)
      for (const Parameter& parameter : parameters_)
        for (float& g : parameter.gradient) g *= scale;
  }
  if (options_.clip_value > 0) {
    const float limit = options_.clip_value;
    for (const Parameter& parameter : parameters_)
      for (float& g : parameter.gradient) g = std::clamp(g, -limit, limit);
  }
}

}  // namespace mangrove::learn
