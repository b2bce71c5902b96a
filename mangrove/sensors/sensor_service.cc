#include "mangrove/sensors/sensor_service.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "mangrove/base/mutex.h"
#include "mangrove/base/user_folders.h"
#include "mangrove/identity/secret_file.h"
#include "mangrove/sensors/link_kinds.h"
#include "mangrove/sensors/worker.h"

namespace mangrove::sensors {

struct SensorService::Parts {
  std::shared_ptr<Inbox> inbox = std::make_shared<Inbox>();
  std::vector<std::unique_ptr<Source>> sources;
  std::unique_ptr<Worker> worker;
  Mutex mutex;
  std::vector<std::unique_ptr<Link>> links MG_GUARDED_BY(mutex);  // parallel to sources; they call the worker
  std::vector<std::uint64_t> reconnects MG_GUARDED_BY(mutex);     // of links that have been closed
  std::jthread thread;

  void close_links();
};

void SensorService::Parts::close_links() {
  std::vector<std::unique_ptr<Link>> closed;
  {
    const MutexLock lock(mutex);
    for (const auto& link : links) reconnects.push_back(link->reconnects());
    closed.swap(links);
  }
}

namespace {

Seconds machine_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// errors: invalid_argument: a template.
Result<std::unique_ptr<Source>> make_source(const SourceOptions& options) {
  auto source = std::make_unique<Source>(options);
  MG_TRY(source->series, TopicTemplate::parse(options.series));
  MG_TRY(source->answers, TopicTemplate::parse(options.answers));
  MG_TRY(source->undecided, TopicTemplate::parse(options.undecided));
  if (!options.payload.id.starts_with('/')) {
    MG_TRY(source->id, TopicTemplate::parse(options.payload.id));
  }
  return source;
}

/// Which rows the sources have in their windows.
void join_sources(std::vector<std::unique_ptr<Source>>& sources) {
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const auto is_same = [&](std::size_t j) {
      return i == j || (!sources[i]->options.join.empty() && sources[i]->options.join == sources[j]->options.join);
    };
    std::size_t rows = 0, first = sources.size();
    for (std::size_t j = 0; j < sources.size(); ++j) {
      if (!is_same(j)) continue;
      first = std::min(first, j);
      if (j == i) sources[i]->row = rows;
      ++rows;
    }
    sources[i]->first = first;
    sources[i]->group = {.number = first, .options = sources[i]->options.window, .rows = rows};
  }
}

/// errors: those of the folder and the database.
Result<std::unique_ptr<DiskOutbox>> open_disk(const SourcesFile& file) {
  if (file.offline_buffer == 0) return std::unique_ptr<DiskOutbox>();
  const fs::path folder = file.state_folder.empty() ? state_folder() / "sensors" : fs::path(file.state_folder);
  MG_RETURN_IF_ERROR(identity::make_secret_folder(folder));
  return DiskOutbox::open(folder / "outbox.sqlite", {.bytes = file.offline_buffer, .ids = file.seen_ids})
      .context("offline buffer");
}

/// A model that is ready is compared with the windows of the sources that ask it.
Status check_models(const serve::Models& models, const std::vector<std::unique_ptr<Source>>& sources,
                    const std::string& served) {
  for (const auto& source : sources) {
    const std::string& name = source->options.model.empty() ? served : source->options.model;
    const std::string where = "section '" + source->options.name + "'";
    if (name.empty()) return make_error(Code::invalid_argument, where + ": key 'model': which of the models is asked?");
    const auto model = models.find(name, "");
    if (!model.ok() && model.code() == Code::not_found) return Status(model.error()).context(where);
    if (model.ok())
      MG_RETURN_IF_ERROR(check_fit(source->options, source->group.rows, (*model)->metadata()).context(where));
  }
  return {};
}

/// What a link does with a message. The worker and the queue must outlive the link.
std::function<void(Message)> receiver(Worker& worker, MessageQueue& queue, const std::shared_ptr<Inbox>& inbox,
                                      std::size_t source, Bytes longest) {
  return [&worker, &queue, inbox, source, longest](Message message) {
    worker.count(source, &SourceCounts::received);
    if (message.reply && inbox->is_stopping()) {  // without one, the sender thinks that its message is in good hands
      worker.count(source, &SourceCounts::dropped);
      message.reply(make_error(Code::unavailable, "the server is being stopped"));
      return;
    }
    if (static_cast<Bytes>(message.payload.size()) > longest) {
      worker.count(source, &SourceCounts::invalid);
      if (message.reply) message.reply(make_error(Code::out_of_range, "it is longer than max_message"));
      return;
    }
    if (const std::uint64_t dropped = queue.push(std::move(message)); dropped > 0)
      worker.count(source, &SourceCounts::dropped, dropped);
    inbox->wake();
  };
}

}  // namespace

SensorService::SensorService(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

SensorService::~SensorService() {
  stop(0);
}

Result<std::unique_ptr<SensorService>> SensorService::start(serve::Models& models, const SensorOptions& options) {
  auto parts = std::make_unique<Parts>();
  for (const SourceOptions& one : options.file.sources) {
    MG_TRY(std::unique_ptr<Source> source, make_source(one));
    parts->sources.push_back(std::move(source));
  }
  join_sources(parts->sources);
  MG_RETURN_IF_ERROR(check_models(models, parts->sources, options.model));
  MG_TRY(std::unique_ptr<DiskOutbox> disk, open_disk(options.file));
  const std::string origin = disk ? disk->origin() : new_origin();
  parts->worker =
      std::make_unique<Worker>(models, parts->inbox, parts->sources, Delivery(std::move(disk), options.file.unsent),
                               Worker::Options{.model = options.model, .data_folder = options.data_folder});
  const auto wall_clock = options.wall_clock ? options.wall_clock : std::function<Seconds()>(&machine_time);
  for (std::size_t i = 0; i < parts->sources.size(); ++i) {
    const SourceOptions& source = parts->sources[i]->options;
    MG_TRY(const LinkKind* const kind, find_link_kind(source.kind));
    LinkEvents events{
        .came = receiver(*parts->worker, parts->sources[i]->queue, parts->inbox, i, source.max_message),
        .receipt = [inbox = parts->inbox](const Receipt& receipt) { inbox->add(receipt); },
        .repeated = [worker = parts->worker.get(), i] { worker->count(i, &SourceCounts::repetitions); },
        .unsubscribed = [worker = parts->worker.get(), i] { worker->count(i, &SourceCounts::unsubscribed); },
        .changed = [inbox = parts->inbox] { inbox->wake(); },
        .wall_clock = wall_clock};
    MG_TRY(auto link, kind->start(source, fmt::format("mangrove-{}-{}", origin, source.name), std::move(events))
                          .context("section '" + source.name + "'"));
    if (kind->is_sink) parts->worker->delivery().add_sink(source.name, link.get());
    const MutexLock lock(parts->mutex);
    parts->links.push_back(std::move(link));
  }
  parts->thread = std::jthread([worker = parts->worker.get()] { worker->run(); });
  return std::unique_ptr<SensorService>(new SensorService(std::move(parts)));
}

SensorCounts SensorService::counts() const {
  SensorCounts counts = parts_->worker->counts();
  const MutexLock lock(parts_->mutex);
  for (std::size_t i = 0; i < counts.sources.size(); ++i)
    counts.sources[i].reconnects = parts_->links.empty() ? parts_->reconnects.at(i) : parts_->links[i]->reconnects();
  return counts;
}

void SensorService::stop(Seconds grace) {
  parts_->inbox->stop(SteadyClock().after(grace));
  if (parts_->thread.joinable()) parts_->thread.join();
  parts_->close_links();
}

}  // namespace mangrove::sensors
