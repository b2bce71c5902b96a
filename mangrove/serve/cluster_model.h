#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "mangrove/base/mutex.h"
#include "mangrove/cluster/client.h"
#include "mangrove/graph/graph.h"
#include "mangrove/serve/batch_queue.h"
#include "mangrove/serve/loaded_model.h"
#include "mangrove/serve/model.h"
#include "mangrove/serve/model_options.h"
#include "mangrove/serve/request_intake.h"

namespace mangrove::serve {

/// Connects to the coordinator. errors: those of cluster::Client::connect() and of finding credentials.
using ClusterConnector = std::function<Result<std::unique_ptr<cluster::Client>>()>;

/// A classifier that the nodes of a cluster compute as a pipeline: a job without an end, to which this process is the
/// client. Samples go to the job in the order of their requests' priorities, and answers come back in that order.
///
/// When the coordinator is gone, or the job has lost all its nodes, the job begins again as soon as that is possible,
/// and gets the samples that have no answers once more: so a request that was taken is answered, unless its deadline
/// passes before.
/// threads: any thread may call any method.
class ClusterModel final : public LoadedModel {
 public:
  /// job: inference with the network of this graph, encoded; what makes it a service is set here. Of the options,
  /// max_queue, queue_bytes and labels count.
  /// errors: those of learn::check_classifier() and class_labels().
  static Result<std::shared_ptr<ClusterModel>> start(const Graph& graph, const std::string& name,
                                                     const std::string& version, cluster::JobSpec job,
                                                     ClusterConnector connect, const ModelOptions& options);
  /// Stops at once.
  ~ClusterModel() override;

  const ModelMetadata& metadata() const override { return intake_.metadata(); }
  void infer(InferenceRequest request, AnswerSink answer) override { intake_.submit(request, std::move(answer)); }
  ModelStatistics statistics() const override { return intake_.statistics(); }

  /// Whether the job has its nodes and answers: each job gets a sample of zeros first.
  bool is_ready() const override;
  /// What the last job has failed with, or what it waits for.
  std::string problem() const override;
  /// Calls close(5).
  void close() override;
  /// Refuses requests from now on, and ends the job when those that wait are answered, or after this time. The others
  /// are answered with `unavailable`.
  void close(Seconds grace);

 private:
  /// A sample on its way.
  struct Sample {
    BatchPart part;  // without a request: the zeros with which a job begins
    std::int64_t number = 0;
    Instant sent = {};
  };
  struct Answered;

  ClusterModel(ModelMetadata metadata, cluster::JobSpec job, ClusterConnector connect, const ModelOptions& options);
  void collect();
  void run_jobs(const std::stop_token& stop);
  Status run_job(const std::stop_token& stop);
  std::optional<job::Frame> next_frame(const std::stop_token& stop);
  void take(const Report& report);
  void set_problem(const std::string& problem);
  void take_answers(const Report& report);
  std::optional<Sample> pop(std::int64_t number);
  void finish(const Sample& sample, const Answered& answered);
  void watch_deadlines(const std::stop_token& stop);

  const cluster::JobSpec job_;
  const ClusterConnector connect_;
  const std::size_t sample_bytes_;  // of the input of one sample
  const SteadyClock clock_;
  RequestIntake intake_;
  mutable Mutex mutex_;
  Condition changed_;
  std::deque<Sample> samples_ MG_GUARDED_BY(mutex_);  // that have no answer, in their order
  std::size_t sent_ MG_GUARDED_BY(mutex_) = 0;        // the first so many were given to the present job
  std::int64_t next_ MG_GUARDED_BY(mutex_) = 0;
  bool is_ready_ MG_GUARDED_BY(mutex_) = false;
  std::string problem_ MG_GUARDED_BY(mutex_) = "its job has not begun yet";
  bool is_draining_ MG_GUARDED_BY(mutex_) = false;
  bool is_drained_ MG_GUARDED_BY(mutex_) = false;  // no sample comes any more
  std::jthread watcher_, collector_, runner_;
};

}  // namespace mangrove::serve
