#include "mangrove/train/data_parallel/secure_key.h"

#include <optional>
#include <string>

#include "mangrove/codec/codec.h"
#include "mangrove/train/compression/uplink_codec.h"
#include "mangrove/train/data_parallel/aggregate_key.h"
#include "mangrove/train/data_parallel/consistency.h"
#include "mangrove/train/data_parallel/privacy_key.h"
#include "mangrove/train/strategy_row.h"

namespace mangrove::train {
namespace {

Error refuse_secure(const std::string& why) {
  return make_error(Code::invalid_argument, "secure_aggregation: the leader sees sums only, " + why);
}

/// Names the codecs that can be used.
std::string use_other() {
  std::string names = "use codec none";
  for (const codec::CodecRow& row : codec::codecs())
    if (row.can_share_mask) names += " or " + std::string(row.name);
  return names;
}

Status check_codec(const TrainJob& job) {
  if (is_plain(job.codec())) return {};
  if (is_auto(job)) return refuse_secure("so workers cannot each choose a codec of their own; " + use_other());
  MG_TRY(const codec::CodecRow* row, codec::find_codec(job.codec()).context("codec"));
  const std::string codec = "codec '" + std::string(row->name) + "'";
  if (row->can_share_mask) {
    if (job.codec_warmup() == 0) return {};
    return refuse_secure(
        "and with codec_warmup the number of elements goes by each worker's own messages; use no codec_warmup, or no "
        "secure_aggregation");
  }
  if (row->is_sparse)
    return refuse_secure("and with " + codec + " each worker sends other elements, which do not add up; " +
                         use_other());
  return refuse_secure("and messages of " + codec + " do not add up before they are decoded; " + use_other());
}

}  // namespace

SharedMask shared_mask(const TrainJob& job) {
  if (is_plain(job.codec())) return {};
  return {.fraction = codec::parameter_of(job.codec(), "fraction").value(), .seed = job.seed()};
}

Status check_secure_aggregation(const TrainJob& job) {
  if (!job.secure_aggregation()) return {};
  const Strategy& strategy = strategy_of(job);
  if (!strategy.has_server || !strategy.steps_locally)
    return refuse_secure("of what workers change in steps of their own; strategy '" + job.strategy() +
                         "' has no such sums; use federated");
  MG_TRY(const Consistency consistency, parse_consistency(job.consistency()));
  if (consistency.kind == Consistency::Kind::async || consistency.kind == Consistency::Kind::stale) {
    return refuse_secure("and with consistency '" + job.consistency() +
                         "' it makes an update of each answer alone; use sync or k_of_n(K)");
  }
  if (rule_of(job) != nullptr) {
    return refuse_secure("and the rule '" + job.aggregate() +
                         "' compares single updates; use aggregate mean, or no secure_aggregation");
  }
  MG_TRY(const std::optional<PrivacyOptions> privacy, parse_privacy(job.privacy()));
  if (privacy) {
    return refuse_secure(
        "and with privacy it cuts each single update down to the norm clip; use privacy none, or no "
        "secure_aggregation");
  }
  return check_codec(job);
}

}  // namespace mangrove::train
