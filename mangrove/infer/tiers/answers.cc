#include "mangrove/infer/tiers/answers.h"

#include <algorithm>
#include <cmath>

namespace mangrove::infer {
namespace {

double share(std::int64_t part, std::int64_t all) {
  return all > 0 ? static_cast<double>(part) / static_cast<double>(all) : 0;
}

}  // namespace

TierAnswers::TierAnswers(const InferJob& job, const Hello& data, const TierExits& exits)
    : job_(job),
      data_(data),
      exits_(exits),
      truths_(static_cast<std::size_t>(data.samples()), -1),
      tiers_(static_cast<std::size_t>(job.tiers_size())) {
  for (auto& answers : answers_) answers.resize(truths_.size());
}

std::size_t TierAnswers::batches() const {
  return static_cast<std::size_t>((data_.samples() + job_.micro_batch() - 1) / job_.micro_batch());
}

std::int64_t TierAnswers::count_of(std::size_t batch) const {
  return std::min(job_.micro_batch(), data_.samples() - first_of(batch));
}

std::vector<std::int64_t> TierAnswers::images_of(const TierTask& task) const {
  std::vector<std::int64_t> images;
  for (std::int64_t i = 0; i < count_of(task.batch); ++i) {
    const std::int64_t image = first_of(task.batch) + i;
    if (is_about(task.answer, static_cast<std::size_t>(image))) images.push_back(image);
  }
  return images;
}

bool TierAnswers::is_about(Answer answer, std::size_t image) const {
  if (answer == Answer::first || !exits_.any()) return true;
  const Answer before = TierExits::before(answer);
  return exits_.stays(before, answered(before, image).exit);
}

std::optional<Answer> TierAnswers::last_answer(std::size_t image) const {
  for (std::size_t i = kAnswers; i-- > 0;)
    if (answers_[i][image].deliveries > 0) return static_cast<Answer>(i);
  return std::nullopt;
}

/// Whether the samples that it is about can have left there, and values came of those that stay.
bool TierAnswers::exits_fit(const TierAnswer& said) const {
  if (!exits_.any()) return true;
  const auto answer = static_cast<Answer>(said.answer());
  const TierExits::Level& level = exits_.level(answer);
  const std::size_t least = exits_.begin(answer), most = exits_.is_last(answer) ? level.end - 1 : level.end;
  const auto stayed = std::ranges::count_if(said.exits(), [&](auto exit) { return exits_.stays(answer, exit); });
  return said.exits_size() == said.classes_size() && std::ssize(said.values()) == stayed * level.value_bytes &&
         std::ranges::all_of(said.exits(), [&](std::uint32_t exit) { return exit >= least && exit <= most; });
}

bool TierAnswers::fits(const TierAnswer& said, std::size_t part) const {
  if (!knows(said)) return false;
  const auto count = static_cast<int>(images_of({static_cast<Answer>(said.answer()), said.micro_batch()}).size());
  const int labels = job_.tiers(static_cast<int>(part)).coarse() ? data_.coarse_classes_size() : data_.classes_size();
  const auto below = [](int bound) { return [bound](std::int32_t label) { return label >= 0 && label < bound; }; };
  return count > 0 && said.classes_size() == count && said.confidences_size() == count && said.truths_size() == count &&
         std::ranges::all_of(said.classes(), below(labels)) &&
         std::ranges::all_of(said.truths(), below(data_.classes_size())) && exits_fit(said);
}

TierAnswersLine TierAnswers::add(const TierTask& task, const TierAnswer& said, std::size_t part, Seconds latency) {
  OfTier& tier = tiers_[part];
  ++tier.tasks;
  tier.latencies.push_back(latency);
  TierAnswersLine line;
  line.tier = job_.tiers(static_cast<int>(part)).name();
  line.answer = kAnswerNames[static_cast<std::size_t>(task.answer)];
  line.labels = job_.tiers(static_cast<int>(part)).coarse() ? "coarse" : "fine";
  line.begin = first_of(task.batch);
  line.classes.assign(said.classes().begin(), said.classes().end());
  line.latency = latency;
  std::vector<std::int64_t> images = images_of(task);
  std::vector<std::optional<std::int64_t>> exits;
  for (int i = 0; i < said.classes_size(); ++i) {
    const auto image = static_cast<std::size_t>(images[static_cast<std::size_t>(i)]);
    Answered& answer = answers_[static_cast<std::size_t>(task.answer)][image];
    answer = {said.classes(i), static_cast<std::uint8_t>(part), answer.deliveries + 1,
              exits_.any() ? said.exits(i) : 0};
    truths_[image] = said.truths(i);
    ++tier.images;
    tier.right += is_right(answer, truths_[image]) ? 1 : 0;
    tier.coarsely_right += is_coarsely_right(answer, truths_[image]) ? 1 : 0;
    const float sure = said.confidences(i);
    line.confidences.push_back(std::isfinite(sure) ? std::round(std::clamp(sure, 0.0f, 1.0f) * 1e4) / 1e4 : 0);
    exits.emplace_back();
    if (!exits_.stays(task.answer, answer.exit)) exits.back() = answer.exit + 1;
  }
  if (exits_.any()) {
    line.images = std::move(images);
    line.exits = std::move(exits);
  }
  return line;
}

/// At the level of its tier's labels.
bool TierAnswers::is_right(const Answered& answer, std::int32_t truth) const {
  return answer.label == (job_.tiers(answer.part).coarse() ? coarse(truth) : truth);
}

bool TierAnswers::is_coarsely_right(const Answered& answer, std::int32_t truth) const {
  if (!has_hierarchy()) return is_right(answer, truth);
  return (job_.tiers(answer.part).coarse() ? answer.label : coarse(answer.label)) == coarse(truth);
}

std::vector<ExitReport> TierAnswers::exits() const {
  std::vector<std::int64_t> images(exits_.levels.back().end), correct(images.size());
  for (std::size_t i = 0; i < truths_.size(); ++i) {
    const std::optional<Answer> answer = last_answer(i);
    if (!answer) continue;
    const Answered& last = answered(*answer, i);
    if (exits_.stays(*answer, last.exit)) continue;
    ++images[last.exit];
    correct[last.exit] += is_right(last, truths_[i]) ? 1 : 0;
  }
  std::vector<ExitReport> exits;
  for (std::size_t answer = 0; answer < exits_.levels.size(); ++answer) {
    for (std::size_t exit = exits.size(); exit < exits_.levels[answer].end; ++exit) {
      exits.push_back({.exit = exit + 1,
                       .answer = std::string(kAnswerNames[answer]),
                       .images = images[exit],
                       .share = share(images[exit], std::ssize(truths_)),
                       .accuracy = {}});
      if (images[exit] > 0) exits.back().accuracy = share(correct[exit], images[exit]);
    }
  }
  return exits;
}

void TierAnswers::summarize(std::int64_t skipped, std::int64_t unasked, TiersResult& result) const {
  std::int64_t with_answer = 0, right = 0, coarsely_right = 0, lost = -skipped - unasked, duplicated = 0;
  for (std::size_t i = 0; i < truths_.size(); ++i) {
    for (std::size_t answer = 0; answer < exits_.answers(); ++answer) {
      const std::int32_t deliveries = answers_[answer][i].deliveries;
      lost += deliveries == 0 ? 1 : 0;
      duplicated += std::max(0, deliveries - 1);
    }
    const std::optional<Answer> answer = last_answer(i);
    if (!answer) continue;
    const Answered& last = answered(*answer, i);
    ++with_answer;
    right += is_right(last, truths_[i]) ? 1 : 0;
    coarsely_right += is_coarsely_right(last, truths_[i]) ? 1 : 0;
  }
  for (std::size_t part = 0; part < tiers_.size(); ++part) {
    const TierPart& of = job_.tiers(static_cast<int>(part));
    const OfTier& tier = tiers_[part];
    TiersResult::Tier& told = result.tiers.emplace_back();
    told.tier = of.name();
    told.labels = of.coarse() ? "coarse" : "fine";
    told.is_trusted = of.trusted();
    told.tasks = tier.tasks;
    told.images = tier.images;
    told.accuracy = share(tier.right, tier.images);
    told.coarse_accuracy = share(tier.coarsely_right, tier.images);
    told.latency = Latency(tier.latencies);
  }
  result.all.accuracy = share(right, with_answer);
  result.coarse_accuracy = share(coarsely_right, with_answer);
  result.lost = lost;
  result.skipped = skipped;
  result.duplicated = duplicated;
}

}  // namespace mangrove::infer
