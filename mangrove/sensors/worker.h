#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "mangrove/base/clock.h"
#include "mangrove/base/mutex.h"
#include "mangrove/sensors/counts.h"
#include "mangrove/sensors/delivery.h"
#include "mangrove/sensors/inbox.h"
#include "mangrove/sensors/message_queue.h"
#include "mangrove/sensors/question.h"
#include "mangrove/sensors/series_table.h"
#include "mangrove/sensors/source_options.h"
#include "mangrove/serve/protocol/image_classifier.h"
#include "mangrove/serve/protocol/models.h"

namespace mangrove::sensors {

/// One source as the worker knows it.
struct Source {
  explicit Source(SourceOptions given) : options(std::move(given)), queue(options.queue) {}

  const SourceOptions options;
  MessageQueue queue;
  TopicTemplate series, id, answers, undecided;
  std::size_t row = 0;       // of its windows
  std::size_t first = 0;     // the source whose templates its windows use: the first of its group
  SeriesTable::Group group;  // of its windows
};

/// The way of a message: read, put into a window, asked, answered, sent. threads: run() has one; counts() any.
class Worker {
 public:
  struct Options {
    std::string model;
    data::DataFolder data_folder;
  };
  /// models, inbox, sources: must outlive it.
  Worker(serve::Models& models, std::shared_ptr<Inbox> inbox, std::vector<std::unique_ptr<Source>>& sources,
         Delivery delivery, Options options);

  Delivery& delivery() { return delivery_; }  // before run()
  /// Works until the inbox is stopped, and what is on its way is done or the grace is over.
  void run();
  SensorCounts counts() const;
  /// Adds to a counter of a source, e.g. of messages that its link or its queue has dropped.
  void count(std::size_t source, std::uint64_t SourceCounts::*counter, std::uint64_t by = 1);

 private:
  using Pending = std::shared_ptr<Question>;
  bool take_messages();
  void read(std::size_t source, Message message);
  Status read_checked(std::size_t source, Message& message);
  Status make_questions(std::size_t source, Message& message, TopicFacts facts, const Reading& reading);
  void ask(const Pending& question);
  void ask_waiting();
  void finish(std::vector<Answered> answered);
  void finish_one(Answered& answered);
  void fail(Question& question, const Error& error);
  void invalid(std::size_t source, Message& message, const Error& error);
  Status send(const Source& templates, const Question& question, const Verdict& verdict);
  void store_round();
  void give_up();
  void deliver(const std::vector<Receipt>& receipts);
  bool is_idle() const;
  bool has_room() const;

  const SteadyClock clock_;
  serve::Models& models_;
  const std::shared_ptr<Inbox> inbox_;
  std::vector<std::unique_ptr<Source>>& sources_;
  const Options options_;
  serve::ImageClassifier images_;
  Delivery delivery_;
  SeriesTable series_;
  std::int64_t in_flight_ = 0;     // questions that a model has
  std::deque<Pending> waiting_;    // questions that are asked next
  Bytes held_ = 0;                 // of samples that a model has, or that are asked next
  Instant ask_again_{-1e9};        // after a model could take no more
  std::set<std::string> ids_;      // of `once`, that are on their way or not stored yet
  std::vector<Letter> letters_;    // of this round
  std::vector<std::string> seen_;  // of this round
  std::size_t next_source_ = 0;
  std::vector<Instant> told_;  // by source: when something wrong was logged
  mutable Mutex mutex_;
  SensorCounts counts_ MG_GUARDED_BY(mutex_);
};

}  // namespace mangrove::sensors
