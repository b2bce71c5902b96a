#pragma once

#include <set>
#include <string>
#include <vector>

#include "mangrove/base/file.h"

namespace mangrove {

/// One of the ONNX project's own operator tests (Debian package libonnx-testdata).
struct NodeCase {
  fs::path folder;
  std::string name;  // "test_conv_with_strides"
  std::string op;    // that of its first node
  bool is_expanded;  // it writes a function as several nodes, so it says nothing of `op` alone
};

struct NodeCaseResult {
  enum class Outcome { passed, refused, failed };
  Outcome outcome = Outcome::failed;
  std::string reason = {};              // why not passed, without the node's name
  std::set<std::string> backends = {};  // whose kernels ran
};

/// The folder of the tests, which need not exist.
fs::path node_case_folder();
/// The tests all of whose operators are in the operator table, by name.
std::vector<NodeCase> node_cases();
/// How many tests have operators that are not in the table.
std::size_t node_cases_left_out();

/// Loads and runs a test on a backend, with the tolerances of the ONNX project's own runner. What models hold as
/// constants (the shape of a Reshape), but the test feeds, becomes an initializer. Refused: the file needs what we do
/// not support, and loading it says so.
NodeCaseResult run_node_case(const NodeCase& test, const std::string& backend);

}  // namespace mangrove
