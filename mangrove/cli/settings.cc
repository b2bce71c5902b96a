#include "mangrove/cli/settings.h"

#include "mangrove/base/suggestion.h"
#include "mangrove/cli/sources/model_source.h"
#include "mangrove/cli/sources/rewriting.h"
#include "mangrove/infer/strategy.h"
#include "mangrove/infer/tiers/fault_policy.h"
#include "mangrove/infer/tiers/schedulers/scheduler.h"
#include "mangrove/learn/optimizer.h"
#include "mangrove/learn/schedule.h"
#include "mangrove/train/strategy.h"

namespace mangrove::cli {
namespace {

constexpr std::int64_t kMany = 1'000'000'000;

/// "sgd, momentum and adam": of a table.
template <class Table>
std::string names_of(const Table& table) {
  std::vector<std::string> names;
  for (const auto& row : table) names.emplace_back(row.name);
  return join_words(names);
}

}  // namespace

void ClusterSettings::declare(Keys& keys) {
  keys.add("local", local, "run on an embedded cluster: a coordinator and this many nodes on this machine", 1, 1000);
  keys.add("coordinator", coordinator, "run on the cluster of this coordinator (HOST:PORT) instead of an embedded one");
  keys.add("testbed", testbed, "run on emulated boards of this machine, described by this file (docs/testbed.md)");
  keys.add("no_limits", no_limits, "of a testbed: go on where the limits of boards cannot be set");
  keys.add("nodes", nodes, "nodes of that cluster or testbed to use; 0: all", 0, 1'000'000);
  keys.add("threads", threads, "threads of each embedded node", 1, 1024);
}

void DataSettings::declare(Keys& keys) {
  keys.add("data", data, "what to read: mnist, cifar10, folder:PATH, csv:PATH, ...; 'mangrove data list' explains all");
  keys.add("data_fallback", data_fallback, "data set to use where `data` is neither here nor can be downloaded");
  keys.add("data_dir", data_dir, "folder of the data sets; else $MANGROVE_DATA, else ~/.cache/mangrove/data");
}

void RecipeSettings::declare(Keys& keys) {
  keys.add("optimizer", optimizer,
           "of the weights: " + names_of(learn::optimizers()) + "; default: momentum, with init_from adam");
  keys.add("learning_rate", learning_rate,
           "at the top of the schedule; 0: 0.05 for each worker, at most 0.3 (adam and its like: 0.001)");
  keys.add("momentum", momentum, "of momentum, nesterov, lars", 0, 0.9999);
  keys.add("beta1", beta1, "of adam, adamw: decay of the mean gradient", 0, 0.9999);
  keys.add("beta2", beta2, "of adam, adamw: decay of the mean squared gradient", 0, 0.999999);
  keys.add("alpha", alpha, "of rmsprop: decay of the mean squared gradient", 0, 0.9999);
  keys.add("epsilon", epsilon, "of adam, adamw, rmsprop: added to the root of the mean squared gradient", 1e-30);
  keys.add("trust", trust, "of lars: share of a weight's norm that a step may change", 1e-9);
  keys.add("weight_decay", weight_decay, "weight_decay * w is added to the gradient; biases and normalisations: none");
  keys.add("clip_norm", clip_norm, "gradients are scaled down to this norm of all of them together; 0: they are not");
  keys.add("clip_value", clip_value, "elements of gradients are cut to this size; 0: they are not");
  keys.add("schedule", schedule, "of the learning rate: " + names_of(learn::schedules()));
  keys.add("warmup_steps", warmup_steps, "steps over which the learning rate rises from 0", 0, kMany);
  keys.add("step_epochs", step_epochs, "of schedule step: epochs between falls", 1, kMany);
  keys.add("milestones", milestones, "of schedule multi_step: the epochs of the falls, e.g. 82,123");
  keys.add("gamma", gamma, "of step, multi_step, reduce_on_plateau: factor of a fall", 1e-9, 1);
  keys.add("plateau_patience", plateau_patience, "of reduce_on_plateau: epochs without a lower validation loss", 0,
           kMany);
  keys.add("loss", loss,
           "what is minimised: softmax_cross_entropy, binary_cross_entropy (one against the rest) or mse");
  keys.add("label_smoothing", label_smoothing, "share of each label that is spread over all classes", 0, 0.9999);
  keys.add("exit_weights", exit_weights,
           "of a network with early exits: what the loss at each exit counts, from the first to the last, with commas "
           "between; default: 1 each");
  keys.add("ema_decay", ema_decay, "of the average of the weights that is validated and exported; 0: none", 0,
           0.999999);
}

Keys TrainSettings::keys() {
  Keys keys;
  keys.add("model", model, "a model of the zoo (`mangrove model list` shows them), or an ONNX file");
  keys.add("input_shape", input_shape, kInputShapeHelp);
  keys.add("init_from", init_from,
           "in place of model, a network that has learnt: what lies behind its last global average pooling is replaced "
           "by a new head for the classes of the data");
  keys.add("freeze", freeze,
           "of init_from, what is not trained at first: none; backbone: all but the new head; or the name of a node, "
           "with all that it needs");
  keys.add("head_epochs", head_epochs, "with freeze: how many of the epochs are so; in the rest, everything is trained",
           1, kMany);
  keys.add("fine_tune_rate", fine_tune_rate, "with freeze: learning rate once all is trained", 1e-12);
  data.declare(keys);
  cluster.declare(keys);
  keys.add("strategy", strategy, "how the nodes train together: " + names_of(train::strategies()));
  keys.add("consistency", consistency,
           "of parameter_server, federated: sync; async; stale(S): async, but nobody is over S updates ahead; "
           "k_of_n(K): each step "
           "waits for the first K");
  keys.add("topology", topology,
           "of all_reduce: ring; tree; two_level(G): trees in groups of G, a ring of their heads; servers(S): S of the "
           "nodes each add up a part");
  keys.add(
      "neighbours", neighbours,
      "of gossip, who averages with whom: ring; random: pairs drawn for every round; graph(0-1,1-2,...): as given");
  keys.add(
      "split", split,
      "which samples are whose: iid: dealt out anew every epoch; shards: of data in shards, whole ones; of "
      "federated, gossip besides: dirichlet(A): uneven classes, the more the lower A; by_label(K): K classes each; "
      "by_size(A,B,...): in these proportions");
  keys.add("balance", balance,
           "of strategies whose workers wait for each other: equal: each gets as many samples; speed: in proportion to "
           "its measured speed, so that all are done at once");
  keys.add(
      "codec", codec,
      "what workers send is encoded so, e.g. fp16, int8, top_k(0.01), two_step(0.001): updates, sums of all_reduce, "
      "values of gossip; none: as it is; auto: each worker measures its link to the server and chooses (docs/codecs.md "
      "lists all)");
  keys.add("codec_pull", codec_pull,
           "of parameter_server, federated: the same of the values that come from the server; e.g. fp16, two_step");
  keys.add("codec_warmup", codec_warmup,
           "of parameter_server, federated: messages of each worker over which a codec with a fraction comes down to "
           "it from all elements",
           0, kMany);
  keys.add("local_steps", local_steps,
           "of federated, gossip: steps that a worker makes by itself between two averages; of gpipe, one_f_one_b, "
           "pipedream: steps between two versions that the leader has of all stages",
           1, 1'000'000);
  keys.add(
      "stages", stages,
      "of gpipe, one_f_one_b, pipedream: stages of the network; 0: as many as are worth it, of one node each or as "
      "replicas says",
      0, 10'000);
  keys.add(
      "replicas", replicas,
      "of gpipe, one_f_one_b: most nodes of one stage, which share its micro-batches; 0: any number; 1: a stage is "
      "one node",
      0, 10'000);
  keys.add("micro_batches", micro_batches,
           "of gpipe, one_f_one_b: parts of a batch that follow each other through the stages; 0: four for each stage",
           0, 1'000'000);
  keys.add(
      "ahead", ahead,
      "of one_f_one_b, pipedream: micro-batches that a stage takes in beyond the fewest, for each stage behind it, so "
      "that it computes while messages are on their way; they take memory, and make updates of pipedream later",
      0, 100);
  keys.add("cut", cut,
           "of gpipe, one_f_one_b, pipedream, where the network is cut: measured: into stages of about equal time; "
           "flops: of about equal work, the same on every run; behind(NODE,NODE,...)");
  keys.add(
      "recompute", recompute,
      "of gpipe, one_f_one_b, pipedream: whether a stage keeps only its inputs of the micro-batches under way, and "
      "runs its forward pass again: auto: where it has not the memory otherwise; always; never");
  keys.add(
      "local_epochs", local_epochs,
      "of federated, in place of local_steps: times that a worker goes through its part of the samples between two "
      "averages; 1: they meet at the end of each epoch; as many as epochs: only at the very end; 0: local_steps",
      0, kMany);
  keys.add("client_fraction", client_fraction, "of federated: share of the workers that take part in a round", 1e-6, 1);
  keys.add("shared_samples", shared_samples,
           "of federated with a split that gives samples owners: share of all samples that every worker learns from "
           "besides its own",
           0, 0.5);
  keys.add("outer_learning_rate", outer_learning_rate, "of federated: of the step along the mean change of the workers",
           1e-6);
  keys.add("outer_momentum", outer_momentum, "of federated: Nesterov momentum of that step", 0, 0.9999);
  keys.add("epochs", epochs, "passes over the training data", 1, kMany);
  keys.add("batch", batch, "samples per worker and step", 1, 1'000'000);
  keys.add("micro_batch", micro_batch,
           "samples that go through the network at once; 0: as many of the batch as the memory allows", 0, 1'000'000);
  keys.add_bytes(
      "memory", memory,
      "memory that a worker's process may take (256MB): micro-batch and recomputation are chosen for it; 0: what "
      "its system allows");
  recipe.declare(keys);
  keys.add("validation", validation,
           "share of the training samples (or, from 1 on, number) kept for validation after each epoch; 0: none", 0,
           1e9);
  keys.add("augment", augment, "recipe for the training samples, e.g. cifar, or pad-crop:4,flip,normalise");
  keys.add("data_from", data_from,
           "where nodes get the samples: own: each has them in its data folder; cluster: of data in shards, what a "
           "node does not have comes from the coordinator and from other nodes while it trains, and is kept");
  keys.add("shuffle", shuffle,
           "order of the samples of an epoch: all: any; window(N): of data in shards (mangrove data pack), shards in "
           "random order, mixed within so many samples, so that files are read in sequence");
  keys.add_bytes("sample_cache", sample_cache,
                 "memory of each worker for samples that it has decoded (of JPEG or PNG files, clips, compressed "
                 "shards), at most an eighth of its `memory`; 0: none");
  keys.add("patience", patience, "stop after so many epochs without a better validation; 0: never", 0, kMany);
  keys.add("seed", seed, "of the initial weights, of the order of the samples and of dropout", 0,
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
  keys.add("input_shape", input_shape, kInputShapeHelp);
  data.declare(keys);
  cluster.declare(keys);
  keys.add("strategy", strategy, "how the nodes classify: " + names_of(infer::strategies()));
  keys.add("models", models, "of ensemble and averaging, in place of `model`: ONNX files with commas between");
  keys.add(
      "input", input,
      "in place of `data`: a folder of images, or - for standard input: Motion-JPEG, or the path of an image a line");
  keys.add_seconds("deadline", deadline, "an image that is answered later counts as missed; 0: none does");
  keys.add("stages", stages,
           "parts that the network is cut into, one a node; 0: as many as are worth it, on as many nodes", 0, 10'000);
  keys.add("cuts", cuts,
           "cut here and not where the plan would: the operators that begin the 2nd, 3rd ... stage, with "
           "commas between");
  keys.add("activations", activations, "what travels between stages is encoded as: float32, fp16 or int8");
  keys.add("tiers", tiers,
           "a tier file: a network for each of end devices, edge servers and cloud, in place of `model`");
  keys.add("scheduler", scheduler, "of tiers, which of them answer what: " + names_of(infer::schedulers()));
  keys.add("policy", policy, "of tiers, what is done about devices that die: " + names_of(infer::fault_policies()));
  keys.add("accuracy_floor", accuracy_floor, "of auto: least mean accuracy of second answers; 0: none", 0, 1);
  keys.add_seconds("finish_by", finish_by,
                   "of auto: second answers as accurate as can be by then; 0: as soon as can be");
  keys.add("exit_thresholds", exit_thresholds,
           "of views, and of tiers with one network with early exits: one number from 0 to 1 for each exit but the "
           "last, with commas between; of views also none; default: those in its file");
  keys.add("micro_batch", micro_batch, "images that travel together", 1, 1'000'000);
  keys.add("window", window, "micro-batches in flight; 0: as many as the plan needs, and some more", 0, 1'000'000);
  keys.add("limit", limit, "classify the first so many images only; 0: all", 0, kMany);
  keys.add("backend", backend, "kernels: onednn or portable; default: the fastest each node has");
  keys.add("disable_pass", disable_pass, disable_pass_help());
  keys.add("fresh", fresh,
           "measure the nodes, though they have profiles of this network in `profiles` of their data folder");
  keys.add_seconds("answer_timeout", answer_timeout,
                   "a micro-batch unanswered for longer is sent again; of views: a node silent for longer is lost");
  keys.add("run_dir", run_dir, "folder for summary.json and metrics.jsonl; default: runs/infer-TIME");
  return keys;
}

Keys EvalSettings::keys() {
  Keys keys;
  keys.add("model", model, "an ONNX file");
  keys.add("input_shape", input_shape, kInputShapeHelp);
  data.declare(keys);
  keys.add("batch", batch, "images per forward pass", 1, 1'000'000);
  keys.add("threads", threads, "threads for the kernels", 1, 1024);
  keys.add("backend", backend, "kernels: onednn or portable; default: the fastest of this build");
  keys.add("disable_pass", disable_pass, disable_pass_help());
  keys.add("exit_thresholds", exit_thresholds, kExitThresholdsHelp);
  keys.add("lost_views", lost_views,
           "of a network over several devices (ddnn-...): those that are lost, from 1 on, with commas between");
  return keys;
}

}  // namespace mangrove::cli
