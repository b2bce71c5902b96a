#include "mangrove/train/dataset_summary.h"

#include "mangrove/base/check.h"
#include "mangrove/data/loader.h"
#include "mangrove/graph/exits.h"
#include "mangrove/job/sample_count.h"
#include "mangrove/learn/class_names.h"
#include "mangrove/learn/preparation.h"
#include "mangrove/learn/replica.h"
#include "mangrove/train/data_parallel/data_split.h"
#include "mangrove/train/job_settings.h"
#include "mangrove/train/reports.h"

namespace mangrove::train {

namespace {

/// Runs that are all its training samples.
bool has_runs(const Hello& hello) {
  std::uint32_t before = 0;
  for (const std::uint32_t end : hello.run_ends()) {
    if (end <= before) return false;
    before = end;
  }
  return before > 0 && before == hello.train_samples();
}

}  // namespace

std::vector<std::string> class_names(const Hello& hello) {
  return {hello.classes().begin(), hello.classes().end()};
}

Status check_data(const Graph& graph, const TrainJob& job, const Hello& hello) {
  if (hello.train_samples() < 1) return make_error(Code::invalid_argument, "data set '" + job.data() + "' is empty");
  constexpr Bytes kBytesPerSample = 16;  // its number in the order of an epoch, its owner, its class
  for (const std::int64_t samples : {hello.train_samples(), hello.test_samples(), hello.validation_samples()})
    MG_RETURN_IF_ERROR(job::check_sample_count(samples, kBytesPerSample).context("data set '" + job.data() + "'"));
  MG_TRY(const std::uint32_t window, shuffle_window(job));
  MG_TRY(const DataSplit split, parse_split(job.split()));
  const bool is_split_by_runs = split.kind == DataSplit::Kind::shards;
  if ((window > 0 || is_split_by_runs) && !has_runs(hello))
    return make_error(Code::invalid_argument, (window > 0 ? "shuffle: " + job.shuffle() : "split: " + job.split()) +
                                                  " is for data in shards, and '" + job.data() +
                                                  "' is not: pack it with 'mangrove data pack'");
  const Shape sample({hello.sample_shape().begin(), hello.sample_shape().end()});
  return learn::check_fits(graph, sample, hello.classes_size()).context("data set '" + job.data() + "'");
}

std::vector<std::uint32_t> order_of_epoch(const TrainJob& job, const Hello& hello, std::int64_t epoch) {
  const auto number = static_cast<std::uint64_t>(epoch);
  const std::uint32_t window = *shuffle_window(job);
  if (window == 0) return data::epoch_order(static_cast<std::uint32_t>(hello.train_samples()), job.seed(), number);
  const std::vector<std::uint32_t> ends(hello.run_ends().begin(), hello.run_ends().end());
  return data::run_order(ends, window, job.seed(), number);
}

Result<std::vector<net::Rank>> owners_of_samples(const TrainJob& job, const Hello& hello, std::size_t workers) {
  MG_TRY(const DataSplit split, parse_split(job.split()));
  if (split.kind == DataSplit::Kind::iid) return std::vector<net::Rank>();
  MG_RETURN_IF_ERROR(check_workers(split, job.split(), workers));
  std::vector<std::size_t> workers_of;
  if (split.kind == DataSplit::Kind::shards) {
    workers_of = shard_owners(std::vector<std::uint32_t>(hello.run_ends().begin(), hello.run_ends().end()), workers);
  } else if (hello.labels_size() == hello.train_samples()) {
    workers_of =
        owners(split, std::vector<std::int32_t>(hello.labels().begin(), hello.labels().end()), workers, job.seed());
  } else {
    return make_error(Code::data_loss, "split: the workers told " + std::to_string(hello.labels_size()) +
                                           " labels of " + std::to_string(hello.train_samples()) + " samples");
  }
  std::vector<net::Rank> ranks;
  for (const std::size_t worker : workers_of) ranks.push_back(static_cast<net::Rank>(worker) + 1);
  return ranks;
}

Graph labelled(const Graph& trained, const TrainJob& job, const Hello& hello) {
  GraphParts parts = trained.parts();
  parts.metadata[learn::kDataKey] = job.data();
  parts.metadata[learn::kClassesKey] = json_list(class_names(hello));
  if (!hello.augmentation().empty()) parts.metadata[learn::kAugmentationKey] = hello.augmentation();
  parts.metadata.erase(kExitThresholdsKey);  // they were chosen for other weights
  parts.metadata.erase(kExitSharesKey);
  Result<Graph> graph = Graph::create(std::move(parts));
  MG_CHECK_MSG(graph.ok(), graph.error().message);
  return *std::move(graph);
}

}  // namespace mangrove::train
