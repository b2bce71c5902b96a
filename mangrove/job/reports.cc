#include "mangrove/job/reports.h"

#include "mangrove/net/node_name.h"

namespace mangrove::job {

std::string Reports::node(net::Rank rank) const {
  return net::node_name(context_.endpoint, rank);
}

void Reports::tell(Report report) {
  context_.report(std::move(report));
}

void Reports::progress(const char* phase, std::int64_t done, std::int64_t total, double images_per_s) {
  progress({.phase = phase, .done = done, .total = total, .images_per_s = images_per_s});
}

void Reports::progress(Progress progress) {
  progress.estimate();
  send(ReportKind::progress, progress);
}

}  // namespace mangrove::job
