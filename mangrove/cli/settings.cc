#include "mangrove/cli/settings.h"

namespace mangrove::cli {
namespace {

constexpr std::int64_t kMany = 1'000'000'000;

}  // namespace

void ClusterSettings::declare(Keys& keys) {
  keys.add("local", local, "run on an embedded cluster: a coordinator and this many nodes on this machine", 1, 1000);
  keys.add("coordinator", coordinator, "run on the cluster of this coordinator (HOST:PORT) instead of an embedded one");
  keys.add("nodes", nodes, "nodes of that cluster to use; 0: all that have joined", 0, 1'000'000);
  keys.add("threads", threads, "threads of each embedded node", 1, 1024);
}

void DataSettings::declare(Keys& keys) {
  keys.add("data", data, "data set: mnist, or glyphs (rendered by the program itself)");
  keys.add("data_fallback", data_fallback, "data set to use where `data` is neither here nor can be downloaded");
  keys.add("data_dir", data_dir, "folder of the data sets; else $MANGROVE_DATA, else ~/.cache/mangrove/data");
}

Keys TrainSettings::keys() {
  Keys keys;
  keys.add("model", model, "a model of the zoo (lenet, mlp), or an ONNX file");
  data.declare(keys);
  cluster.declare(keys);
  keys.add("strategy", strategy, "how the nodes train together: parameter_server (synchronous, data parallel)");
  keys.add("epochs", epochs, "passes over the training data", 1, kMany);
  keys.add("batch", batch, "samples per worker and step", 1, 1'000'000);
  keys.add("learning_rate", learning_rate,
           "of SGD, at the start of the schedule; 0: 0.05 for each worker, at most 0.3");
  keys.add("momentum", momentum, "of SGD", 0, 0.9999);
  keys.add("weight_decay", weight_decay, "of SGD: weight_decay * w is added to the gradient");
  keys.add("schedule", schedule, "of the learning rate: constant, or cosine (half a cosine down to 0)");
  keys.add("warmup_steps", warmup_steps, "steps over which the learning rate rises from 0", 0, kMany);
  keys.add("seed", seed, "of the initial weights and of the order of the samples", 0,
           std::numeric_limits<std::int64_t>::max());
  keys.add("limit", limit, "use the first so many samples of each split only; 0: all", 0, kMany);
  keys.add("backend", backend, "kernels: onednn or portable; default: the fastest each node has");
  keys.add_seconds("checkpoint_every", checkpoint_every, "time between checkpoints, e.g. 30s");
  keys.add_seconds("step_timeout", step_timeout, "a worker silent for longer is left out of the step");
  keys.add("run_dir", run_dir,
           "folder for model.onnx, summary.json, metrics.jsonl, checkpoint; default: runs/train-TIME");
  keys.add("resume", resume, "go on with the run in this folder, with its settings, from its last checkpoint");
  return keys;
}

Keys InferSettings::keys() {
  Keys keys;
  keys.add("model", model, "an ONNX file");
  data.declare(keys);
  cluster.declare(keys);
  keys.add("strategy", strategy, "how the nodes classify together: pipeline (one stage of the network per node)");
  keys.add("stages", stages, "parts of about equal cost that the network is cut into, one per node", 1, 10'000);
  keys.add("micro_batch", micro_batch, "images that travel together", 1, 1'000'000);
  keys.add("window", window, "micro-batches in flight; 0: chosen from the number of stages", 0, 1'000'000);
  keys.add("limit", limit, "classify the first so many images only; 0: all", 0, kMany);
  keys.add("backend", backend, "kernels: onednn or portable; default: the fastest each node has");
  keys.add_seconds("answer_timeout", answer_timeout, "a micro-batch unanswered for longer is sent again");
  keys.add("run_dir", run_dir, "folder for summary.json and metrics.jsonl; default: runs/infer-TIME");
  return keys;
}

Keys EvalSettings::keys() {
  Keys keys;
  keys.add("model", model, "an ONNX file");
  data.declare(keys);
  keys.add("batch", batch, "images per forward pass", 1, 1'000'000);
  keys.add("threads", threads, "threads for the kernels", 1, 1024);
  keys.add("backend", backend, "kernels: onednn or portable; default: the fastest of this build");
  return keys;
}

}  // namespace mangrove::cli
