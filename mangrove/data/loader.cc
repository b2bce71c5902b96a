#include "mangrove/data/loader.h"

#include <deque>
#include <stop_token>
#include <thread>

#include "mangrove/base/clock.h"
#include "mangrove/base/mutex.h"

namespace mangrove::data {
namespace {

using Indices = std::vector<std::uint32_t>;

Shape batch_shape(std::int64_t rows, const Shape& sample) {
  std::vector<std::int64_t> dims = {rows};
  dims.insert(dims.end(), sample.begin(), sample.end());
  return Shape(std::move(dims));
}

Status check_request(const Indices& indices, const Dataset& dataset, std::int64_t rows) {
  if (static_cast<std::int64_t>(indices.size()) > rows)
    return make_error(Code::invalid_argument,
                      std::to_string(indices.size()) + " samples asked for in one batch of " + std::to_string(rows));
  for (const std::uint32_t index : indices)
    if (index >= dataset.size())
      return make_error(Code::out_of_range, "sample " + std::to_string(index) + " asked for of a data set of " +
                                                std::to_string(dataset.size()));
  return {};
}

Result<Batch> read_batch(const Dataset& dataset, const Indices& indices, std::int64_t rows) {
  MG_RETURN_IF_ERROR(check_request(indices, dataset, rows));
  Batch batch;
  batch.images = Tensor(DType::f32, batch_shape(rows, dataset.sample_shape()));
  batch.labels.assign(static_cast<std::size_t>(rows), kPadding);
  batch.count = static_cast<std::int64_t>(indices.size());
  const auto stride = static_cast<std::size_t>(dataset.sample_shape().elements());
  const std::span<float> images = batch.images.as<float>();
  for (std::size_t row = 0; row < indices.size(); ++row) {
    MG_RETURN_IF_ERROR(dataset.read(indices[row], images.subspan(row * stride, stride)));
    batch.labels[row] = dataset.label(indices[row]);
  }
  return batch;
}

}  // namespace

struct Loader::Impl {
  Impl(std::shared_ptr<const Dataset> data, LoaderOptions opts)
      : dataset(std::move(data)), options(opts), thread([this](std::stop_token stop) { prepare(stop); }) {}

  /// The thread: turns requests into ready batches until `stop`.
  void prepare(const std::stop_token& stop) {
    const std::stop_callback wake(stop, [this] {
      MutexLock lock(mutex);
      work.notify_all();
    });
    Indices indices;
    while (take_request(stop, indices)) {
      Result<Batch> batch = read_batch(*dataset, indices, options.batch);
      MutexLock lock(mutex);
      ready.push_back(std::move(batch));
      arrived.notify_all();
    }
  }

  /// Waits for a request and for room for its batch. False: stop.
  bool take_request(const std::stop_token& stop, Indices& indices) {
    MutexLock lock(mutex);
    while (!stop.stop_requested()) {
      if (!requests.empty() && ready.size() < static_cast<std::size_t>(options.batches_ahead)) {
        indices = std::move(requests.front());
        requests.pop_front();
        return true;
      }
      work.wait_for(mutex, kIdleWait);
    }
    return false;
  }

  static constexpr Seconds kIdleWait = 60;  // it is woken for work; this only bounds the wait

  const std::shared_ptr<const Dataset> dataset;
  const LoaderOptions options;
  Mutex mutex;
  Condition work;     // a request came, there is room again, or stop
  Condition arrived;  // a batch is ready
  std::deque<Indices> requests MG_GUARDED_BY(mutex);
  std::deque<Result<Batch>> ready MG_GUARDED_BY(mutex);
  std::int64_t outstanding MG_GUARDED_BY(mutex) = 0;  // requested and not yet taken
  std::jthread thread;                                // last: stopped and joined before the rest goes
};

Loader::Loader(std::shared_ptr<const Dataset> dataset, LoaderOptions options) {
  MG_CHECK(dataset != nullptr && options.batch > 0 && options.batches_ahead > 0);
  impl_ = std::make_unique<Impl>(std::move(dataset), options);
}

Loader::~Loader() = default;

void Loader::request(std::vector<std::uint32_t> indices) {
  MutexLock lock(impl_->mutex);
  impl_->requests.push_back(std::move(indices));
  ++impl_->outstanding;
  impl_->work.notify_one();
}

Result<Batch> Loader::next(Seconds timeout) {
  const SteadyClock clock;
  const Deadline deadline = clock.after(timeout);
  MutexLock lock(impl_->mutex);
  if (impl_->outstanding == 0) return make_error(Code::failed_precondition, "no batch was requested");
  while (impl_->ready.empty()) {
    const Seconds left = deadline - clock.now();
    if (left <= 0) return make_error(Code::deadline_exceeded, "no batch was ready within " + format_seconds(timeout));
    impl_->arrived.wait_for(impl_->mutex, left);
  }
  Result<Batch> batch = std::move(impl_->ready.front());
  impl_->ready.pop_front();
  --impl_->outstanding;
  impl_->work.notify_one();
  return batch;
}

}  // namespace mangrove::data
