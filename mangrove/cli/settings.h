#pragma once

#include <cstdint>
#include <string>

#include "mangrove/base/keys.h"

namespace mangrove::cli {

/// Which cluster a job runs on.
struct ClusterSettings {
  std::int64_t local = 1;    // nodes of an embedded cluster on this machine
  std::string coordinator;   // HOST:PORT of a running cluster; then `local` is not used
  std::string testbed;       // a board file: the embedded cluster's nodes are emulated boards, `local` is not used
  bool no_limits = false;    // go on where the limits of boards cannot be set
  std::int64_t nodes = 0;    // of a running cluster or a testbed, for this job; 0: all
  std::int64_t threads = 1;  // of each embedded node
  void declare(Keys& keys);

  bool is_local() const { return coordinator.empty() && testbed.empty(); }
};

struct DataSettings {
  std::string data = "mnist";
  std::string data_fallback;  // used, with a notice, where `data` is neither here nor can be downloaded
  std::string data_dir;
  void declare(Keys& keys);
};

/// How a network learns; see docs/training.md.
struct RecipeSettings {
  std::string optimizer;     // "": momentum, or adam where a network is fine-tuned
  double learning_rate = 0;  // 0: the optimizer's own
  double momentum = 0.9, beta1 = 0.9, beta2 = 0.999, alpha = 0.99, epsilon = 1e-8, trust = 1e-3;
  double weight_decay = 5e-4;
  double clip_norm = 0, clip_value = 0;
  std::string schedule = "cosine";
  std::int64_t warmup_steps = 40;
  std::int64_t step_epochs = 30;
  std::string milestones;
  double gamma = 0.1;
  std::int64_t plateau_patience = 10;
  std::string loss = "softmax_cross_entropy";
  double label_smoothing = 0;
  std::string exit_weights;
  double ema_decay = 0;
  void declare(Keys& keys);
};

struct TrainSettings {
  DataSettings data;
  ClusterSettings cluster;
  std::string model = "lenet";  // of the zoo, or an ONNX file
  std::string input_shape;      // of an ONNX file, see load_model
  std::string init_from;        // in place of `model`: one that gets a new head
  std::string freeze = "none";  // "backbone", or a node's name
  std::int64_t head_epochs = 5;
  double fine_tune_rate = 1e-5;
  std::string strategy = "parameter_server";
  std::string consistency = "sync";
  std::string topology = "ring";
  std::string neighbours = "ring";
  std::string split = "iid";
  std::string balance = "equal";
  std::string codec = "none", codec_pull = "none";
  std::int64_t codec_warmup = 0;  // messages
  std::int64_t local_steps = 16;
  std::int64_t local_epochs = 0;  // in place of local_steps
  double client_fraction = 1, shared_samples = 0, outer_learning_rate = 1, outer_momentum = 0;
  std::int64_t stages = 0, replicas = 1, micro_batches = 0, ahead = 0;  // of pipelines
  std::string cut = "measured", recompute = "auto";
  std::int64_t epochs = 1;
  std::int64_t batch = 64;       // per worker
  std::int64_t micro_batch = 0;  // 0: chosen by `memory`
  Bytes memory = 0;              // of each worker's process; 0: most of what its system allows
  RecipeSettings recipe;
  double validation = 0.05;  // share of the training samples
  std::string augment;
  std::string data_from = "own";
  std::string shuffle = "all";
  Bytes sample_cache = 64'000'000;  // of each worker
  std::int64_t patience = 0;
  std::int64_t seed = 1;
  std::int64_t limit = 0;  // samples of the training split; 0: all
  std::string backend;
  Seconds checkpoint_every = 30;
  Seconds step_timeout = 30;
  std::string run_dir;
  std::string resume;  // a run folder
  Keys keys();

  /// What the run begins with.
  const std::string& network() const { return init_from.empty() ? model : init_from; }
};

struct InferSettings {
  DataSettings data;
  ClusterSettings cluster;
  std::string model;  // an ONNX file
  std::string input_shape;
  std::string strategy = "pipeline";
  std::int64_t stages = 0;  // 0: chosen
  std::string cuts;         // names, separated by commas
  std::string models;       // ONNX files of an ensemble, likewise
  std::string input;        // a folder or "-", in place of `data`
  Seconds deadline = 0;     // of each request; 0: none
  std::string activations = "float32";
  std::string tiers;  // a tier file; then the strategy is "tiers", and it says the networks and how many nodes
  std::string scheduler = "auto", policy = "hedged";
  double accuracy_floor = 0;    // of second answers; 0: none
  Seconds finish_by = 0;        // 0: when it is done
  std::string exit_thresholds;  // of a network over tiers or views; "": those in its file
  std::int64_t micro_batch = 50;
  std::int64_t window = 0;  // micro-batches in flight; 0: chosen
  std::int64_t limit = 0;   // samples of the test split; 0: all
  std::string backend;
  std::string disable_pass;  // rewriting passes to leave out, separated by commas
  bool fresh = false;        // measure the nodes, though profiles of them are kept
  Seconds answer_timeout = 10;
  std::string run_dir;
  Keys keys();
};

struct EvalSettings {
  DataSettings data;
  std::string model, input_shape;
  std::int64_t batch = 100;
  std::int64_t threads = 1;
  std::string backend;
  std::string disable_pass;
  std::string exit_thresholds;
  std::string lost_views;
  Keys keys();
};

/// The help of the key exit_thresholds.
constexpr const char* kExitThresholdsHelp =
    "of a network with early exits: a sample leaves at an exit whose normalised entropy is at most this, one number "
    "for "
    "each exit but the last, with commas between; none: at the last; default: those in the model's file";

/// What a person, not a job, chooses.
struct OutputOptions {
  bool json = false;   // exactly one JSON object on standard output
  bool quiet = false;  // no progress
};

}  // namespace mangrove::cli
