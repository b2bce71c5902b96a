#include "mangrove/cli/reports/confusion_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "mangrove/base/format.h"
#include "mangrove/cli/reports/terminal.h"
#include "mangrove/learn/metrics.h"

namespace mangrove::cli {
namespace {

using learn::ConfusionMatrix;

constexpr std::size_t kPageWidth = 80;  // as narrow as terminals usually are
constexpr std::size_t kListed = 10;     // classes, and pairs
constexpr int kNameWidth = 24;

using Names = std::vector<std::string>;

struct Recall {
  std::int32_t truth;
  std::int64_t right, all;
  double share() const { return static_cast<double>(right) / static_cast<double>(all); }
};

struct Confusion {
  std::int32_t truth, prediction;
  std::int64_t count;
};

std::string name(const Names& names, std::int32_t index) {
  return fitted(names[static_cast<std::size_t>(index)], kNameWidth);
}

/// Of the classes that occur, the worst first.
std::vector<Recall> recalls(const ConfusionMatrix& matrix) {
  std::vector<Recall> list;
  for (std::int32_t truth = 0; truth < matrix.classes(); ++truth) {
    const std::int64_t all = matrix.samples_of(truth);
    if (all > 0) list.push_back({truth, matrix.count(truth, truth), all});
  }
  std::stable_sort(list.begin(), list.end(), [](const Recall& a, const Recall& b) { return a.share() < b.share(); });
  return list;
}

/// The most frequent first.
std::vector<Confusion> confusions(const ConfusionMatrix& matrix) {
  std::vector<Confusion> list;
  for (std::int32_t truth = 0; truth < matrix.classes(); ++truth)
    for (std::int32_t prediction = 0; prediction < matrix.classes(); ++prediction)
      if (truth != prediction && matrix.count(truth, prediction) > 0)
        list.push_back({truth, prediction, matrix.count(truth, prediction)});
  std::stable_sort(list.begin(), list.end(), [](const Confusion& a, const Confusion& b) { return a.count > b.count; });
  return list;
}

std::string lists(const ConfusionMatrix& matrix, const Names& names) {
  const std::vector<Recall> worst = recalls(matrix);
  std::string text = worst.size() > kListed
                         ? fmt::format("  recall of the {} worst of {} classes\n", kListed, worst.size())
                         : std::string("  recall of each class\n");
  for (std::size_t i = 0; i < std::min(kListed, worst.size()); ++i)
    text += fmt::format("    {:<{}} {:>9}  {} of {}\n", name(names, worst[i].truth), kNameWidth,
                        format_percent(worst[i].share()), format_count(worst[i].right), format_count(worst[i].all));
  const std::vector<Confusion> most = confusions(matrix);
  if (most.empty()) return text;
  text += "  most frequent confusions\n";
  for (std::size_t i = 0; i < std::min(kListed, most.size()); ++i)
    text += fmt::format("    {:<{}} {:>9}  taken for {}\n", name(names, most[i].truth), kNameWidth,
                        format_things(most[i].count, "image"), name(names, most[i].prediction));
  if (most.size() > kListed) text += "  The whole matrix is in summary.json, or with --json.\n";
  return text;
}

}  // namespace

std::string confusion_text(const Names& names, const std::vector<std::vector<std::int64_t>>& confusion) {
  std::vector<std::int64_t> counts;
  for (const auto& line : confusion) counts.insert(counts.end(), line.begin(), line.end());
  if (counts.empty()) return "";
  const auto matrix = ConfusionMatrix::from_counts(static_cast<std::int32_t>(names.size()), std::move(counts));
  if (!matrix.ok()) return "";
  const std::string table = matrix->to_string(names);
  if (table.find('\n') > kPageWidth) return lists(*matrix, names);
  return "  confusion matrix (rows: truth, columns: prediction)\n" + table;
}

}  // namespace mangrove::cli
