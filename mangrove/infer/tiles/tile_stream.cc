#include "mangrove/infer/tiles/tile_stream.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "mangrove/infer/pipeline/stream_wait.h"
#include "mangrove/infer/tiles/late_tiles.h"
#include "mangrove/infer/tiles/objective.h"
#include "mangrove/infer/tiles/report.h"
#include "mangrove/plan/profile.h"

namespace mangrove::infer {
namespace {

// Questions without a suspect after which one node gets the whole network, and after which another node does. A lone
// node gets more time, because it may only be slow.
constexpr int kMostUnexplained = 2;
constexpr int kMostUnexplainedAlone = 6;

class TileStream {
 public:
  TileStream(const InferJob& job, job::RoleContext& context, NodeRoster& nodes, Reports& reports, StreamWork& work,
             TileTeams teams, TilePlanner& planner)
      : job_(job),
        context_(context),
        nodes_(nodes),
        reports_(reports),
        work_(work),
        planner_(planner),
        timeout_(job.answer_timeout_s()),
        wait_(context, nodes, reports, timeout_),
        late_(timeout_) {
    use(std::move(teams));
  }

  Result<TileStreamResult> run();

 private:
  const std::vector<plan::TilePlan>& teams() const { return result_.teams.teams; }
  std::set<net::Rank> members() const;
  bool all_here() const;
  void use(TileTeams teams);
  Status place();
  Status replace_lost();
  void tell(const char* why);
  void send_placement(const net::RankSet& ranks);
  std::optional<std::int64_t> micro_batches_left() const;
  bool revise();
  void feed();
  std::size_t choose(std::uint64_t micro_batch) const;
  void note_overdue(std::uint64_t micro_batch);
  bool leave_out_late();
  void fall_back();
  bool valid(net::Rank from, const Predictions& predictions) const;
  void take(net::Rank from, const Predictions& predictions);
  void record(const Predictions& predictions);

  const InferJob& job_;
  job::RoleContext& context_;
  NodeRoster& nodes_;
  Reports& reports_;
  StreamWork& work_;
  TilePlanner& planner_;
  const Seconds timeout_;
  StreamWait wait_;
  LateTiles late_;
  std::uint64_t generation_ = 0;
  std::map<std::uint64_t, std::size_t> team_of_;     // of micro-batches in flight
  std::map<std::uint64_t, std::size_t> overdue_of_;  // the team that an overdue one was sent to
  bool is_stale_ = false;                            // there is another plan than the one that the nodes have
  int unexplained_ = 0;         // questions that have shown no suspect, since the last answer or fall_back()
  std::size_t alone_ = 0;       // nodes that got the whole network since the last answer
  std::size_t next_alone_ = 0;  // the position of the node that gets it next
  Instant start_, placed_;
  Instant last_answer_;  // or when there was nothing to be answered
  TileStreamResult result_;
};

Command placement_of(const plan::TilePlan& team, const TileTeams& teams) {
  Command command;
  command.set_source(teams.rank(team.source));
  for (const plan::TileBlock& block : team.blocks) {
    TileBlockPlace& place = *command.add_blocks();
    place.set_first(static_cast<std::uint32_t>(block.first));
    place.set_last(static_cast<std::uint32_t>(block.last));
    for (const plan::TilePart& part : block.parts) {
      TilePlace& tile = *place.add_tiles();
      tile.set_rank(teams.rank(part.device));
      tile.set_top(part.output.top);
      tile.set_left(part.output.left);
      tile.set_bottom(part.output.bottom);
      tile.set_right(part.output.right);
    }
  }
  return command;
}

Result<TileStreamResult> TileStream::run() {
  MG_RETURN_IF_ERROR(place());
  start_ = placed_ = last_answer_ = context_.clock.now();
  work_.begin(start_);
  while (!work_.is_done()) {
    if (is_stale_ || !all_here() || revise()) {
      MG_RETURN_IF_ERROR(place());
      work_.resend_all();
      if (alone_ == 0) last_answer_ = context_.clock.now();
    }
    for (const std::uint64_t id : work_.resend_overdue(context_.clock.now(), timeout_)) note_overdue(id);
    if (leave_out_late()) continue;
    feed();
    if (work_.is_done()) break;  // the rest had missed its deadline
    if (!work_.is_waiting()) last_answer_ = context_.clock.now();
    MG_TRY(std::optional<NodeRoster::Said> said, nodes_.next(std::min(late_.until(), context_.clock.after(timeout_))));
    if (said && said->message.has_predictions()) take(said->rank, said->message.predictions());
    if (said && said->message.has_tile_status()) late_.take(said->rank, said->message.tile_status());
    MG_RETURN_IF_ERROR(wait_.check("no micro-batch was answered", members(), last_answer_));
  }
  result_.seconds = context_.clock.now() - start_;
  result_.placed_seconds = context_.clock.now() - placed_;
  return std::move(result_);
}

std::set<net::Rank> TileStream::members() const {
  const net::RankSet ranks = result_.teams.members();
  return {ranks.begin(), ranks.end()};
}

bool TileStream::all_here() const {
  return std::ranges::all_of(members(), [&](net::Rank rank) { return nodes_.is_usable(rank); });
}

/// What was counted of an older placement is forgotten.
void TileStream::use(TileTeams teams) {
  result_.records.clear();
  result_.teams = std::move(teams);
  placed_ = context_.clock.now();
}

void TileStream::tell(const char* why) {
  Retiled event{.why = why, .teams = {}};
  for (const plan::TilePlan& team : teams()) {
    std::vector<std::string>& names = event.teams.emplace_back();
    for (const net::Rank rank : result_.teams.members(team)) names.push_back(reports_.node(rank));
  }
  reports_.event(event);
}

/// Begins a generation: every tile on a usable node, and every such node knows it.
Status TileStream::place() {
  for (bool ready = false; !ready;) {
    MG_RETURN_IF_ERROR(replace_lost());
    ++generation_;
    send_placement(nodes_.usable());
    MG_TRY(ready,
           wait_.until_ready(generation_, members(), [this](const net::RankSet& some) { send_placement(some); }));
  }
  is_stale_ = false;
  planner_.begin();
  late_.begin();
  team_of_.clear();
  overdue_of_.clear();
  work_.set_window(tile_window(job_, result_.teams));
  return {};
}

Status TileStream::replace_lost() {
  MG_TRY(const net::RankSet ranks, nodes_.wait_usable());
  if (all_here()) return {};
  MG_TRY(TileTeams teams, planner_.plan(ranks));
  use(std::move(teams));
  tell(Retiled::kLost);
  return {};
}

/// A rank that has no tile is told so: it may have had one.
void TileStream::send_placement(const net::RankSet& ranks) {
  std::map<net::Rank, Command> of_members;
  for (const plan::TilePlan& team : teams())
    for (const net::Rank rank : result_.teams.members(team)) of_members[rank] = placement_of(team, result_.teams);
  for (const net::Rank rank : ranks) {
    Command& command = of_members[rank];
    command.set_kind(Command::PLACE);
    command.set_generation(generation_);
    command.set_window(static_cast<std::uint32_t>(tile_window(job_, result_.teams)));
    nodes_.send(rank, command);
  }
}

/// Nothing: not known.
std::optional<std::int64_t> TileStream::micro_batches_left() const {
  const std::optional<std::int64_t> samples = work_.left();
  return samples ? std::optional((*samples + job_.micro_batch() - 1) / job_.micro_batch()) : std::nullopt;
}

/// Whether the tiles are placed otherwise now.
bool TileStream::revise() {
  std::optional<TileTeams> better = planner_.revise(result_.teams, nodes_.usable(), micro_batches_left());
  if (!better) return false;
  use(std::move(*better));
  tell(Retiled::kDrifted);
  return true;
}

/// The team that will probably answer first. One that has not answered in time is not chosen again, if there is
/// another.
std::size_t TileStream::choose(std::uint64_t micro_batch) const {
  const auto before = overdue_of_.find(micro_batch);
  std::vector<double> in_flight(teams().size(), 0);
  for (const auto& [id, team] : team_of_) in_flight[team] += 1;
  std::size_t best = 0;
  Seconds soonest = std::numeric_limits<Seconds>::infinity();
  for (std::size_t t = 0; t < teams().size(); ++t) {
    if (teams().size() > 1 && before != overdue_of_.end() && before->second == t) continue;
    const Seconds answer = teams()[t].latency + in_flight[t] * teams()[t].period;
    if (answer < soonest) best = t;
    soonest = std::min(soonest, answer);
  }
  return best;
}

void TileStream::feed() {
  while (std::optional<Command> command = work_.next(context_.clock.now())) {
    const std::uint64_t id = command->micro_batch();
    const std::size_t team = choose(id);
    team_of_[id] = team;
    command->set_generation(generation_);
    nodes_.send(result_.teams.rank(teams()[team].source), *command);
  }
}

void TileStream::note_overdue(std::uint64_t micro_batch) {
  const auto found = team_of_.find(micro_batch);
  if (found == team_of_.end()) return;
  overdue_of_[micro_batch] = found->second;
  team_of_.erase(found);
  const net::RankSet ranks = result_.teams.members();
  const std::optional<std::uint64_t> request = late_.ask(ranks, context_.clock.now());
  if (!request) return;
  Command command;
  command.set_kind(Command::MISSING);
  command.set_request(*request);
  command.set_micro_batch(micro_batch);
  for (const net::Rank rank : ranks) nodes_.send(rank, command);
}

/// Whether the tiles have to be placed anew: nodes are left out that hold the others up, or messages do.
bool TileStream::leave_out_late() {
  const std::optional<LateTiles::Found> found = late_.conclude(context_.clock.now());
  if (!found) return false;
  bool is_any = false;
  const auto leave_out = [&](const net::RankSet& ranks, const std::string& why) {
    for (const net::Rank rank : ranks) {
      if (!nodes_.is_usable(rank) || nodes_.usable().size() == 1) continue;
      nodes_.leave_out_idle(rank, make_error(Code::unavailable, why));
      is_any = true;
    }
  };
  const std::string times = " (answer_timeout_s), " + std::to_string(LateTiles::kStrikes) + " times in a row";
  leave_out(found->silent, "it does not say what holds micro-batches up within " + format_seconds(timeout_) + times);
  leave_out(found->late, "its tiles were not ready within " + format_seconds(timeout_) + times);
  if (found->has_suspects) return is_any;
  const bool is_alone = result_.teams.members().size() == 1;
  if (++unexplained_ >= (is_alone ? kMostUnexplainedAlone : kMostUnexplained)) fall_back();
  return is_any || is_stale_;
}

/// Nobody is suspected, and nothing comes back in time: messages between nodes are lost, or take too long. One node
/// with the whole network needs none. If messages do not reach that node, it is another one's turn, until each has had
/// one.
void TileStream::fall_back() {
  const net::RankSet ranks = nodes_.usable();
  if (ranks.size() < 2 || alone_ >= ranks.size()) return;
  ++alone_;
  Result<TileTeams> teams = planner_.plan({ranks[next_alone_++ % ranks.size()]});
  if (!teams.ok()) return;  // its memory is too small
  unexplained_ = 0;
  last_answer_ = context_.clock.now();
  use(std::move(*teams));
  is_stale_ = true;
  tell(Retiled::kOverdue);
}

/// An answer comes from where the last block is, or its tiles are put together; that it missed its deadline, from any
/// node with a tile.
bool TileStream::valid(net::Rank from, const Predictions& predictions) const {
  if (predictions.generation() != generation_) return false;
  const std::set<net::Rank> ranks = members();
  const bool answers = std::ranges::any_of(teams(), [&](const plan::TilePlan& team) {
    const plan::TileBlock& last = team.blocks.back();
    return from == result_.teams.rank(last.is_tiled() ? team.source : last.parts.front().device);
  });
  if (predictions.missed() ? !ranks.contains(from) : !answers) return false;
  const auto is_size = [](std::int64_t bytes) { return bytes >= 0 && bytes < std::int64_t{1} << 40; };
  std::size_t steps = 0;
  for (const plan::TilePlan& team : teams()) steps = std::max(steps, team.blocks.size() + 1);  // with an answer
  return std::ranges::all_of(predictions.tiles(), [&](const TileTrace& trace) {
    return ranks.contains(trace.rank()) && trace.step() <= steps && plan::is_measurement(trace.seconds()) &&
           is_size(trace.sent_bytes()) && is_size(trace.resident());
  });
}

void TileStream::take(net::Rank from, const Predictions& predictions) {
  if (!valid(from, predictions)) return;
  const Instant now = context_.clock.now();
  const StreamWork::Taken taken = work_.take(predictions, now);
  if (taken == StreamWork::Taken::ignored) return;
  last_answer_ = now;
  team_of_.erase(predictions.micro_batch());
  overdue_of_.erase(predictions.micro_batch());
  if (predictions.missed()) return;  // each tile that finds the deadline passed says so
  unexplained_ = 0;
  alone_ = 0;
  for (const plan::TilePlan& team : teams())
    if (const net::RankSet ranks = result_.teams.members(team); std::ranges::count(ranks, from) > 0)
      late_.answered(ranks);
  if (taken == StreamWork::Taken::repeated) ++result_.repeated;
  if (taken == StreamWork::Taken::accepted) record(predictions);
}

void TileStream::record(const Predictions& predictions) {
  std::vector<const TileTrace*> traces;
  for (const TileTrace& trace : predictions.tiles()) {
    TileRecord& record = result_.records[{trace.rank(), trace.step()}];
    ++record.micro_batches;
    record.busy += trace.seconds();
    record.sent_bytes += trace.sent_bytes();
    record.resident = std::max(record.resident, trace.resident());
    traces.push_back(&trace);
  }
  planner_.add(result_.teams, traces);
}

}  // namespace

/// For the latency one for each team: any other would wait behind it. For the throughput as many as are between a
/// team's source and its last node, and one that waits.
std::size_t tile_window(const InferJob& job, const TileTeams& teams) {
  constexpr std::size_t kMost = 64;  // of a team
  if (job.window() > 0) return static_cast<std::size_t>(job.window());
  if (objective_of(job) == plan::Objective::latency) return teams.teams.size();
  std::size_t window = 0;
  for (const plan::TilePlan& team : teams.teams) {
    const double in_flight = team.period > 0 ? std::ceil(team.latency / team.period) : 1;
    window += 1 + (in_flight < kMost ? static_cast<std::size_t>(in_flight) : kMost);
  }
  return window;
}

Result<TileStreamResult> stream_through_tiles(const InferJob& job, job::RoleContext& context, NodeRoster& nodes,
                                              Reports& reports, StreamWork& work, TileTeams teams,
                                              TilePlanner& planner) {
  return TileStream(job, context, nodes, reports, work, std::move(teams), planner).run();
}

}  // namespace mangrove::infer
