#include "mangrove/infer/ensemble/ensemble.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>

#include "mangrove/graph/onnx.h"
#include "mangrove/infer/ensemble/report.h"
#include "mangrove/infer/ensemble/votes.h"
#include "mangrove/infer/job_settings.h"
#include "mangrove/infer/leader.h"
#include "mangrove/infer/pipeline/worker.h"
#include "mangrove/infer/result.h"
#include "mangrove/infer/rows.h"
#include "mangrove/job/requests.h"
#include "mangrove/learn/replica.h"

namespace mangrove::infer {
namespace {

constexpr int kMostAttempts = 10;  // of one network, on whichever nodes, before the job fails

/// Runs every network over all samples, each on some node.
class Runs {
 public:
  Runs(const InferJob& job, const job::RoleContext& context, NodeRoster& nodes, Reports& reports, const Hello& data,
       const std::vector<Member>& members)
      : context_(context),
        nodes_(nodes),
        reports_(reports),
        data_(data),
        members_(members),
        timeout_(job.answer_timeout_s()),
        requests_(timeout_) {
    runs_.resize(members.size());
    for (std::size_t i = 0; i < members.size(); ++i) waiting_.push_back(i);
  }

  struct Run {
    net::Rank rank = 0;         // that did it
    Seconds seconds = 0;        // that it took there, without compiling
    std::vector<float> scores;  // [samples, outputs]
    std::vector<std::int32_t> truths;
    std::int64_t done = 0;
    int attempts = 0;
  };

  Result<std::vector<Run>> run() {
    start_ = context_.clock.now();
    while (finished_ < runs_.size()) {
      MG_TRY(const net::RankSet usable, nodes_.wait_usable());
      give_up_lost();
      for (const net::Rank rank : usable)
        if (!requests_.is_asked(rank) && !waiting_.empty()) MG_RETURN_IF_ERROR(begin(rank));
      MG_TRY(const std::optional<NodeRoster::Said> said, nodes_.next(context_.clock.after(timeout_)));
      if (said && said->message.has_single()) take(said->rank, said->message.single());
    }
    return std::move(runs_);
  }

 private:
  Status begin(net::Rank rank) {
    const std::size_t member = waiting_.front();
    waiting_.pop_front();
    Run& run = runs_[member];
    const int attempts = run.attempts + 1;
    if (attempts > kMostAttempts)
      return make_error(Code::unavailable, "ensemble: no node has answered for network '" + members_[member].name +
                                               "'; answer_timeout_s is " + format_seconds(timeout_));
    samples_done_ -= run.done;
    run = Run();
    run.rank = rank;
    run.attempts = attempts;
    run.scores.resize(static_cast<std::size_t>(data_.samples()) * members_[member].class_of.size());
    run.truths.resize(static_cast<std::size_t>(data_.samples()));
    Command command;
    command.set_kind(Command::SINGLE);
    command.set_member(static_cast<std::uint32_t>(member));
    command.set_request(requests_.add(rank, member, context_.clock.now()));
    nodes_.send(rank, command);
    return {};
  }

  /// Networks of nodes that are lost or silent begin anew; a silent node gets another one behind those that wait.
  void give_up_lost() {
    const Instant now = context_.clock.now();
    for (const net::Rank rank : requests_.asked()) {
      if (nodes_.is_usable(rank) && !requests_.is_silent(rank, now)) continue;
      reports_.redone("ensemble", rank);
      for (const std::uint64_t member : requests_.forget_rank(rank)) waiting_.push_front(member);
    }
  }

  bool valid(const SingleChunk& chunk, const Run& run, std::size_t outputs) const {
    const std::int64_t count = chunk.truths_size();
    const auto is_class = [&](std::int32_t c) { return c >= 0 && c < data_.classes_size(); };
    return count >= 1 && chunk.begin() == run.done && count <= data_.samples() - run.done &&
           chunk.scores_size() == count * static_cast<std::int64_t>(outputs) && chunk.seconds() >= 0 &&
           std::ranges::all_of(chunk.truths(), is_class) &&
           std::ranges::all_of(chunk.scores(), [](float score) { return std::isfinite(score); });
  }

  void take(net::Rank rank, const SingleChunk& chunk) {
    const std::optional<std::uint64_t> member = requests_.find(rank, chunk.request());
    if (!member) return;
    Run& run = runs_[*member];
    const std::size_t outputs = members_[*member].class_of.size();
    if (!valid(chunk, run, outputs)) return;
    std::ranges::copy(chunk.scores(), run.scores.begin() + run.done * static_cast<std::int64_t>(outputs));
    std::ranges::copy(chunk.truths(), run.truths.begin() + run.done);
    run.done += chunk.truths_size();
    run.seconds = chunk.seconds();
    samples_done_ += chunk.truths_size();
    report();
    const Instant now = context_.clock.now();
    if (run.done < data_.samples()) return requests_.answer_in_part(rank, chunk.request(), now);
    requests_.answer(rank, chunk.request(), now);
    ++finished_;
  }

  /// In samples, of which each is done when all networks have done it.
  void report() {
    const Instant now = context_.clock.now();
    const auto networks = static_cast<std::int64_t>(runs_.size());
    const bool is_over = samples_done_ == networks * data_.samples();
    if (!throttle_.passes(now, is_over)) return;
    reports_.progress("ensemble", samples_done_ / networks, data_.samples(),
                      per_second(samples_done_ / networks, now - start_));
  }

  const job::RoleContext& context_;
  NodeRoster& nodes_;
  Reports& reports_;
  const Hello& data_;
  const std::vector<Member>& members_;
  const Seconds timeout_;
  std::vector<Run> runs_;
  std::deque<std::size_t> waiting_;
  job::Requests requests_;  // about members
  std::size_t finished_ = 0;
  std::int64_t samples_done_ = 0;  // summed over the networks
  Instant start_;
  job::Throttle throttle_;
};

/// Of the board that took the longest for all that it did.
Seconds longest(const std::vector<Runs::Run>& runs) {
  std::map<net::Rank, Seconds> by_rank;
  for (const Runs::Run& run : runs) by_rank[run.rank] += run.seconds;
  Seconds most = 0;
  for (const auto& [rank, seconds] : by_rank) most = std::max(most, seconds);
  return most;
}

std::vector<EnsembleResult::Member> members_of(const std::vector<Member>& members, const std::vector<Runs::Run>& runs,
                                               const Hello& data, const Reports& reports) {
  std::vector<EnsembleResult::Member> all;
  for (std::size_t i = 0; i < members.size(); ++i) {
    std::vector<std::string> classes;
    for (const std::int32_t c : members[i].class_of)
      if (c != kRest) classes.push_back(data.classes(c));
    all.push_back({reports.node(runs[i].rank), std::move(classes), runs[i].seconds});
  }
  return all;
}

/// errors: invalid_argument (a class that no network knows; in averaging, a network that does not know all).
Status check_members(const std::vector<Member>& members, const Hello& data, Votes::Rule rule) {
  for (std::int32_t c = 0; c < data.classes_size(); ++c) {
    const auto knows = [&](const Member& member) { return std::ranges::count(member.class_of, c) > 0; };
    const auto found = std::ranges::find_if_not(members, knows);
    const bool is_enough =
        rule == Votes::Rule::averaging ? found == members.end() : std::ranges::any_of(members, knows);
    if (is_enough) continue;
    const std::string who =
        rule == Votes::Rule::averaging ? "network '" + found->name + "' does not know" : "no network knows";
    return make_error(Code::invalid_argument, "models: " + who + " the class '" + data.classes(c) + "'");
  }
  return {};
}

Status lead(const InferJob& job, job::RoleContext& context, NodeRoster& nodes, Reports& reports, Votes::Rule rule) {
  MG_TRY(const Hello data, nodes.gather());
  const std::vector<std::string> classes(data.classes().begin(), data.classes().end());
  std::vector<Member> members;
  for (const std::string& bytes : job.members()) {
    MG_TRY(const Graph graph, parse_onnx(bytes).context("model"));
    MG_RETURN_IF_ERROR(learn::check_classifier(graph));
    MG_TRY(members.emplace_back(), member_of(graph, classes));
    MG_RETURN_IF_ERROR(check_data(job, graph, data, std::ssize(members.back().class_of)));
  }
  MG_RETURN_IF_ERROR(check_members(members, data, rule));
  MG_TRY(const std::vector<Runs::Run> runs, Runs(job, context, nodes, reports, data, members).run());
  Votes votes(rule, data.samples(), data.classes_size());
  for (std::size_t i = 0; i < members.size(); ++i) votes.add(members[i], runs[i].scores);
  Votes::Claims claims;
  const std::vector<std::int32_t> decisions = votes.decide(rule == Votes::Rule::one_vs_rest ? &claims : nullptr);
  EnsembleResult result;
  result.all = result_of(job, data, runs.front().truths, decisions, longest(runs));
  result.all.model_bytes = nodes.model_bytes();
  result.members = members_of(members, runs, data, reports);
  if (rule == Votes::Rule::one_vs_rest) result.claims = {claims.one, claims.none, claims.several};
  reports.result(result);
  return {};
}

Status run(const InferJob& job, job::RoleContext& context, Votes::Rule rule) {
  if (context.endpoint.rank() != 0) return run_node(job, context);  // whose job names networks by their SHA-256
  if (job.members().empty())
    return make_error(Code::invalid_argument, "models: strategy '" + job.strategy() + "' needs at least one network");
  return lead_nodes(job, context,
                    [&](NodeRoster& nodes, Reports& reports) { return lead(job, context, nodes, reports, rule); });
}

}  // namespace

Status run_ensemble(const InferJob& job, job::RoleContext& context) {
  return run(job, context, Votes::Rule::one_vs_rest);
}

Status run_averaging(const InferJob& job, job::RoleContext& context) {
  return run(job, context, Votes::Rule::averaging);
}

Strategy rows::ensemble() {
  return {{.name = "ensemble",
           .summary = "several networks, each for some of the classes, on different nodes: one-vs-rest",
           .on_loss = "another node begins anew with the network that a lost one had"},
          {.networks = Networks::members},
          &run_ensemble};
}

Strategy rows::averaging() {
  return {{.name = "averaging",
           .summary = "several networks, each for all classes, on different nodes: the mean of their probabilities",
           .on_loss = "as for ensemble"},
          {.networks = Networks::members},
          &run_averaging};
}

}  // namespace mangrove::infer
