#include "mangrove/infer/views/answers.h"

#include <algorithm>

namespace mangrove::infer {

ViewAnswers::ViewAnswers(const InferJob& job, const Hello& data, std::size_t views, std::size_t exits)
    : job_(job),
      data_(data),
      truths_(static_cast<std::size_t>(data.samples()), -1),
      predictions_(truths_.size(), -1),
      views_(views),
      exits_(exits) {}

std::set<std::size_t> ViewAnswers::set_truths(std::int64_t begin, const Truths& truths) {
  std::map<std::vector<std::int32_t>, int> votes;
  for (const auto& [view, said] : truths) ++votes[said];
  const auto most =
      std::ranges::max_element(truths, {}, [&](const auto& entry) { return votes.at(entry.second); })->second;
  std::ranges::copy(most, truths_.begin() + begin);
  std::set<std::size_t> others;
  for (const auto& [view, said] : truths)
    if (said != most) others.insert(view);
  return others;
}

ViewAnswersLine ViewAnswers::add(std::span<const std::int64_t> images,
                                 std::span<const exits::EarlyExit::Answer> answers, const std::set<std::size_t>& lost) {
  ViewAnswersLine line;
  line.images.assign(images.begin(), images.end());
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const auto image = static_cast<std::size_t>(images[i]);
    const bool is_first = predictions_[image] < 0;
    ++(is_first ? answered_ : duplicated_);
    predictions_[image] = answers[i].predicted;
    OfExit& exit = exits_[static_cast<std::size_t>(answers[i].exit)];
    ++exit.images;
    exit.right += answers[i].predicted == truths_[image] ? 1 : 0;
    line.classes.push_back(answers[i].predicted);
    line.exits.push_back(answers[i].exit + 1);
  }
  for (const std::size_t view : lost) line.lost_views.push_back(view + 1);
  return line;
}

void ViewAnswers::classified(net::Rank by, std::int64_t images) {
  ++uppers_[by].batches;
  uppers_[by].images += images;
}

void ViewAnswers::close(const std::set<std::size_t>& lost) {
  ++batches_;
  for (const std::size_t view : lost) ++views_[view].batches_without;
}

std::vector<ExitReport> ViewAnswers::exits() const {
  std::vector<ExitReport> exits;
  for (const OfExit& exit : exits_) {
    const auto images = static_cast<double>(exit.images);
    exits.push_back({.exit = exits.size() + 1,
                     .answer = {},
                     .images = exit.images,
                     .share = images / static_cast<double>(truths_.size()),
                     .accuracy = {}});
    if (exit.images > 0) exits.back().accuracy = static_cast<double>(exit.right) / images;
  }
  return exits;
}

/// Beside the samples, a byte a value.
void ViewAnswers::add_traffic(ViewsResult& result) const {
  Bytes scores = 0, features = 0;
  for (const OfView& view : views_) {
    scores += view.scores;
    features += view.features;
  }
  const Shape sample({data_.sample_shape().begin(), data_.sample_shape().end()});
  const auto images = static_cast<double>(truths_.size());
  result.score_bytes_per_image = static_cast<double>(scores) / images;
  result.feature_bytes_per_image = static_cast<double>(features) / images;
  result.sample_bytes = sample.elements();
}

ViewsResult ViewAnswers::summary(Seconds seconds, const std::set<std::size_t>& lost, const Reports& reports) const {
  ViewsResult result;
  result.all = result_of(job_, data_, truths_, predictions_, seconds);
  result.lost = std::ssize(truths_) - answered_;
  result.duplicated = duplicated_;
  result.micro_batches = batches_;
  result.exits = exits();
  add_traffic(result);
  for (std::size_t view = 0; view < views_.size(); ++view)
    result.views.push_back({.view = view + 1,
                            .node = reports.node(rank_of_view(view)),
                            .is_lost = lost.contains(view),
                            .micro_batches_without = views_[view].batches_without,
                            .score_bytes = views_[view].scores,
                            .feature_bytes = views_[view].features});
  for (const auto& [rank, upper] : uppers_) {
    ViewsResult::Upper& told = result.upper.emplace_back();
    if (rank != 0) told.node = reports.node(rank);
    told.micro_batches = upper.batches;
    told.images = upper.images;
  }
  return result;
}

}  // namespace mangrove::infer
