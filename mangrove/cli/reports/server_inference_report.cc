#include "mangrove/cli/reports/server_inference_report.h"

#include <fmt/format.h>

#include "mangrove/base/format.h"
#include "mangrove/base/printable.h"

namespace mangrove::cli {

std::string ServerInferenceReport::text() const {
  std::string version_names;
  for (const std::string& version : versions) version_names += (version_names.empty() ? "" : ", ") + version;
  std::string text = fmt::format("Inference: model {} of {}, {} of {}, {} at once\n", printable(model), url,
                                 format_things(images, "image"), printable(data), format_count(micro_batch * window));
  const auto line = [&text](const char* name, const std::string& value) {
    text += fmt::format("  {:<27}{}\n", name, value);
  };
  line("top-1 accuracy", format_percent(accuracy));
  line("speed", format_rate(images_per_s, "images") + " (" + format_seconds(seconds) + ")");
  line("latency p50 / p95 / p99",
       format_seconds(latency.p50) + " / " + format_seconds(latency.p95) + " / " + format_seconds(latency.p99));
  line("requests / repeated", format_count(requests) + " / " + format_count(repeated));
  line("lost", format_count(lost));
  if (!versions.empty()) line("versions that answered", printable(version_names));
  if (error) line("first error", printable(*error));
  return text;
}

}  // namespace mangrove::cli
