#include "mangrove/cli/reports/bench_report.h"

#include <fmt/format.h>

#include "mangrove/base/format.h"

namespace mangrove::cli {
namespace {

/// "Raspberry Pi 4 Model B Rev 1.4, Cortex-A72, 4 cores, 4.0 GB, backend simd"
std::string machine_line(const BenchReport& report) {
  const Board& board = report.machine;
  std::vector<std::string> words;
  if (board.model) words.push_back(*board.model);
  if (board.processor) words.push_back(*board.processor);
  words.push_back(board.usable_cores < board.cores
                      ? fmt::format("{} of {} cores", format_number(board.usable_cores), board.cores)
                      : format_things(board.cores, "core"));
  if (board.memory) words.push_back(format_bytes(*board.memory));
  words.push_back("backend " + report.backend);
  return fmt::format("{}\n", fmt::join(words, ", "));
}

std::string threads_text(int threads) {
  return format_things(threads, "thread");
}

std::string rates_line(const MachineRates& rates) {
  std::string text = "  " + threads_text(rates.threads) + ":";
  if (rates.product_flop_per_s)
    text += fmt::format(" matrix product {} GFLOP/s", format_number(*rates.product_flop_per_s / 1e9));
  if (rates.copy_bytes_per_s)
    text += fmt::format("{} memory copy {} GB/s", rates.product_flop_per_s ? "," : "",
                        format_number(*rates.copy_bytes_per_s / 1e9));
  if (rates.left_out) text += " left out: " + *rates.left_out;
  return text + "\n";
}

/// "32x3x32x32": a batch.
std::string input_text(const NetworkFigures& figures) {
  return fmt::format("{}x{}", figures.batch, fmt::join(figures.sample_shape, "x"));
}

std::string milliseconds(Seconds seconds) {
  return format_number(seconds * 1e3);
}

std::string network_line(const NetworkFigures& figures) {
  const std::string name = fmt::format("  {:<14} {:>11}", figures.network, input_text(figures));
  if (figures.left_out) return fmt::format("{}  left out: {}\n", name, *figures.left_out);
  return fmt::format("{} {:>8} {:>7} {:>7} {:>7} {:>8} {:>8}\n", name, format_number(*figures.images_per_s),
                     milliseconds(*figures.step), milliseconds(*figures.step_p10), milliseconds(*figures.step_p90),
                     format_bytes(*figures.planned_memory), format_bytes(*figures.resident_memory));
}

}  // namespace

std::string bench_table(const BenchReport& report) {
  std::string text = machine_line(report);
  for (const MachineRates& rates : report.rates) text += rates_line(rates);
  const NetworkFigures* last = nullptr;
  for (const NetworkFigures& figures : report.networks) {
    if (last == nullptr || last->task != figures.task || last->threads != figures.threads)
      text += fmt::format("{:<29} images/s ms/step     p10     p90  planned resident\n",
                          figures.task + ", " + threads_text(figures.threads));
    text += network_line(figures);
    last = &figures;
  }
  for (const std::string& note : report.notes) text += "note: " + note + "\n";
  return text;
}

}  // namespace mangrove::cli
