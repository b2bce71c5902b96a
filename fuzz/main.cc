// The program that libFuzzer drives: scripts/fuzz.sh says in the environment which target it is to be.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "fuzz/target.h"

#include "mangrove/base/log.h"

namespace {

constexpr const char* kVariable = "MANGROVE_FUZZ_TARGET";

const mangrove::fuzz::Target& chosen() {
  static const mangrove::fuzz::Target* const target = [] {
    const char* const name = std::getenv(kVariable);
    const auto* const found = name == nullptr ? nullptr : mangrove::fuzz::find_target(name);
    if (found == nullptr) {
      std::fprintf(stderr, "%s must be one of:\n", kVariable);
      for (const auto& known : mangrove::fuzz::targets())
        std::fprintf(stderr, "  %.*s\n", static_cast<int>(known.name.size()), known.name.data());
      std::exit(2);
    }
    mangrove::set_log_level(mangrove::LogLevel::off);
    return found;
  }();
  return *target;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  chosen().run({reinterpret_cast<const char*>(data), size});
  return 0;
}
