#include "mangrove/infer/views/views.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "mangrove/graph/onnx.h"
#include "mangrove/infer/compile_options.h"
#include "mangrove/infer/job_settings.h"
#include "mangrove/infer/leader.h"
#include "mangrove/infer/rows.h"
#include "mangrove/infer/views/answers.h"
#include "mangrove/infer/views/network.h"
#include "mangrove/infer/views/worker.h"
#include "mangrove/job/requests.h"
#include "mangrove/learn/replica.h"
#include "mangrove/net/payload.h"

namespace mangrove::infer {
namespace {

constexpr std::size_t kWindow = 8;      // micro-batches in flight, unless the job says how many
constexpr std::size_t kUpperQueue = 2;  // micro-batches that an upper node has at once: one to compute, one to come

/// By view.
using ByView = std::vector<std::optional<std::vector<float>>>;

/// From the first micro-batch to the last answer.
class ViewRun {
 public:
  ViewRun(const InferJob& job, const job::RoleContext& context, NodeRoster& nodes, Reports& reports, ViewFusion& fusion,
          const Hello& data)
      : job_(job),
        context_(context),
        nodes_(nodes),
        reports_(reports),
        fusion_(fusion),
        data_(data),
        batches_(static_cast<std::uint64_t>((data.samples() + job.micro_batch() - 1) / job.micro_batch())),
        answers_(job, data, fusion.views(), fusion.exits()),
        requests_(job.answer_timeout_s()) {}

  Status run();
  ViewsResult result() const { return answers_.summary(last_answer_ - start_, lost_, reports_); }

 private:
  /// A micro-batch that is in flight.
  struct Batch {
    enum class Stage { scores, features, rest } stage = Stage::scores;  // what is waited for
    std::int64_t begin = 0, count = 0;
    std::vector<std::uint32_t> rows;  // that have no answer yet
    ByView scores;                    // of all samples
    ViewAnswers::Truths truths;       // of all samples
    ByView features;                  // of these rows
    std::set<std::size_t> lost;       // the views that these rows were last decided without
    std::vector<float> joined;        // the features of all views, until there are answers
  };
  std::size_t views() const { return fusion_.views(); }
  bool is_device(net::Rank rank) const { return rank < first_upper(); }
  net::Rank first_upper() const { return rank_of_view(views()); }
  bool is_silent(net::Rank rank) const { return requests_.is_silent(rank, context_.clock.now()); }
  std::string why_lost(std::size_t view) const;
  bool needs_views() const;
  Status notice_losses();
  void notice_lost_uppers();
  void ask(net::Rank rank, std::uint64_t batch, Command command);
  void send_views();
  std::optional<net::Rank> free_upper() const;
  bool has_upper() const;
  Status send_rest();
  Status compute_rest(std::uint64_t id);
  bool is_complete(const ByView& values) const;
  Result<std::vector<float>> joined(const Batch& batch, bool of_scores);
  bool agree_on_truths(Batch& batch);
  Status decide(std::uint64_t id);
  void ask_features(std::uint64_t id);
  Status take(const NodeRoster::Said& said);
  Status take_values(std::size_t view, std::uint64_t id, const ViewValues& said);
  void take_rest(net::Rank rank, std::uint64_t id, const RestAnswer& said);
  void answer(const Batch& batch, std::span<const std::uint32_t> rows,
              std::span<const exits::EarlyExit::Answer> answers);
  void answer_rest(std::uint64_t id, net::Rank rank, std::span<const exits::EarlyExit::Answer> answers);
  void close(std::uint64_t id);

  const InferJob& job_;
  const job::RoleContext& context_;
  NodeRoster& nodes_;
  Reports& reports_;
  ViewFusion& fusion_;
  const Hello& data_;
  const std::uint64_t batches_;
  ViewAnswers answers_;
  std::map<std::uint64_t, Batch> open_;
  std::uint64_t next_ = 0;                     // micro-batch that has not begun
  std::deque<std::uint64_t> waiting_;          // micro-batches whose rest nobody computes yet
  job::Requests requests_;                     // about micro-batches
  std::set<std::size_t> lost_, contradicted_;  // views
  std::set<net::Rank> lost_uppers_;
  Instant start_, last_answer_;
  job::Throttle throttle_;
};

Status ViewRun::run() {
  start_ = last_answer_ = context_.clock.now();
  while (!answers_.done()) {
    MG_RETURN_IF_ERROR(notice_losses());
    notice_lost_uppers();
    send_views();
    MG_RETURN_IF_ERROR(send_rest());
    const bool computes_itself = !waiting_.empty() && !has_upper();
    if (answers_.done() || (computes_itself && lost_.size() == views())) continue;  // nobody has anything to say
    MG_TRY(const std::vector<NodeRoster::Said> all, nodes_.all(computes_itself ? Instant() : Instant::never()));
    for (const NodeRoster::Said& said : all) MG_RETURN_IF_ERROR(take(said));
  }
  return {};
}

/// Empty: it is not.
std::string ViewRun::why_lost(std::size_t view) const {
  const net::Rank rank = rank_of_view(view);
  if (nodes_.failure(rank)) return nodes_.failure(rank)->message;
  if (!nodes_.is_usable(rank)) return "it is not there";
  if (!nodes_.has_data(rank)) return "its data set differs from that of the other devices";
  if (contradicted_.contains(view)) return "its labels differ from those of most other devices";
  return is_silent(rank) ? "it has not answered for " + format_seconds(job_.answer_timeout_s()) : "";
}

/// Whether a micro-batch still has to be seen; else upper nodes, or the leader, can do what is left.
bool ViewRun::needs_views() const {
  const auto is_seen = [](const auto& entry) { return entry.second.stage == Batch::Stage::rest; };
  return next_ < batches_ || !std::ranges::all_of(open_, is_seen);
}

Status ViewRun::notice_losses() {
  const std::size_t before = lost_.size();
  for (std::size_t view = 0; view < views(); ++view) {
    const std::string reason = lost_.contains(view) ? "" : why_lost(view);
    if (reason.empty()) continue;
    lost_.insert(view);
    requests_.forget_rank(rank_of_view(view));
    reports_.event(ViewLost{view + 1, reports_.node(rank_of_view(view)), reason});
  }
  if (lost_.size() == before) return {};
  if (lost_.size() == views() && needs_views())
    return make_error(Code::unavailable, "views: no device with a view of the image is left");
  std::vector<std::uint64_t> ids;
  for (const auto& [id, batch] : open_) {
    const bool waits_in_vain = batch.stage == Batch::Stage::scores && is_complete(batch.scores);
    if (waits_in_vain || batch.stage == Batch::Stage::features) ids.push_back(id);
  }
  for (const std::uint64_t id : ids) MG_RETURN_IF_ERROR(decide(id));
  return {};
}

/// What they had is computed elsewhere.
void ViewRun::notice_lost_uppers() {
  for (net::Rank rank = first_upper(); rank < context_.endpoint.size(); ++rank) {
    if (lost_uppers_.contains(rank) || (nodes_.is_usable(rank) && !is_silent(rank))) continue;
    lost_uppers_.insert(rank);
    const std::vector<std::uint64_t> had = requests_.forget_rank(rank);
    waiting_.insert(waiting_.begin(), had.begin(), had.end());
    if (!had.empty()) reports_.redone("views", rank);
  }
}

void ViewRun::ask(net::Rank rank, std::uint64_t batch, Command command) {
  command.set_request(requests_.add(rank, batch, context_.clock.now()));
  command.set_micro_batch(batch);
  nodes_.send(rank, command);
}

void ViewRun::send_views() {
  const std::size_t window = job_.window() > 0 ? static_cast<std::size_t>(job_.window()) : kWindow;
  for (; open_.size() < window && next_ < batches_; ++next_) {
    const auto first =
        std::ranges::find_if(open_, [](const auto& entry) { return entry.second.stage != Batch::Stage::rest; });
    Command command;
    command.set_kind(Command::VIEW);
    command.set_keep_from(first == open_.end() ? next_ : first->first);
    Batch& batch = open_[next_];
    batch.begin = static_cast<std::int64_t>(next_) * job_.micro_batch();
    batch.count = std::min(job_.micro_batch(), data_.samples() - batch.begin);
    for (std::int64_t row = 0; row < batch.count; ++row) batch.rows.push_back(static_cast<std::uint32_t>(row));
    batch.scores.resize(views());
    command.set_begin(batch.begin);
    command.set_count(batch.count);
    for (std::size_t view = 0; view < views(); ++view)
      if (!lost_.contains(view)) ask(rank_of_view(view), next_, command);
  }
}

bool ViewRun::has_upper() const {
  return std::ssize(lost_uppers_) < context_.endpoint.size() - first_upper();
}

/// The one with the least to do that can take more.
std::optional<net::Rank> ViewRun::free_upper() const {
  std::optional<net::Rank> best;
  std::size_t least = kUpperQueue;
  for (net::Rank rank = first_upper(); rank < context_.endpoint.size(); ++rank) {
    const std::size_t has = requests_.subjects(rank).size();
    if (lost_uppers_.contains(rank) || has >= least) continue;
    best = rank;
    least = has;
  }
  return best;
}

/// Without upper nodes a micro-batch is computed here at a time, so that nobody else waits for long.
Status ViewRun::send_rest() {
  while (!waiting_.empty()) {
    const std::uint64_t id = waiting_.front();
    const std::optional<net::Rank> rank = free_upper();
    if (!rank && has_upper()) return {};
    waiting_.pop_front();
    if (!rank) return compute_rest(id);
    const Batch& batch = open_.at(id);
    Command command;
    command.set_kind(Command::REST);
    command.set_count(std::ssize(batch.rows));
    net::append_floats(*command.mutable_values(), batch.joined);
    ask(*rank, id, command);
  }
  return {};
}

Status ViewRun::compute_rest(std::uint64_t id) {
  const Batch& batch = open_.at(id);
  MG_TRY(const auto answers, fusion_.rest(std::ssize(batch.rows), batch.joined));
  context_.device.charge(fusion_.rest_flops());
  answer_rest(id, 0, answers);
  return {};
}

bool ViewRun::is_complete(const ByView& values) const {
  for (std::size_t view = 0; view < views(); ++view)
    if (!lost_.contains(view) && !values[view]) return false;
  return true;
}

/// The scores, or the features, of all views, of the rows without an answer.
Result<std::vector<float>> ViewRun::joined(const Batch& batch, bool of_scores) {
  const std::vector<std::uint32_t> the_one(batch.rows.size(), 0);
  std::vector<float> all;
  for (std::size_t view = 0; view < views(); ++view) {
    const ViewFormat& format = of_scores ? fusion_.scores(view) : fusion_.features(view);
    if (batch.lost.contains(view)) {
      MG_TRY(const ViewDevice::Values* const made, fusion_.lost(view));
      format.append_rows(of_scores ? made->scores : made->features, 1, the_one, all);
    } else if (of_scores) {
      format.append_rows(*batch.scores[view], batch.count, batch.rows, all);
    } else {
      all.insert(all.end(), batch.features[view]->begin(), batch.features[view]->end());
    }
  }
  return all;
}

/// False: some say other labels than most. What they see is of other images, so that they are lost.
bool ViewRun::agree_on_truths(Batch& batch) {
  std::erase_if(batch.truths, [&](const auto& entry) { return lost_.contains(entry.first); });
  const std::set<std::size_t> others = answers_.set_truths(batch.begin, batch.truths);
  contradicted_.insert(others.begin(), others.end());
  return others.empty();
}

/// Decides which rows leave at the first exit, and asks for the features of the others. Called again for a batch if a
/// view has been lost since.
Status ViewRun::decide(std::uint64_t id) {
  Batch& batch = open_.at(id);
  if (batch.stage == Batch::Stage::scores && !agree_on_truths(batch)) return {};
  requests_.forget_subject(id);
  batch.lost = lost_;
  MG_TRY(const std::vector<float> scores, joined(batch, true));
  MG_TRY(const auto answers, fusion_.first_exit(std::ssize(batch.rows), scores));
  context_.device.charge(fusion_.first_exit_flops());
  std::vector<std::uint32_t> leave, stay;
  std::vector<exits::EarlyExit::Answer> last;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const bool leaves = fusion_.leaves(answers[i]);
    (leaves ? leave : stay).push_back(batch.rows[i]);
    if (leaves) last.push_back(answers[i]);
  }
  answer(batch, leave, last);
  batch.rows = std::move(stay);
  if (batch.rows.empty()) {
    close(id);
  } else {
    ask_features(id);
  }
  return {};
}

void ViewRun::ask_features(std::uint64_t id) {
  Batch& batch = open_.at(id);
  batch.stage = Batch::Stage::features;
  batch.features.assign(views(), std::nullopt);
  Command command;
  command.set_kind(Command::FEATURES);
  command.mutable_rows()->Add(batch.rows.begin(), batch.rows.end());
  for (std::size_t view = 0; view < views(); ++view)
    if (!lost_.contains(view)) ask(rank_of_view(view), id, command);
}

/// An answer to nothing that was asked, or of another size, is left out: who says nothing else is silent.
Status ViewRun::take(const NodeRoster::Said& said) {
  const FromNode& message = said.message;
  const std::uint64_t request = message.has_view_values()   ? message.view_values().request()
                                : message.has_rest_answer() ? message.rest_answer().request()
                                                            : 0;
  const std::optional<std::uint64_t> id = requests_.find(said.rank, request);
  if (!id || is_device(said.rank) != message.has_view_values()) return {};
  if (is_device(said.rank)) return take_values(static_cast<std::size_t>(said.rank - 1), *id, message.view_values());
  take_rest(said.rank, *id, message.rest_answer());
  return {};
}

Status ViewRun::take_values(std::size_t view, std::uint64_t id, const ViewValues& said) {
  Batch& batch = open_.at(id);
  const bool of_scores = batch.stage == Batch::Stage::scores;
  const ViewFormat& format = of_scores ? fusion_.scores(view) : fusion_.features(view);
  std::vector<float> values(
      static_cast<std::size_t>(format.elements(of_scores ? batch.count : std::ssize(batch.rows))));
  const auto is_class = [&](std::int32_t c) { return c >= 0 && c < data_.classes_size(); };
  if (said.truths_size() != (of_scores ? batch.count : 0) || !std::ranges::all_of(said.truths(), is_class) ||
      !net::read_floats(said.values(), values).ok())
    return {};
  requests_.answer(rank_of_view(view), said.request(), context_.clock.now());
  answers_.received(view, of_scores, std::ssize(said.values()));
  ByView& all = of_scores ? batch.scores : batch.features;
  all[view] = std::move(values);
  if (of_scores) batch.truths[view].assign(said.truths().begin(), said.truths().end());
  if (!is_complete(all)) return {};
  if (of_scores) return decide(id);
  MG_TRY(batch.joined, joined(batch, false));
  batch.scores.clear();
  batch.features.clear();
  batch.stage = Batch::Stage::rest;
  waiting_.push_back(id);
  return {};
}

void ViewRun::take_rest(net::Rank rank, std::uint64_t id, const RestAnswer& said) {
  const int count = static_cast<int>(open_.at(id).rows.size());
  const auto is_class = [&](std::int32_t c) { return c >= 0 && c < data_.classes_size(); };
  const auto is_exit = [&](std::uint32_t exit) { return exit >= 1 && exit < fusion_.exits(); };
  if (said.exits_size() != count || said.classes_size() != count || !std::ranges::all_of(said.classes(), is_class) ||
      !std::ranges::all_of(said.exits(), is_exit))
    return;
  requests_.answer(rank, said.request(), context_.clock.now());
  std::vector<exits::EarlyExit::Answer> answers;
  for (int i = 0; i < count; ++i)
    answers.push_back({.exit = static_cast<std::int32_t>(said.exits(i)), .predicted = said.classes(i)});
  answer_rest(id, rank, answers);
}

void ViewRun::answer(const Batch& batch, std::span<const std::uint32_t> rows,
                     std::span<const exits::EarlyExit::Answer> answers) {
  if (rows.empty()) return;
  std::vector<std::int64_t> images;
  for (const std::uint32_t row : rows) images.push_back(batch.begin + row);
  ViewAnswersLine line = answers_.add(images, answers, batch.lost);
  last_answer_ = context_.clock.now();
  line.at = last_answer_ - start_;
  if (context_.device.computes()) reports_.line(line);
  if (!throttle_.passes(last_answer_, answers_.done())) return;
  reports_.progress("views", answers_.answered(), data_.samples(),
                    per_second(answers_.answered(), last_answer_ - start_));
}

void ViewRun::answer_rest(std::uint64_t id, net::Rank rank, std::span<const exits::EarlyExit::Answer> answers) {
  const Batch& batch = open_.at(id);
  answers_.classified(rank, std::ssize(batch.rows));
  answer(batch, batch.rows, answers);
  close(id);
}

void ViewRun::close(std::uint64_t id) {
  answers_.close(open_.at(id).lost);
  open_.erase(id);
}

Status lead(const InferJob& job, job::RoleContext& context, NodeRoster& nodes, Reports& reports) {
  MG_TRY(const Graph network, parse_onnx(job.model()).context("model"));
  MG_TRY(const auto fusion, ViewFusion::create(network, job, compile_options(job, context)).context("views"));
  const auto views = static_cast<int>(fusion->views());
  if (context.endpoint.size() - 1 < views)
    return make_error(Code::invalid_argument, "nodes: the network has " + std::to_string(views) +
                                                  " views, each on a node of its own: it needs at least " +
                                                  std::to_string(views) + " nodes, got " +
                                                  std::to_string(context.endpoint.size() - 1));
  nodes.take_without_data();  // those above the devices need none
  MG_TRY(const Hello data, nodes.gather());
  if (data.samples() < 1) return make_error(Code::invalid_argument, "data set '" + job.data() + "' is empty");
  const Shape sample({data.sample_shape().begin(), data.sample_shape().end()});
  MG_RETURN_IF_ERROR(learn::check_fits(network, sample, data.classes_size()).context("data set '" + job.data() + "'"));
  ViewRun run(job, context, nodes, reports, *fusion, data);
  MG_RETURN_IF_ERROR(run.run());
  ViewsResult result = run.result();
  result.all.model_bytes = nodes.model_bytes();
  reports.result(result);
  return {};
}

}  // namespace

Status run_views(const InferJob& job, job::RoleContext& context) {
  if (context.endpoint.rank() != 0) return run_view_node(job, context);
  return lead_nodes(job, context,
                    [&](NodeRoster& nodes, Reports& reports) { return lead(job, context, nodes, reports); });
}

Strategy rows::views() {
  return {{.name = "views",
           .summary = "a network over devices that each see a part of the image (Teerapittayanon, McDanel & Kung, "
                      "DDNN, ICDCS 2017)",
           .on_loss = "what a lost device would make of zeros stands in its place; the upper part is computed "
                      "elsewhere"},
          {.networks = Networks::with_views},
          &run_views};
}

}  // namespace mangrove::infer
