#include "mangrove/cli/settings.h"

#include "mangrove/cli/flag_ranges.h"
#include "mangrove/cli/sources/model_source.h"
#include "mangrove/cli/sources/rewriting.h"
#include "mangrove/cluster/admission.h"
#include "mangrove/engine/known_backends.h"
#include "mangrove/infer/keys.h"
#include "mangrove/infer/strategy_row.h"
#include "mangrove/train/keys.h"

namespace mangrove::cli {
namespace {

/// The names of the strategies for networks with early exits.
std::vector<std::string> strategies_with_exits() {
  std::vector<std::string> names = infer::strategies_with(infer::Networks::with_views);
  for (std::string& name : infer::strategies_with(infer::Networks::of_tiers)) names.push_back(std::move(name));
  return names;
}

}  // namespace

void ClusterSettings::declare(Keys& keys) {
  keys.begin_group("Cluster");
  keys.add("local", local, "run on an embedded cluster: a coordinator and N nodes on this machine", 1, 1000);
  keys.add("coordinator", coordinator, "run on the cluster of this coordinator (HOST:PORT), not an embedded one");
  keys.add("identity", identity, kIdentityHelp);
  keys.at("identity").page = "security.md";
  keys.add("insecure", insecure, "use no certificates: plain text, to a coordinator or within local and testbed");
  keys.add("testbed", testbed, "run on emulated boards of this machine, which this file describes");
  keys.at("testbed").page = "testbed.md";
  keys.add("no_limits", no_limits, "testbed: continue even if the limits of the boards cannot be set");
  keys.add("threads", threads, "threads of each embedded node", kThreads);
  declare_share(keys);
}

void ClusterSettings::declare_share(Keys& keys) {
  keys.add("nodes", nodes, "nodes of the cluster or testbed to use; 0: all", 0, cluster::kMostNodes);
  keys.add("priority", priority, "with --coordinator: of the jobs that wait for nodes, the highest begins first", -100,
           100);
  keys.add("share", share, "part of each node's threads and memory that the job takes; others may take the rest", 0.01,
           1);
  keys.add("node_labels", node_labels, "use only nodes that have all these labels, e.g. kind=pi4,zone=greenhouse");
  for (const char* key : {"priority", "share", "node_labels"}) keys.at(key).page = "several-jobs.md";
}

void ClusterSettings::set_share(cluster::JobSpec& job) const {
  job.set_priority(static_cast<std::int32_t>(priority));
  job.set_share(share);
  const std::vector<std::string> labels = parse_names(node_labels);
  job.mutable_labels()->Add(labels.begin(), labels.end());
}

void DataSettings::declare(Keys& keys) {
  keys.begin_group("Data");
  keys.add("data", data, "data set: mnist, cifar10, folder:PATH, csv:PATH, ...; `mangrove data list` explains all");
  keys.at("data").page = "data.md";
  keys.add("data_fallback", data_fallback, "data set to use if --data is neither here nor can be downloaded");
  keys.add("data_dir", data_dir, "folder of the data sets; default: $MANGROVE_DATA, or else ~/.cache/mangrove/data");
}

Keys TrainSettings::keys() {
  Keys keys;
  keys.begin_group("Model");
  keys.add("model", model, "a network of the zoo (`mangrove model list` shows them) or an ONNX file");
  keys.at("model").page = "models.md";
  keys.add("input_shape", input_shape, kInputShapeHelp);
  keys.at("input_shape").page = "onnx.md";
  keys.add("init_from", init_from,
           "start from this trained network instead of --model; its layers after the last global average pooling are "
           "replaced by a new head for the classes of the data");
  keys.add("freeze", freeze,
           "layers to freeze at first: none, backbone (all but the new head), or NODE and everything before it");
  keys.add("head_epochs", head_epochs,
           "with --freeze: epochs that train only the unfrozen part; the remaining epochs fine-tune everything",
           epoch_range());
  keys.add("fine_tune_rate", fine_tune_rate, "with --freeze: learning rate while everything is fine-tuned", 1e-12, 1e9);
  for (const char* key : {"init_from", "freeze", "head_epochs", "fine_tune_rate"})
    keys.at(key).page = "transfer-learning.md";
  data.declare(keys);
  keys.add("validation", validation,
           "training samples that are kept for validation after each epoch: a share below 1, or a number; 0: none", 0,
           1e9);
  cluster.declare(keys);
  train::add_keys(job, keys);
  keys.begin_group("Output");
  keys.add("run_dir", run_dir, "folder for the results; default: runs/train-TIME");
  keys.add("resume", resume, "continue the run in this folder from its last checkpoint, with its settings");
  return keys;
}

std::string strategy_of_tier_file() {
  return infer::strategies_with(infer::Networks::of_tiers).front();
}

Keys InferSettings::keys() {
  Keys keys;
  keys.begin_group("Model");
  keys.add("model", model, "an ONNX file");
  keys.at("model").page = "onnx.md";
  keys.add("input_shape", input_shape, kInputShapeHelp);
  keys.at("input_shape").page = "onnx.md";
  keys.add("disable_pass", disable_pass, disable_pass_help());
  keys.at("disable_pass").page = "onnx.md";
  data.declare(keys);
  keys.add("input", input,
           "classify these instead of --data: a folder of images, or - for standard input (Motion-JPEG, or the path of "
           "an image on each line)");
  keys.at("input").page = "inference.md#images-and-frames";
  keys.at("input").strategies = infer::strategies_with(&infer::Strategy::takes_requests);
  cluster.declare(keys);
  infer::add_keys(job, keys);
  keys.begin_group("Strategy");
  keys.add("models", models, "the networks, instead of --model: ONNX files with commas between");
  keys.at("models").page = "inference.md";
  keys.at("models").strategies = infer::strategies_with(infer::Networks::members);
  keys.add(
      "tiers", tiers,
      "a tier file instead of --model: networks for end devices, edge servers and the cloud; selects this strategy");
  Key& strategy = keys.at("strategy");
  strategy.get = [this, get = strategy.get] {
    return tiers.empty() || job.has_strategy() ? get() : strategy_of_tier_file();
  };
  keys.at("tiers").page = "tiers.md";
  keys.at("tiers").strategies = infer::strategies_with(infer::Networks::of_tiers);
  keys.add("exit_thresholds", exit_thresholds,
           "networks with early exits: highest normalised entropy at which a sample leaves, one number from 0 to 1 for "
           "each exit but the last; with views also none; default: the thresholds in the model's file");
  keys.at("exit_thresholds").page = "early-exits.md";
  keys.at("exit_thresholds").strategies = strategies_with_exits();
  keys.begin_group("Output");
  keys.add("run_dir", run_dir, "folder for the results; default: runs/infer-TIME");
  return keys;
}

Keys EvalSettings::keys() {
  Keys keys;
  keys.begin_group("Model");
  keys.add("model", model, "an ONNX file");
  keys.at("model").page = "onnx.md";
  keys.add("input_shape", input_shape, kInputShapeHelp);
  keys.at("input_shape").page = "onnx.md";
  keys.add("disable_pass", disable_pass, disable_pass_help());
  keys.at("disable_pass").page = "onnx.md";
  keys.add("exit_thresholds", exit_thresholds, kExitThresholdsHelp);
  keys.add("lost_views", lost_views, "networks over several devices (ddnn-...): devices that are lost, e.g. 1,4");
  for (const char* key : {"exit_thresholds", "lost_views"}) keys.at(key).page = "early-exits.md";
  data.declare(keys);
  keys.begin_group("This process");
  keys.add("batch", batch, "images in one forward pass", batch_range());
  keys.add("threads", threads, "threads for the kernels", kThreads);
  keys.add("backend", backend, backend_help());
  return keys;
}

}  // namespace mangrove::cli
