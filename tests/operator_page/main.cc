// operator_page: writes docs/operators.md from the operator table and from the ONNX project's own operator tests, run
// on every backend.
//
//   operator_page FILE           writes the page
//   operator_page --check FILE   exit status 1 where the file is not what would be written
//
// Exit status 77 where the tests (Debian package libonnx-testdata) or oneDNN are absent.
#include <cstdio>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "../engine/onnx_node_cases.h"

#include "mangrove/engine/backend.h"
#include "mangrove/graph/operator.h"

namespace mangrove {
namespace {

using Outcome = NodeCaseResult::Outcome;

constexpr int kCannotRun = 77;

// The opset that brought an operator, where that is not one of the oldest that are read.
const std::map<std::string, int> kFirstOpset{
    {"Acosh", 9},
    {"Asinh", 9},
    {"Atanh", 9},
    {"Celu", 12},
    {"ConstantOfShape", 9},
    {"ConvInteger", 10},
    {"Cosh", 9},
    {"CumSum", 11},
    {"DequantizeLinear", 10},
    {"DynamicQuantizeLinear", 11},
    {"Einsum", 12},
    {"Erf", 9},
    {"Expand", 8},
    {"EyeLike", 9},
    {"GatherElements", 11},
    {"GatherND", 11},
    {"Gelu", 20},
    {"GreaterOrEqual", 12},
    {"GridSample", 16},
    {"HardSwish", 14},
    {"IsInf", 10},
    {"IsNaN", 9},
    {"LayerNormalization", 17},
    {"LessOrEqual", 12},
    {"MatMulInteger", 10},
    {"Mish", 18},
    {"Mod", 10},
    {"NonZero", 9},
    {"OneHot", 9},
    {"QLinearConv", 10},
    {"QLinearMatMul", 10},
    {"QuantizeLinear", 10},
    {"Range", 11},
    {"Round", 11},
    {"ScatterElements", 9},
    {"ScatterND", 11},
    {"Shrink", 9},
    {"Sign", 9},
    {"Sinh", 9},
    {"ThresholdedRelu", 10},
    {"Trilu", 14},
    {"Where", 9},
};

std::string opsets(const std::string& op) {
  if (op == "GroupNormalization") return "18-21, before as its parts";
  if (op == "Resize") return "7-21 (7-9: Upsample)";
  const auto found = kFirstOpset.find(op);
  const int first = found == kFirstOpset.end() ? 7 : found->second;
  return std::to_string(first) + "-21";
}

/// What the tests of one operator came to.
struct Tally {
  int passed = 0;
  int refused = 0;
  int failed = 0;
  std::set<std::string> backends;  // whose own kernels ran in one of them
};

struct Outcomes {
  std::map<std::string, Tally> of;                           // by operator
  std::vector<std::pair<std::string, std::string>> refused;  // test, reason
  std::vector<std::pair<std::string, std::string>> failed;
  int passed = 0;
  Tally expanded;  // tests of functions that are written as several nodes: of no one operator
};

Outcomes run_all() {
  Outcomes outcomes;
  for (const NodeCase& test : node_cases()) {
    Tally& tally = test.is_expanded ? outcomes.expanded : outcomes.of[test.op];
    bool passed = true;
    for (const std::string& backend : backend_names()) {
      NodeCaseResult result = run_node_case(test, backend);
      tally.backends.merge(result.backends);
      if (result.outcome == Outcome::passed) continue;
      passed = false;
      auto& list = result.outcome == Outcome::refused ? outcomes.refused : outcomes.failed;
      if (list.empty() || list.back().first != test.name) list.emplace_back(test.name, result.reason);
    }
    const bool failed = !outcomes.failed.empty() && outcomes.failed.back().first == test.name;
    ++(passed ? tally.passed : failed ? tally.failed : tally.refused);
    outcomes.passed += passed;
  }
  return outcomes;
}

// Text for a cell of a table.
std::string in_table(std::string text) {
  for (std::size_t at = text.find('|'); at != std::string::npos; at = text.find('|', at + 2)) text.insert(at, "\\");
  return text;
}

/// The backends that have kernels of the operator; the portable one has all.
std::string kernels_of(const Tally& tally) {
  std::string text;
  for (const std::string& backend : backend_names()) {
    if (backend != "portable" && tally.backends.contains(backend)) text += backend + ", ";
  }
  return text + "portable";
}

std::string operator_rows(const Outcomes& outcomes) {
  std::string text =
      "| operator | opsets | backward | kernels | tests passed | refused | failed |\n"
      "| --- | --- | --- | --- | --- | --- | --- |\n";
  for (const Operator& row : operators()) {
    const std::string op(row.type);
    const auto found = outcomes.of.find(op);
    const Tally tally = found == outcomes.of.end() ? Tally{} : found->second;
    text += "| " + op + " | " + opsets(op) + " | " + (row.differentiable ? "yes" : "no") + " | " + kernels_of(tally) +
            " | " + std::to_string(tally.passed) + " | " + std::to_string(tally.refused) + " | " +
            std::to_string(tally.failed) + " |\n";
  }
  return text;
}

constexpr const char* kIntroduction = R"(# Operators

<!-- written by build/release/tests/operator_page docs/operators.md -->

The ONNX operators that Mangrove loads, runs and, where a gradient exists, trains. Opsets 7 to 21 are read and 17 is
written (18 with Mish, 20 with Gelu); other forms are rewritten while loading. Every operator has portable kernels for
f32 and f64, and for the integer types that ONNX gives it. The table names the kernels that ran in the tests;
`Program::describe` says which ones run in a network, where oneDNN's layouts allow more.

With oneDNN these run in int8:

* Conv (also depthwise), Gemm and MatMul between DequantizeLinear nodes: bytes times i8 weights without zero points. The
  scales of the weights may differ by output channel. A residual Add, the activation and the QuantizeLinear behind them
  are fused. QLinearConv and QLinearMatMul of that kind are the same.
* QuantizeLinear and DequantizeLinear with one scale; MaxPool and Concat of bytes.
* ConvInteger and MatMulInteger of constant weights, with any zero points, and behind them Cast, Mul by scales, Add of a
  bias, Add of a residual, and Relu or Clip. Their sums are exact.

Zero points of activations other than 0 are right and cost a little. ConvInteger and MatMulInteger of computed weights,
with the backend `simd`, or on a processor that oneDNN has no exact products of bytes for, are sums of as many products
in float as float holds exactly. Everything else runs in float between them or on the portable kernels. The portable
kernels compute in float what is dequantized. A fused product of dequantized values may differ from them by one step of
its quantized result, where a sum lies between two.
)";

constexpr const char* kRemarks = R"(
A shape that depends on data, or on the batch otherwise than as a multiple of it, is an error that says so: NonZero is
of constants only, and NonMaxSuppression is refused, since how many boxes it keeps depends on its data. An Einsum that
is a product of matrices becomes Transpose and MatMul while loading; the others run on plain loops. Index operators
(Gather, GatherElements, GatherND, OneHot, ScatterElements, ScatterND) refuse constant indices that name nothing. Where
such an index is fed, the result of a gathering is 0 there, and the update of a scattering is left out. Scattering with
`reduction` mul, max or min has no gradient. GroupNormalization is an operator of opset 18; in files of opset 17 it is
Reshape, InstanceNormalization, Reshape, Mul and Add, which loading makes one node of and saving writes. Control flow
(If, Loop, Scan), sequences, strings and sparse tensors are refused. See [onnx.md](onnx.md).

## What is refused

| test | reason |
| --- | --- |
)";

std::string page(const Outcomes& outcomes) {
  std::string text = std::string(kIntroduction) +
                     "\nThe tests are the ONNX project's own (`libonnx-testdata`, ONNX 1.12), with its tolerances, on "
                     "every backend: " +
                     std::to_string(outcomes.passed) + " pass, " + std::to_string(outcomes.refused.size()) +
                     " are refused\nfor the reasons below, " + std::to_string(outcomes.failed.size()) + " fail; " +
                     std::to_string(node_cases_left_out()) + " others are of operators that are not in the table.\n" +
                     "Tests that write a function as several nodes (" + std::to_string(outcomes.expanded.passed) +
                     " pass) are in these sums, but in no row.\n\n" + operator_rows(outcomes) + kRemarks;
  for (const auto& [test, reason] : outcomes.refused) text += "| " + test + " | " + in_table(reason) + " |\n";
  if (!outcomes.failed.empty()) text += "\n## What fails\n\n| test | difference |\n| --- | --- |\n";
  for (const auto& [test, reason] : outcomes.failed) text += "| " + test + " | " + in_table(reason) + " |\n";
  return text;
}

int run(const std::vector<std::string>& arguments) {
  const bool check = arguments.size() == 2 && arguments[0] == "--check";
  if (!check && arguments.size() != 1) {
    std::cerr << "usage: operator_page [--check] FILE\n";
    return 2;
  }
  if (!fs::exists(node_case_folder())) {
    std::cerr << node_case_folder().string() << " is absent: install libonnx-testdata\n";
    return kCannotRun;
  }
  if (!find_backend("onednn").ok()) {
    std::cerr << "this build lacks oneDNN, which the page is about too\n";
    return kCannotRun;
  }
  const fs::path path = arguments.back();
  const std::string text = page(run_all());
  if (!check) {
    const Status written = write_file_atomically(path, text);
    if (!written.ok()) std::cerr << written.error().message << "\n";
    return written.ok() ? 0 : 1;
  }
  const Result<std::string> found = read_file(path);
  if (found.ok() && *found == text) return 0;
  std::cerr << path.string() << " is out of date: write it with operator_page " << path.string() << "\n";
  return 1;
}

}  // namespace
}  // namespace mangrove

int main(int argc, char** argv) {
  return mangrove::run(std::vector<std::string>(argv + 1, argv + argc));
}
