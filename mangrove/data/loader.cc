#include "mangrove/data/loader.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <set>
#include <stop_token>
#include <thread>

#include "mangrove/base/clock.h"
#include "mangrove/base/log.h"
#include "mangrove/base/mutex.h"
#include "mangrove/data/batch_rows.h"
#include "mangrove/data/cached.h"

namespace mangrove::data {
namespace {

struct Request {
  std::vector<std::uint32_t> indices;
  std::uint64_t epoch;
};

/// A batch that is being prepared. The loader's mutex guards everything but the rows of the batch and the request.
struct Slot {
  Request request;
  Batch batch;
  std::size_t next_row = 0;                 // the rows before it are done, or with a worker
  std::size_t rows_left = 0;                // not done yet
  std::set<std::size_t> with_workers = {};  // first row of each block that a worker fills
  bool opened = false;                      // memory has been taken, or the request refused
  std::optional<RowProblem> problem;

  bool has_work() const { return opened && next_row < request.indices.size(); }
  bool done() const { return opened && rows_left == 0; }
  Result<Batch> result() {
    if (problem) return std::move(problem->error);
    return std::move(batch);
  }
};

/// What a worker does next: opens a slot, or fills rows of it.
struct Work {
  std::shared_ptr<Slot> slot;
  std::size_t first = 0, last = 0;  // none: open it
};

}  // namespace

struct Loader::Impl {
  Impl(std::shared_ptr<const Dataset> data, LoaderOptions opts) : dataset(std::move(data)), options(std::move(opts)) {
    for (int i = 0; i < options.workers; ++i) workers.emplace_back([this](const std::stop_token& stop) { work(stop); });
  }
  ~Impl() {
    for (std::jthread& worker : workers)
      worker.request_stop();  // all at once: joining one after the other takes longer
  }

  /// A worker: prepares batches until `stop`.
  void work(const std::stop_token& stop) {
    const std::stop_callback wake(stop, [this] {
      MutexLock lock(mutex);
      work_came.notify_all();
    });
    while (std::optional<Work> next = take_work(stop)) next->last == 0 ? open(*next->slot) : fill(*next);
  }

  std::optional<Work> take_work(const std::stop_token& stop) {
    MutexLock lock(mutex);
    while (!stop.stop_requested()) {
      for (const auto& slot : slots) {
        if (!slot->has_work()) continue;
        const std::size_t first = slot->next_row;
        slot->next_row = std::min(first + kRowBlock, slot->request.indices.size());
        slot->with_workers.insert(first);
        return Work{slot, first, slot->next_row};
      }
      if (!requests.empty() && slots.size() < static_cast<std::size_t>(options.batches_ahead)) {
        slots.push_back(std::make_shared<Slot>());
        slots.back()->request = std::move(requests.front());
        requests.pop_front();
        return Work{slots.back()};
      }
      work_came.wait_for(mutex, kIdleWait);
    }
    return std::nullopt;
  }

  void open(Slot& slot) {
    Result<Batch> batch = empty_batch(*dataset, options, slot.request.indices);
    MutexLock lock(mutex);
    slot.opened = true;
    if (batch.ok()) {
      slot.batch = *std::move(batch);
      slot.rows_left = slot.request.indices.size();
      work_came.notify_all();
    } else {
      slot.next_row = slot.request.indices.size();
      slot.problem = RowProblem{0, batch.error()};
    }
    if (slot.done()) arrived.notify_all();
  }

  void fill(const Work& rows) {
    Slot& slot = *rows.slot;
    auto problem =
        fill_rows(*dataset, options, slot.request.indices, slot.request.epoch, rows.first, rows.last, slot.batch);
    MutexLock lock(mutex);
    if (problem && (!slot.problem || problem->row < slot.problem->row)) slot.problem = std::move(problem);
    slot.rows_left -= rows.last - rows.first;
    slot.with_workers.erase(rows.first);
    if (slot.done()) arrived.notify_all();
  }

  /// Names what the oldest batch waits for.
  void report_wait(Seconds waited) MG_REQUIRES(mutex) {
    if (slots.empty() || slots.front()->with_workers.empty()) return;
    const Slot& slot = *slots.front();
    const std::size_t first = *slot.with_workers.begin();
    const std::size_t last = std::min(first + kRowBlock, slot.request.indices.size()) - 1;
    log_warn("samples are slow to read", {{"from", dataset->name(slot.request.indices[first])},
                                          {"to", dataset->name(slot.request.indices[last])},
                                          {"waited_s", waited}});
  }

  static constexpr Seconds kIdleWait = 60;  // it is woken for work; this only bounds the wait

  const std::shared_ptr<const Dataset> dataset;
  const LoaderOptions options;
  Mutex mutex;
  Condition work_came;  // a request, rows of an opened batch, room for another batch, or stop
  Condition arrived;    // a batch is ready
  std::deque<Request> requests MG_GUARDED_BY(mutex);
  std::deque<std::shared_ptr<Slot>> slots MG_GUARDED_BY(mutex);  // in the order of the requests
  std::vector<std::jthread> workers;                             // last: joined before the rest goes
};

Loader::Loader(std::shared_ptr<const Dataset> dataset, LoaderOptions options) {
  MG_CHECK(dataset != nullptr && options.batch > 0 && options.batches_ahead > 0 && options.workers > 0);
  dataset = cached(std::move(dataset), options.cache);
  impl_ = std::make_unique<Impl>(std::move(dataset), std::move(options));
}

Loader::~Loader() = default;

void Loader::request(std::vector<std::uint32_t> indices, std::uint64_t epoch) {
  MutexLock lock(impl_->mutex);
  impl_->requests.push_back({std::move(indices), epoch});
  impl_->work_came.notify_one();
}

Result<Batch> Loader::next() {
  const SteadyClock clock;
  const Instant start = clock.now();
  const Seconds report_after = impl_->options.report_after;
  Instant last_report = start;
  MutexLock lock(impl_->mutex);
  auto& slots = impl_->slots;
  if (slots.empty() && impl_->requests.empty()) return make_error(Code::failed_precondition, "no batch was requested");
  while (slots.empty() || !slots.front()->done()) {
    impl_->arrived.wait_for(impl_->mutex, report_after);
    if (const Instant now = clock.now(); now - last_report >= report_after) {
      impl_->report_wait(now - start);
      last_report = now;
    }
  }
  const std::shared_ptr<Slot> slot = slots.front();
  slots.pop_front();
  impl_->work_came.notify_one();
  return slot->result();
}

}  // namespace mangrove::data
