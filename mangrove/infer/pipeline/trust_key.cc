#include "mangrove/infer/pipeline/trust_key.h"

#include <charconv>
#include <string_view>

namespace mangrove::infer {

Result<std::optional<double>> parse_trust(const std::string& text) {
  constexpr std::string_view kName = "spot_checks=";
  if (text.empty() || text == "none") return std::optional<double>();
  double share = 0;
  if (text.starts_with(kName)) {
    const std::string_view number = std::string_view(text).substr(kName.size());
    const auto [stop, code] = std::from_chars(number.data(), number.data() + number.size(), share);
    if (code == std::errc() && stop == number.data() + number.size() && share >= 1e-4 && share <= 1)
      return std::optional(share);
  }
  return make_error(Code::invalid_argument,
                    "trust: must be none, or like spot_checks=0.02, a share from 0.0001 to 1, got '" + text + "'");
}

}  // namespace mangrove::infer
