#include "mangrove/infer/pipeline/baseline.h"

#include <algorithm>

#include "mangrove/job/requests.h"

namespace mangrove::infer {
namespace {

constexpr int kAttemptsPerNode = 10;  // with every node, before the job fails
constexpr std::int32_t kNone = -1;

enum class Taken { ignored, accepted, complete };

/// Those of the usable ranks that are in `first`, in that order, then the others.
net::RankSet in_order_of(const net::RankSet& usable, const net::RankSet& first) {
  net::RankSet ranks;
  for (const net::RankSet* some : {&first, &usable})
    for (const net::Rank rank : *some)
      if (std::ranges::count(usable, rank) > 0 && std::ranges::count(ranks, rank) == 0) ranks.push_back(rank);
  return ranks;
}

/// Gives the command to one node after the other until `take` says that its answers are complete. `take` sees every
/// message of the node: (message, request) -> Taken; each one that it accepts extends the time limit. Returns who has
/// done it.
template <class Take>
Result<net::Rank> ask_one_node(const job::RoleContext& context, NodeRoster& nodes, Reports& reports, Seconds timeout,
                               const net::RankSet& first, Take take) {
  job::Requests requests(timeout);
  for (std::size_t attempt = 0; attempt < static_cast<std::size_t>(kAttemptsPerNode * context.endpoint.size());
       ++attempt) {
    MG_TRY(net::RankSet usable, nodes.wait_usable());
    std::erase_if(usable, [&](net::Rank rank) { return nodes.hello(rank).without_network(); });
    if (usable.empty())
      return make_error(Code::resource_exhausted, "single: no node has the memory for the whole network");
    const net::Rank rank = in_order_of(usable, first)[attempt % usable.size()];
    const std::uint64_t request = requests.add(rank, attempt, context.clock.now());
    Command command;
    command.set_kind(Command::SINGLE);
    command.set_request(request);
    nodes.send(rank, command);
    while (nodes.is_usable(rank) && !requests.is_silent(rank, context.clock.now())) {
      MG_TRY(const std::optional<NodeRoster::Said> said, nodes.next(requests.silent_from(rank)));
      const Taken taken = said && said->rank == rank ? take(said->message, request) : Taken::ignored;
      if (taken != Taken::ignored) nodes.has_worked(rank);
      if (taken == Taken::complete) return rank;
      if (taken == Taken::accepted) requests.answer_in_part(rank, request, context.clock.now());
    }
    if (nodes.is_usable(rank)) nodes.note_no_answer(rank);
    requests.forget_rank(rank);
    reports.redone("single", rank);
  }
  return make_error(Code::unavailable, "single: no node has done it; answer_timeout_s is " + format_seconds(timeout));
}

/// Collects the chunks of one node's run; the chunks of a new run begin anew.
class Collector {
 public:
  Collector(const job::RoleContext& context, Reports& reports, const Hello& data)
      : context_(context), reports_(reports), data_(data) {}

  Taken take(const FromNode& message, std::uint64_t request) {
    if (!message.has_single() || message.single().request() != request || !valid(message.single()))
      return Taken::ignored;
    const SingleChunk& chunk = message.single();
    if (request != request_) begin(request);
    for (int i = 0; i < chunk.predictions_size(); ++i) {
      const auto sample = static_cast<std::size_t>(chunk.begin() + i);
      if (result_.predictions[sample] == kNone) ++done_;
      result_.predictions[sample] = chunk.predictions(i);
      result_.truths[sample] = chunk.truths(i);
    }
    result_.seconds = std::max(result_.seconds, chunk.seconds());
    const bool complete = done_ == data_.samples();
    if (throttle_.passes(context_.clock.now(), complete))
      reports_.progress("single", done_, data_.samples(), per_second(done_, result_.seconds));
    return complete ? Taken::complete : Taken::accepted;
  }

  Baseline result() { return std::move(result_); }

 private:
  void begin(std::uint64_t request) {
    request_ = request;
    done_ = 0;
    result_.predictions.assign(static_cast<std::size_t>(data_.samples()), kNone);
    result_.truths = result_.predictions;
    result_.seconds = 0;
  }

  bool valid(const SingleChunk& chunk) const {
    const auto is_class = [&](std::int32_t c) { return c >= 0 && c < data_.classes_size(); };
    const std::int64_t count = chunk.predictions_size();
    return chunk.begin() >= 0 && count <= data_.samples() && chunk.begin() <= data_.samples() - count &&
           chunk.truths_size() == count && chunk.seconds() >= 0 &&
           std::all_of(chunk.predictions().begin(), chunk.predictions().end(), is_class) &&
           std::all_of(chunk.truths().begin(), chunk.truths().end(), is_class);
  }

  const job::RoleContext& context_;
  Reports& reports_;
  const Hello& data_;
  std::uint64_t request_ = 0;
  std::int64_t done_ = 0;
  Baseline result_;
  job::Throttle throttle_;
};

}  // namespace

Result<Baseline> run_baseline(const job::RoleContext& context, NodeRoster& nodes, Reports& reports, Seconds timeout,
                              const Hello& data, const net::RankSet& first) {
  Collector collector(context, reports, data);
  MG_TRY(const net::Rank rank,
         ask_one_node(context, nodes, reports, timeout, first, [&](const FromNode& message, std::uint64_t request) {
           return collector.take(message, request);
         }));
  Baseline baseline = collector.result();
  baseline.rank = rank;
  return baseline;
}

}  // namespace mangrove::infer
