// The only file of the tests that is compiled with a path of this machine: a compiler cache knows all others in any
// clone.
#include "tests/paths.h"

namespace mangrove::testing {

std::string repository_path(const std::string& path) {
  return MANGROVE_REPOSITORY "/" + path;
}

std::string program() {
  return MANGROVE_PROGRAM;
}

}  // namespace mangrove::testing
