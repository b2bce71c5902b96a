#include "mangrove/infer/reports.h"

namespace mangrove::infer {

double per_second(std::int64_t images, Seconds seconds) {
  return seconds > 0 ? static_cast<double>(images) / seconds : 0;
}

void Reports::stage_moved(std::size_t stage, net::Rank from, net::Rank to) {
  event(job::StageMoved{static_cast<std::int64_t>(stage), node(from), node(to)});
}

void Reports::redone(const char* phase, net::Rank rank) {
  event(Redone{phase, node(rank)});
}

}  // namespace mangrove::infer
