#include "mangrove/infer/tier_answers.h"

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
    const Answered& first = answers_[0][static_cast<std::size_t>(image)];
    if (task.answer == Answer::first || first.exit >= exits_.on_end) images.push_back(image);
  }
  return images;
}

/// Whether the samples that it is about can have left there, and values came of those that stay.
bool TierAnswers::exits_fit(const TierAnswer& said) const {
  if (!exits_.any()) return true;
  const bool is_first = static_cast<Answer>(said.answer()) == Answer::first;
  const std::size_t least = is_first ? 0 : exits_.on_end, most = is_first ? exits_.on_end : exits_.exits - 1;
  const auto stayed = is_first ? std::ranges::count(said.exits(), exits_.on_end) : 0;
  return said.exits_size() == said.classes_size() && std::ssize(said.values()) == stayed * exits_.value_bytes &&
         std::ranges::all_of(said.exits(), [&](std::uint32_t exit) { return exit >= least && exit <= most; });
}

bool TierAnswers::fits(const TierAnswer& said, std::size_t part) const {
  if (said.micro_batch() >= batches() || said.answer() >= kAnswers) return false;
  const auto count = static_cast<int>(images_of({static_cast<Answer>(said.answer()), said.micro_batch()}).size());
  const int labels = job_.tiers(static_cast<int>(part)).coarse() ? data_.coarse_classes_size() : data_.classes_size();
  const auto below = [](int bound) { return [bound](std::int32_t label) { return label >= 0 && label < bound; }; };
  return count > 0 && said.classes_size() == count && said.confidences_size() == count && said.truths_size() == count &&
         std::ranges::all_of(said.classes(), below(labels)) &&
         std::ranges::all_of(said.truths(), below(data_.classes_size())) && exits_fit(said);
}

Json TierAnswers::add(const TierTask& task, const TierAnswer& said, std::size_t part, Seconds latency) {
  OfTier& tier = tiers_[part];
  ++tier.tasks;
  tier.latencies.push_back(latency);
  Json confidences = Json::array(), exits = Json::array();
  const std::vector<std::int64_t> images = images_of(task);
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
    confidences.push_back(std::isfinite(sure) ? std::round(std::clamp(sure, 0.0f, 1.0f) * 1e4) / 1e4 : 0);
    const bool stays = task.answer == Answer::first && answer.exit == exits_.on_end;
    exits.push_back(stays ? Json() : Json(answer.exit + 1));
  }
  Json line = {{"tier", job_.tiers(static_cast<int>(part)).name()},
               {"answer", task.answer == Answer::first ? "first" : "second"},
               {"labels", job_.tiers(static_cast<int>(part)).coarse() ? "coarse" : "fine"},
               {"begin", first_of(task.batch)},
               {"classes", std::vector<std::int32_t>(said.classes().begin(), said.classes().end())},
               {"confidences", std::move(confidences)},
               {"latency_s", latency}};
  if (exits_.any()) line.update({{"images", images}, {"exits", std::move(exits)}});
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

Json TierAnswers::exits() const {
  std::vector<std::int64_t> images(exits_.exits), correct(exits_.exits);
  for (std::size_t i = 0; i < truths_.size(); ++i) {
    const Answered &first = answers_[0][i], &second = answers_[1][i];
    const Answered& last = second.deliveries > 0 ? second : first;
    if (last.deliveries == 0 || (&last == &first && first.exit == exits_.on_end)) continue;  // it has not left
    ++images[last.exit];
    correct[last.exit] += is_right(last, truths_[i]) ? 1 : 0;
  }
  Json exits = Json::array();
  for (std::size_t exit = 0; exit < exits_.exits; ++exit) {
    exits.push_back({{"exit", exit + 1},
                     {"on_end", exit < exits_.on_end},
                     {"images", images[exit]},
                     {"share", share(images[exit], std::ssize(truths_))},
                     {"accuracy", nullptr}});
    if (images[exit] > 0) exits.back()["accuracy"] = share(correct[exit], images[exit]);
  }
  return exits;
}

Json TierAnswers::summary(std::int64_t skipped, std::int64_t unasked) const {
  std::int64_t answered = 0, right = 0, coarsely_right = 0, lost = -skipped - unasked, duplicated = 0;
  for (std::size_t i = 0; i < truths_.size(); ++i) {
    const Answered &first = answers_[0][i], &second = answers_[1][i];
    for (const Answered* answer : {&first, &second}) {
      lost += answer->deliveries == 0 ? 1 : 0;
      duplicated += std::max(0, answer->deliveries - 1);
    }
    const Answered& last = second.deliveries > 0 ? second : first;
    if (last.deliveries == 0) continue;
    ++answered;
    right += is_right(last, truths_[i]) ? 1 : 0;
    coarsely_right += is_coarsely_right(last, truths_[i]) ? 1 : 0;
  }
  Json tiers = Json::array();
  for (std::size_t part = 0; part < tiers_.size(); ++part) {
    const TierPart& of = job_.tiers(static_cast<int>(part));
    const OfTier& tier = tiers_[part];
    std::vector<Seconds> latencies = tier.latencies;
    std::ranges::sort(latencies);
    tiers.push_back({{"tier", of.name()},
                     {"labels", of.coarse() ? "coarse" : "fine"},
                     {"trusted", of.trusted()},
                     {"tasks", tier.tasks},
                     {"images", tier.images},
                     {"accuracy", share(tier.right, tier.images)},
                     {"coarse_accuracy", share(tier.coarsely_right, tier.images)},
                     {"latency", latency_json(latencies)}});
  }
  return {{"accuracy", share(right, answered)},
          {"coarse_accuracy", share(coarsely_right, answered)},
          {"lost", lost},
          {"skipped", skipped},
          {"duplicated", duplicated},
          {"tiers", std::move(tiers)}};
}

}  // namespace mangrove::infer
