#include "mangrove/base/report.h"

#include <algorithm>

#include "mangrove/base/check.h"

namespace mangrove {
namespace {

struct Row {
  ReportKind kind;
  const char* name;
};

constexpr Row kKinds[] = {
    {ReportKind::progress, "progress"}, {ReportKind::event, "event"},           {ReportKind::nodes, "nodes"},
    {ReportKind::epoch, "epoch"},       {ReportKind::checkpoint, "checkpoint"}, {ReportKind::answers, "answers"},
    {ReportKind::line, "line"},         {ReportKind::result, "result"},
};

}  // namespace

const char* report_kind_name(ReportKind kind) {
  const auto* found = std::ranges::find(kKinds, kind, &Row::kind);
  MG_CHECK(found != std::end(kKinds));
  return found->name;
}

std::optional<ReportKind> report_kind_of_number(std::int64_t number) {
  const auto* found =
      std::ranges::find(kKinds, number, [](const Row& row) { return static_cast<std::int64_t>(row.kind); });
  return found == std::end(kKinds) ? std::nullopt : std::optional(found->kind);
}

}  // namespace mangrove
