#include "mangrove/infer/pipeline/stream_wait.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "mangrove/base/suggestion.h"

namespace mangrove::infer {

Status StreamWait::check(const char* what, const std::set<net::Rank>& by, Instant since) const {
  const Seconds waited = context_.clock.now() - since;
  if (waited <= kPatience * timeout_) return {};
  std::vector<std::string> names;
  for (const net::Rank rank : by) names.push_back(reports_.node(rank));
  return make_error(Code::unavailable, std::string(what) + " by " + join_words(names) + " for " +
                                           format_seconds(waited) + "; answer_timeout_s is " +
                                           format_seconds(timeout_));
}

Result<bool> StreamWait::until_ready(std::uint64_t generation, const std::set<net::Rank>& all,
                                     const std::function<void(const net::RankSet&)>& send) {
  const auto are_here = [&] {
    return std::ranges::all_of(all, [&](net::Rank rank) { return nodes_.is_usable(rank); });
  };
  std::set<net::Rank> missing = all;
  Instant since = context_.clock.now();
  Instant sent = since;
  Bytes fetched = nodes_.model_bytes();
  while (!missing.empty()) {
    MG_TRY(const std::optional<NodeRoster::Said> said, nodes_.next(sent + timeout_));
    if (!are_here()) return false;
    if (said && said->message.has_ready() && said->message.ready().generation() == generation)
      missing.erase(said->rank);
    if (context_.clock.now() - sent >= timeout_) {  // the command or its answer may have been lost
      sent = context_.clock.now();
      send({missing.begin(), missing.end()});
    }
    if (fetched != nodes_.model_bytes()) since = context_.clock.now();  // weights are on their way to some
    fetched = nodes_.model_bytes();
    if (leave_out_unready(missing, all.size(), since)) return false;
    MG_RETURN_IF_ERROR(check("no part of the network was made ready", missing, since));
  }
  return true;
}

/// Whether nodes do not get ready with their part, while others have. These go on without them.
bool StreamWait::leave_out_unready(const std::set<net::Rank>& missing, std::size_t all, Instant since) {
  const Seconds waited = context_.clock.now() - since;
  if (waited <= kPatience * timeout_ || missing.empty() || missing.size() == all) return false;
  for (const net::Rank rank : missing)
    nodes_.leave_out_idle(
        rank, make_error(Code::unavailable, "its part of the network was not ready within " + format_seconds(waited) +
                                                "; answer_timeout_s is " + format_seconds(timeout_)));
  return true;
}

}  // namespace mangrove::infer
