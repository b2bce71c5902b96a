#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mangrove/job/event.h"
#include "mangrove/train/advice.h"

namespace mangrove::train {

// The events of training, which are told to people (see job/event.h).

/// The samples of a lost or silent worker go to the others.
struct WorkReassigned {
  static constexpr const char* kEvent = "work_reassigned";
  static constexpr bool kIsWarning = true;
  std::string node, reason;
  std::size_t samples = 0;
  std::int64_t step = 0;

  std::string sentence() const;
  static void fields(auto& self, auto& field) {
    field("node", self.node);
    field("reason", self.reason);
    field("samples", self.samples);
    field("step", self.step);
  }
};

/// node: the name of a worker, or the names of several that are left out for the same reason.
struct WorkerLeftOut {
  static constexpr const char* kEvent = "worker_left_out";
  static constexpr bool kIsWarning = true;
  std::string node, reason;

  std::string sentence() const;
  static void fields(auto& self, auto& field) {
    field("node", self.node);
    field("reason", self.reason);
  }
};

struct WorkerBack {
  static constexpr const char* kEvent = "worker_back";
  static constexpr bool kIsWarning = false;
  std::string node;

  std::string sentence() const;
  static void fields(auto& self, auto& field) { field("node", self.node); }
};

/// How a worker trains within its memory.
struct MemoryPlanned {
  static constexpr const char* kEvent = "memory_plan";
  static constexpr bool kIsWarning = false;
  std::string node;
  std::int64_t micro_batch = 0, micro_batches = 0;
  double recomputed_share = 0;
  Bytes predicted_peak = 0;  // the most memory of the process
  Bytes unlimited = 0;       // memory of a program for the whole batch at once
  bool operator==(const MemoryPlanned&) const = default;

  std::string sentence() const;
  static void fields(auto& self, auto& field) {
    field("node", self.node);
    field("micro_batch", self.micro_batch);
    field("micro_batches", self.micro_batches);
    field("recomputed_share", self.recomputed_share);
    field("predicted_peak", self.predicted_peak);
    field("unlimited", self.unlimited);
  }
};

/// From now on the samples of a step or round are shared out by the workers' speed.
struct Balanced {
  static constexpr const char* kEvent = "balanced";
  static constexpr bool kIsWarning = false;
  struct Share {
    std::string node;
    std::size_t samples = 0;
    static void fields(auto& self, auto& field) {
      field("node", self.node);
      field("samples", self.samples);
    }
  };
  std::int64_t step = 0;
  std::vector<Share> shares;

  std::string sentence() const;
  static void fields(auto& self, auto& field) {
    field("step", self.step);
    field("shares", self.shares);
  }
};

/// Groups of workers divide two layers from now on. bytes: what a worker sends in a step; data_parallel_bytes: what it
/// would send if nothing was divided.
struct LayersDivided {
  static constexpr const char* kEvent = "layers_divided";
  static constexpr bool kIsWarning = false;
  std::int64_t step = 0;
  std::vector<std::string> layers;
  std::int64_t ways = 1, groups = 1;
  Bytes bytes = 0, data_parallel_bytes = 0;

  std::string sentence() const;
  static void fields(auto& self, auto& field) {
    field("step", self.step);
    field("layers", self.layers);
    field("ways", self.ways);
    field("groups", self.groups);
    field("bytes", self.bytes);
    field("data_parallel_bytes", self.data_parallel_bytes);
  }
};

/// A worker has chosen the codec of its link.
struct CodecChosen {
  static constexpr const char* kEvent = "codec_chosen";
  static constexpr bool kIsWarning = false;
  std::string node, codec;
  Seconds exchange = 0, plain = 0;  // predicted time of an exchange, with this codec and with none
  double bytes_per_s = 0;           // rate of the link; 0: too fast to be measured
  std::string why;

  std::string sentence() const;
  static void fields(auto& self, auto& field) {
    field("node", self.node);
    field("codec", self.codec);
    field("exchange_s", self.exchange);
    field("plain_s", self.plain);
    field("bytes_per_s", self.bytes_per_s);
    field("why", self.why);
  }
};

/// A worker did not get a shard from `node`. The reason is "lost", "silent", "has it not" or "corrupt".
struct ShardRefused {
  static constexpr const char* kEvent = "shard_refused";
  static constexpr bool kIsWarning = true;
  std::string node, by, shard, reason;

  std::string sentence() const;
  static void fields(auto& self, auto& field) {
    field("node", self.node);
    field("by", self.by);
    field("shard", self.shard);
    field("reason", self.reason);
  }
};

/// A worker has all the shards that it will need. The numbers count those that have arrived since the job began.
struct DataIsThere {
  static constexpr const char* kEvent = "data_is_there";
  static constexpr bool kIsWarning = false;
  std::string node;
  std::int64_t from_coordinator = 0, from_nodes = 0;

  std::string sentence() const;
  static void fields(auto& self, auto& field) {
    field("node", self.node);
    field("shards_from_coordinator", self.from_coordinator);
    field("shards_from_nodes", self.from_nodes);
  }
};

/// One board alone would be faster.
struct AdviceGiven {
  static constexpr const char* kEvent = "advice";
  static constexpr bool kIsWarning = true;
  Advice advice;

  std::string sentence() const;
  static void fields(auto& self, auto& field) { Advice::fields(self.advice, field); }
};

/// Training stops: the best validation was `patience` epochs ago.
struct StoppedEarly {
  static constexpr const char* kEvent = "stopped_early";
  static constexpr bool kIsWarning = false;
  std::int64_t epoch = 0, best_epoch = 0;
  double best_accuracy = 0;

  std::string sentence() const;
  static void fields(auto& self, auto& field) {
    field("epoch", self.epoch);
    field("best_epoch", self.best_epoch);
    field("best_accuracy", self.best_accuracy);
  }
};

/// Workers kept their updates for a secure sum (see SecureSum), and there is none. They train on their samples again.
struct SecureSumFailed {
  static constexpr const char* kEvent = "secure_sum_failed";
  static constexpr bool kIsWarning = true;
  std::int64_t step = 0;
  std::string reason;

  std::string sentence() const;
  static void fields(auto& self, auto& field) {
    field("step", self.step);
    field("reason", self.reason);
  }
};

/// At the end of an epoch, samples were left for fewer workers than the job's rule (see Aggregation) compares, or than
/// a secure sum is made of. They made no update.
struct SamplesUnlearnt {
  static constexpr const char* kEvent = "samples_unlearnt";
  static constexpr bool kIsWarning = true;
  std::int64_t epoch = 0, samples = 0;
  std::string aggregate;

  std::string sentence() const;
  static void fields(auto& self, auto& field) {
    field("epoch", self.epoch);
    field("samples", self.samples);
    field("aggregate", self.aggregate);
  }
};

/// How a job with `privacy` is going to spend its budget.
struct PrivacyPlanned {
  static constexpr const char* kEvent = "privacy_planned";
  static constexpr bool kIsWarning = false;
  std::string protects;                    // "samples" or "workers"
  double epsilon = 0, delta = 0;           // the budget
  double clip = 0, noise = 0;              // the most that one adds, and the standard deviation of the noise by it
  double rate = 0;                         // with which each is in a step
  std::int64_t steps = 0, enough_for = 0;  // that the job has; of these, that the budget is enough for
  bool noise_is_of_seed = false;           // who knows the job's seed can take the noise away again

  std::string sentence() const;
  static void fields(auto& self, auto& field) {
    field("protects", self.protects);
    field("epsilon", self.epsilon);
    field("delta", self.delta);
    field("clip", self.clip);
    field("noise", self.noise);
    field("rate", self.rate);
    field("steps", self.steps);
    field("enough_for", self.enough_for);
    field("noise_is_of_seed", self.noise_is_of_seed);
  }
};

/// Training stops: one more step would cost more than the budget has.
struct BudgetSpent {
  static constexpr const char* kEvent = "budget_spent";
  static constexpr bool kIsWarning = true;
  double epsilon = 0, delta = 0;     // that has been spent
  std::int64_t step = 0, steps = 0;  // done; that the job has

  std::string sentence() const;
  static void fields(auto& self, auto& field) {
    field("epsilon", self.epsilon);
    field("delta", self.delta);
    field("step", self.step);
    field("steps", self.steps);
  }
};

/// A job is resumed with another number of workers, so its result will not be bit-equal to that of an uninterrupted
/// run.
struct ResumedWithOtherWorkers {
  static constexpr const char* kEvent = "resumed_with_other_workers";
  static constexpr bool kIsWarning = true;
  std::int64_t samples_per_step_before = 0, samples_per_step = 0;

  std::string sentence() const;
  static void fields(auto& self, auto& field) {
    field("samples_per_step_before", self.samples_per_step_before);
    field("samples_per_step", self.samples_per_step);
  }
};

/// The network of a pipeline is cut into other stages.
struct Recut {
  static constexpr const char* kEvent = "recut";
  static constexpr bool kIsWarning = false;
  std::size_t stages = 0;
  std::int64_t step = 0;
  std::optional<double> expected_speedup = {};  // only if speed is the reason

  std::string sentence() const;
  static void fields(auto& self, auto& field) {
    field("stages", self.stages);
    field("step", self.step);
    field("expected_speedup", self.expected_speedup);
  }
};

}  // namespace mangrove::train
