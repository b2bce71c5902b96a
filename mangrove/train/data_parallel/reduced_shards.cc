#include "mangrove/train/data_parallel/reduced_shards.h"

#include "mangrove/learn/replica.h"
#include "mangrove/net/payload.h"

namespace mangrove::train {
namespace {

Status bad_share(net::Rank rank, const std::string& why) {
  return make_error(Code::data_loss, "the sums of rank " + std::to_string(rank) + ": " + why);
}

}  // namespace

ReducedShards::ReducedShards(const TrainJob& job, const Graph& graph)
    : codecs_(job, graph),
      is_linear_(codec::find_codec(job.codec()).value()->make_reducible != nullptr),
      sums_(static_cast<std::size_t>(graph.parameter_elements())),
      state_bytes_(learn::flat_states(graph).size() * sizeof(float)) {}

Status ReducedShards::read(const WorkerRoster::Answered& answered, std::string& states) {
  std::string_view body = answered.body();
  for (const Share& share : answered.answer.shares()) {
    if (share.bytes() > body.size()) return bad_share(answered.rank, "they end too early");
    const bool fits = share.first() <= sums_.size() && share.count() <= sums_.size() - share.first();
    if (!fits || !covered_.emplace(share.first(), share.count()).second)
      return bad_share(answered.rank, "elements that are not there, or were there already");
    const std::span<float> into = std::span(sums_).subspan(share.first(), share.count());
    const Range range{share.first(), share.count()};
    const Status decoded = codecs_.decode(RangeCodecs::kFinished, range, body.substr(0, share.bytes()), into);
    if (!decoded.ok()) return bad_share(answered.rank, decoded.error().message);
    body.remove_prefix(share.bytes());
  }
  states += body;
  return {};
}

Result<std::string> ReducedShards::put_together(const std::map<net::Rank, WorkerRoster::Answered>& answers) {
  covered_.clear();
  std::string states;  // their parts follow each other as the ranks do
  for (const auto& [rank, answered] : answers) {
    const Status status = read(answered, states);
    if (status.ok()) continue;
    culprit_ = rank;
    codecs_.clear();  // perhaps of ranges that nobody has
    return status.error();
  }
  std::size_t next = 0;
  for (const auto& [first, count] : covered_) {
    if (first != next) break;
    next += count;
  }
  culprit_ = 0;
  if (next != sums_.size() || states.size() != state_bytes_) {
    codecs_.clear();
    return make_error(Code::data_loss, "some of the sums are missing");
  }
  std::string sums;
  sums.reserve(sums_.size() * sizeof(float) + states.size());
  net::append_floats(sums, sums_);
  return sums + states;
}

}  // namespace mangrove::train
