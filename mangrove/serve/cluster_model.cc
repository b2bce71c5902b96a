#include "mangrove/serve/cluster_model.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "mangrove/base/log.h"
#include "mangrove/base/parse_number.h"
#include "mangrove/base/stop.h"
#include "mangrove/infer/pipeline/report.h"
#include "mangrove/job/json_fields.h"
#include "mangrove/learn/replica.h"
#include "mangrove/serve/class_labels.h"
#include "mangrove/serve/model_metadata.h"

namespace mangrove::serve {
namespace {

constexpr std::size_t kMostOnTheirWay = 256;      // samples; others wait in the order of their priorities
constexpr std::int64_t kMostOfOneRequest = 4096;  // samples
constexpr Seconds kTryAgainAfter = 0.5;           // a job that could not begin, or has ended
constexpr Seconds kSayEvery = 30;                 // that there is no job
constexpr Seconds kLookEvery = 0.05;              // at deadlines of samples on their way
constexpr Seconds kUsualGrace = 5;                // for requests that wait when the service ends

/// Of an event of the job.
struct WhatHappened {
  std::optional<std::string> sentence;  // for people
  static void fields(auto& self, auto& field) { field("sentence", self.sentence); }
};

}  // namespace

/// What the cluster says of a sample.
struct ClusterModel::Answered {
  std::optional<Error> error = {};
  std::string scores = {};  // f32
};

Result<std::shared_ptr<ClusterModel>> ClusterModel::start(const Graph& graph, const std::string& name,
                                                          const std::string& version, cluster::JobSpec job,
                                                          ClusterConnector connect, const ModelOptions& options) {
  MG_RETURN_IF_ERROR(learn::check_classifier(graph));
  MG_TRY(std::vector<std::string> labels, class_labels(options.labels, graph).context("labels"));
  job.mutable_infer()->set_frames(true);
  job.mutable_infer()->set_frame_values(true);
  job.mutable_infer()->set_data(name + " version " + version);  // for people: see title_of()
  ModelMetadata metadata = metadata_of(graph, name, version, std::move(labels), kMostOfOneRequest);
  return std::shared_ptr<ClusterModel>(
      new ClusterModel(std::move(metadata), std::move(job), std::move(connect), options));
}

ClusterModel::ClusterModel(ModelMetadata metadata, cluster::JobSpec job, ClusterConnector connect,
                           const ModelOptions& options)
    : job_(std::move(job)),
      connect_(std::move(connect)),
      sample_bytes_(static_cast<std::size_t>(Shape(metadata.inputs.front().shape).with_batch(1).elements()) *
                    sizeof(float)),
      // the first stage puts samples together that are there
      intake_(std::move(metadata),
              {.queue = {.max_batch = 1, .max_requests = options.max_queue, .max_bytes = options.queue_bytes},
               .max_samples = kMostOfOneRequest}),
      watcher_([this](const std::stop_token& stop) { watch_deadlines(stop); }),
      collector_([this] { collect(); }),
      runner_([this](const std::stop_token& stop) { run_jobs(stop); }) {}

ClusterModel::~ClusterModel() {
  close(0);
}

bool ClusterModel::is_ready() const {
  const MutexLock lock(mutex_);
  return is_ready_;
}

std::string ClusterModel::problem() const {
  const MutexLock lock(mutex_);
  return is_ready_ ? "" : problem_;
}

void ClusterModel::set_problem(const std::string& problem) {
  const MutexLock lock(mutex_);
  problem_ = problem;
}

void ClusterModel::close() {
  close(kUsualGrace);
}

/// Takes samples from the queue for as long as not too many are on their way.
void ClusterModel::collect() {
  while (std::optional<std::vector<BatchPart>> parts = intake_.take()) {
    for (BatchPart& part : *parts) {
      MutexLock lock(mutex_);
      while (samples_.size() >= kMostOnTheirWay && !is_draining_) changed_.wait_for(mutex_, kLookEvery);
      samples_.push_back({.part = std::move(part), .number = next_++});
      changed_.notify_all();
    }
  }
  const MutexLock lock(mutex_);
  is_drained_ = true;
  changed_.notify_all();
}

/// Jobs, one after the other: each ends only when something is lost, or all is done.
void ClusterModel::run_jobs(const std::stop_token& stop) {
  Instant said = Instant{-kSayEvery};
  while (true) {
    const Status ended = run_job(stop);
    {
      const MutexLock lock(mutex_);
      is_ready_ = false;
      sent_ = 0;
      std::erase_if(samples_, [](const Sample& sample) { return sample.part.request == nullptr; });
      if (is_drained_ && samples_.empty()) return;
    }
    if (stop.stop_requested()) return;
    if (!ended.ok()) set_problem(ended.error().message);
    if (!ended.ok() && clock_.now() - said >= kSayEvery) {
      log_warn("service has no job: trying again", {{"model", metadata().name}, {"message", ended.error().message}});
      said = clock_.now();
    }
    wait_for_stop(stop, kTryAgainAfter);
  }
}

Status ClusterModel::run_job(const std::stop_token& stop) {
  MG_TRY(const std::unique_ptr<cluster::Client> client, connect_());
  {
    const MutexLock lock(mutex_);
    samples_.push_front({.part = {}, .number = next_++});
  }
  return client->run(
      job_, [this](const Report& report) { take(report); }, stop,
      [this](const std::stop_token& ending) { return next_frame(ending); });
}

/// Waits for a sample; nothing: there is none any more.
std::optional<job::Frame> ClusterModel::next_frame(const std::stop_token& stop) {
  const std::stop_callback wake(stop, [this] {
    const MutexLock lock(mutex_);
    changed_.notify_all();
  });
  MutexLock lock(mutex_);
  while (!stop.stop_requested() && sent_ == samples_.size() && !is_drained_) changed_.wait_for(mutex_, kLookEvery);
  if (stop.stop_requested() || sent_ == samples_.size()) return std::nullopt;
  Sample& sample = samples_[sent_++];
  sample.sent = clock_.now();
  job::Frame frame{.name = std::to_string(sample.number), .image = std::string(sample_bytes_, '\0'), .problem = {}};
  if (sample.part.request != nullptr) {
    const Tensor& input = sample.part.request->content().inputs.front();
    std::memcpy(
        frame.image.data(),
        reinterpret_cast<const char*>(input.data()) + sample_bytes_ * static_cast<std::size_t>(sample.part.first),
        sample_bytes_);
  }
  return frame;
}

void ClusterModel::take(const Report& report) {
  if (report.kind == ReportKind::answers) take_answers(report);
  if (report.kind != ReportKind::event) return;
  log_info("service", {{"model", metadata().name}, {"event", report.json}});
  const auto event = job::parse_json<WhatHappened>(report.json);
  if (event.ok() && event->sentence) set_problem(*event->sentence);
}

/// Answers come in the order of the samples. What makes no sense is left out: its samples are sent again by the next
/// job.
void ClusterModel::take_answers(const Report& report) {
  const auto told = job::parse_json<infer::FrameAnswers>(report.json);
  if (!told.ok()) return log_warn("answers ignored", {{"message", told.error().message}});
  const auto classes = static_cast<std::size_t>(Shape(metadata().outputs.front().shape).with_batch(1).elements());
  const std::size_t row = classes * sizeof(float);
  std::size_t at = 0;
  std::int64_t count = 0;
  Seconds took = 0;
  for (const infer::FrameAnswer& answer : told->answers) {
    Answered answered;
    if (answer.predicted) {
      if (report.attachment.size() < at + row) return log_warn("answers ignored", {{"message", "scores are missing"}});
      answered.scores = report.attachment.substr(at, row);
      at += row;
    } else if (answer.missed) {
      answered.error = make_error(Code::deadline_exceeded, "the cluster did not answer within the service's deadline");
    } else {
      answered.error = make_error(Code::internal, answer.error.value_or("the cluster did not compute the sample"));
    }
    const auto number = parse_whole_number(answer.name, 0, std::numeric_limits<std::int64_t>::max());
    std::optional<Sample> sample = number.ok() ? pop(*number) : std::nullopt;
    if (!sample || sample->part.request == nullptr) continue;
    took = std::max(took, clock_.now() - sample->sent);
    ++count;
    finish(*sample, answered);
  }
  if (count > 0) intake_.count_batch(count, {.infer = took});
}

/// The sample with this number, if it was sent and has no answer; it is on its way no longer.
std::optional<ClusterModel::Sample> ClusterModel::pop(std::int64_t number) {
  const MutexLock lock(mutex_);
  is_ready_ = true;
  const auto end = samples_.begin() + static_cast<std::ptrdiff_t>(sent_);
  const auto found = std::find_if(samples_.begin(), end, [&](const Sample& one) { return one.number == number; });
  if (found == end) return std::nullopt;
  Sample sample = std::move(*found);
  samples_.erase(found);
  --sent_;
  changed_.notify_all();
  return sample;
}

void ClusterModel::finish(const Sample& sample, const Answered& answered) {
  PendingRequest& request = *sample.part.request;
  if (answered.error) return intake_.fail(request, *answered.error);
  const std::size_t row = answered.scores.size();
  for (Tensor& result : request.results())
    std::memcpy(reinterpret_cast<char*>(result.data()) + row * static_cast<std::size_t>(sample.part.first),
                answered.scores.data(), row);
  intake_.finish(sample.part, sample.sent, {.infer = clock_.now() - sample.sent});
}

/// Answers requests whose deadline passes while their samples are on their way. The samples themselves go on: the
/// cluster answers each once.
void ClusterModel::watch_deadlines(const std::stop_token& stop) {
  while (!wait_for_stop(stop, kLookEvery)) {
    std::vector<std::shared_ptr<PendingRequest>> late;
    {
      const MutexLock lock(mutex_);
      const Instant now = clock_.now();
      for (const Sample& sample : samples_)
        if (sample.part.request != nullptr && sample.part.request->content().deadline <= now)
          late.push_back(sample.part.request);
    }
    for (const auto& request : late) intake_.expire(*request);
  }
}

void ClusterModel::close(Seconds grace) {
  intake_.close();
  {
    MutexLock lock(mutex_);
    is_draining_ = true;
    changed_.notify_all();
    const Deadline deadline = clock_.after(grace);
    while (!(is_drained_ && samples_.empty()) && clock_.now() < deadline)
      changed_.wait_for(mutex_, std::min(kLookEvery, deadline - clock_.now()));
  }
  runner_.request_stop();
  watcher_.request_stop();
  for (std::jthread* thread : {&collector_, &runner_, &watcher_})
    if (thread->joinable()) thread->join();
  std::deque<Sample> left;
  {
    const MutexLock lock(mutex_);
    left.swap(samples_);
    sent_ = 0;
  }
  for (const Sample& sample : left)
    if (sample.part.request != nullptr)
      intake_.fail(*sample.part.request, make_error(Code::unavailable, "the service ends"));
}

}  // namespace mangrove::serve
