#pragma once

#include <cstdint>
#include <string>

#include "mangrove/base/keys.h"
#include "mangrove/cluster/cluster.pb.h"
#include "mangrove/infer/infer.pb.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::cli {

/// Which cluster a job runs on.
struct ClusterSettings {
  std::int64_t local = 1;   // nodes of an embedded cluster on this machine
  std::string coordinator;  // HOST:PORT of a running cluster; then `local` is not used
  std::string identity;     // a PEM file to use in place of the identities that this user has; "": those
  bool insecure = false;    // plain text is accepted at any address
  std::string testbed;      // a board file: the embedded cluster's nodes are emulated boards, `local` is not used
  bool no_limits = false;   // go on where the limits of boards cannot be set
  std::int64_t nodes = 0;   // of a running cluster or a testbed, for this job; 0: all
  std::int64_t priority = 0;
  double share = 1;          // of each node
  std::string node_labels;   // with commas between
  std::int64_t threads = 1;  // of each embedded node
  void declare(Keys& keys);
  /// Declares only the keys that say which part of a running cluster a job gets.
  void declare_share(Keys& keys);
  /// Writes what these keys say into a job.
  void set_share(cluster::JobSpec& job) const;

  bool is_local() const { return coordinator.empty() && testbed.empty(); }
};

struct DataSettings {
  std::string data = "mnist";
  std::string data_fallback;  // used, with a notice, where `data` is neither here nor can be downloaded
  std::string data_dir;
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
  double validation = 0.05;  // share of the training samples
  train::TrainJob job;       // its keys; network and data come when it is made
  std::string run_dir;
  std::string resume;  // a run folder
  Keys keys();

  /// What the run begins with.
  const std::string& network() const { return init_from.empty() ? model : init_from; }
};

/// The strategy of a job with a tier file that names none.
std::string strategy_of_tier_file();

struct InferSettings {
  DataSettings data;
  ClusterSettings cluster;
  std::string model;  // an ONNX file
  std::string input_shape;
  std::string models;  // ONNX files of an ensemble, separated by commas
  std::string input;   // a folder or "-", in place of `data`
  std::string tiers;   // a tier file; then the strategy is "tiers", and it says the networks and how many nodes
  std::string exit_thresholds;  // of a network over tiers or views; "": those in its file
  std::string disable_pass;     // rewriting passes to leave out, separated by commas
  infer::InferJob job;          // its keys; networks and data come when it is made
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
    "networks with early exits: a sample leaves at an exit whose normalised entropy is at most this; one number for "
    "each "
    "exit but the last, e.g. 0.3,0.5; none: all samples go to the last exit; default: the thresholds in the model's "
    "file";

constexpr const char* kIdentityHelp =
    "PEM file with the key, certificate and authority to show; default: what `mangrove join` has left for this cluster";
constexpr const char* kInsecureHelp = "talk to a coordinator without certificates, in plain text, wherever it is";

/// What a person, not a job, chooses.
struct OutputOptions {
  bool json = false;   // exactly one JSON object on standard output
  bool quiet = false;  // no progress
};

}  // namespace mangrove::cli
