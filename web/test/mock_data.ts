// What a cluster of boards says, as measured on a real one, with times that suit small boards.
import type { ClusterNode, JobEvent, Key, Member } from "../src/types.ts";

const kBoards: [name: string, labels: string[], speed: number][] = [
  ["fern", ["tier=end", "kind=pi4"], 1],
  ["moss", ["tier=end", "kind=pi4"], 1.05],
  ["reed", ["tier=end", "kind=pi3"], 0.45],
  ["sedge", ["tier=end", "kind=pi4"], 0.98],
  ["heron", ["tier=edge"], 2.2],
  ["egret", ["tier=edge"], 2.1],
];

/** A number between -1 and 1 that only depends on its arguments, so that every run of the mock is the same. */
export function noise(...seeds: number[]): number {
  const x = Math.sin(seeds.reduce((sum, seed, index) => sum + seed * (12.9898 + 65.1 * index), 0)) * 43758.5453;
  return 2 * (x - Math.floor(x)) - 1;
}

function boards(count: number): [string, string[], number][] {
  if (count <= kBoards.length) return kBoards.slice(0, count);
  const zones = ["greenhouse", "orchard", "north field", "south field", "barn"];
  return Array.from({ length: count }, (_, i): [string, string[], number] => [
    `pi-${i + 1}`,
    [`zone=${zones[i % zones.length]}`],
    1 + 0.1 * noise(i),
  ]);
}

/** The nodes of a cluster at a second; `job` is what they train, null: nothing. */
export function nodesAt(count: number, second: number, job: string | null): ClusterNode[] {
  return boards(count).map(([name, labels, speed], i) => {
    const isBusy = job !== null;
    const wave = (seed: number) => noise(second, i, seed);
    const compute = (0.031 / speed) * (1 + 0.05 * wave(1));
    const traffic = isBusy ? 3.2e6 * speed * (1 + 0.2 * wave(2)) : 900 + 200 * wave(3);
    return {
      name,
      labels,
      state: "alive",
      cores: 4,
      roles: job === null ? [] : [{ job, role: `worker ${i + 1}` }],
      heartbeat_age_s: 0.25 + 0.2 * wave(4),
      cpu_percent: isBusy ? 92 + 6 * wave(5) : 0.4,
      core_percent: [0, 1, 2, 3].map((core) => (isBusy && core === 0 ? 95 + 4 * wave(6) : 6 + 4 * wave(7 + core))),
      memory_bytes: name === "reed" ? 1e9 : 4e9,
      rss_bytes: 88_199_168 + Math.round(2e6 * wave(8)),
      sent_per_s: traffic,
      received_per_s: traffic * 1.02,
      temperature_c: 54 + 8 * speed + 2 * wave(9),
      steps: {
        count: isBusy ? second * 20 : 0,
        load_s: 0.0002,
        compute_s: compute,
        encode_s: 0.0041 * (1 + 0.1 * wave(10)),
        wire_s: 0.0092 * (1 + 0.2 * wave(11)),
        wait_s: Math.max(0.002, 0.069 - compute) * 0.7,
      },
    };
  });
}

export const kKeys: Key[] = [
  key("model", "Model", "text", "a network of the zoo (mangrove model list shows them)", "lenet", {
    choices: ["lenet", "mlp", "mobilenet_v2", "resnet-20", "resnet-32"],
  }),
  key("data", "Data", "text", "data set: mnist, cifar10, folder:PATH, csv:PATH, ...", "mnist", {
    choices: ["cifar10", "glyphs", "leaves", "mnist"],
  }),
  key(
    "validation",
    "Data",
    "number",
    "training samples that are kept for validation: a share below 1, or a number",
    "0.05",
    { range: "0 or more" },
  ),
  key("augment", "Data", "text", "augmentation of the training samples, e.g. cifar, or pad-crop:4,flip,normalise", ""),
  key("limit", "Data", "whole", "use only the first N samples of each split; 0: all", "0", { range: "0 or more" }),
  key("sample_cache", "Data", "size", "memory of each worker for decoded samples; 0: none", "64MB"),
  key("nodes", "Cluster", "whole", "nodes of the cluster to use; 0: all", "0", { range: "0 to 1,000,000" }),
  key("priority", "Cluster", "whole", "of the jobs that wait for nodes, the highest begins first", "0", {
    low: -100,
    high: 100,
  }),
  key("strategy", "Strategy", "choice", "how the nodes train together", "parameter_server", {
    choices: ["all_reduce", "federated", "gossip", "hybrid", "parameter_server", "pipedream"],
  }),
  key(
    "stages",
    "Strategy",
    "whole",
    "number of stages that the network is cut into; 0: as many as make it faster",
    "0",
    { range: "0 to 10,000", strategies: ["gpipe", "one_f_one_b", "pipedream"] },
  ),
  key("codec", "Strategy", "text", "compression of what workers send: none, fp16, int8, top_k(0.01), ...", "none", {
    choices: ["auto", "fp16", "int8", "none", "top_k(0.01)"],
    strategies: ["parameter_server", "all_reduce", "federated", "gossip"],
  }),
  key("secure_aggregation", "Strategy", "flag", "the leader sees only the sum of the workers' updates", "false", {
    strategies: ["federated"],
  }),
  key("epochs", "Learning", "whole", "passes over the training data", "1", { range: "1 or more" }),
  key("batch", "Learning", "whole", "samples of each worker in a step", "64", { range: "1 to 1,048,576" }),
  key(
    "learning_rate",
    "Learning",
    "number",
    "highest learning rate of the schedule; 0: 0.05 per worker, at most 0.3",
    "0",
    { range: "0 or more" },
  ),
  key("seed", "Learning", "whole", "random seed of initial weights, sample order and dropout", "1", {
    range: "0 or more",
  }),
  key("checkpoint_every", "Output", "duration", "time between checkpoints; every epoch ends with one too", "30s"),
];

function key(name: string, group: string, type: string, help: string, value: string, more: Partial<Key> = {}): Key {
  return { name, group, type, help, default: value, ...more };
}

export const kEvents: JobEvent[] = [
  { event: "memory_plan", sentence: "", warning: false, node: "fern" },
  { event: "memory_plan", sentence: "", warning: false, node: "moss" },
  { event: "node_joined", sentence: "egret has joined", warning: false, node: "egret", time_s: 8.4 },
  { event: "balanced", sentence: "reed gets fewer samples, since it is slower", warning: false, time_s: 21.2 },
  {
    event: "node_lost",
    sentence: "sedge is lost; the others take over its samples",
    warning: true,
    node: "sedge",
    time_s: 47.9,
  },
  { event: "node_joined", sentence: "sedge has joined", warning: false, node: "sedge", time_s: 95.1 },
];

/** After so many epochs of a training that goes well, and a little better or worse by `bias`. */
export function epochReport(epoch: number, bias: number) {
  const loss = 0.62 * Math.exp(-0.55 * epoch) + 0.03 + 0.02 * bias;
  return {
    epoch,
    loss,
    accuracy: 1 - loss / 3.1,
    learning_rate: 0.05 / epoch,
    train_seconds: 14.2 * epoch,
    validation_loss: loss * 1.12 + 0.004,
    validation_accuracy: 1 - loss / 2.8,
    best_epoch: epoch,
    best_accuracy: 1 - loss / 2.8,
  };
}

export function resultOf(model: string, data: string, epochs: number, bias: number, nodes: string[]) {
  const last = epochReport(epochs, bias);
  const wrong = (row: number, column: number) => Math.max(0, Math.round(4 * noise(row, column, bias)));
  return {
    model,
    data,
    accuracy: last.validation_accuracy + 0.001,
    macro_f1: last.validation_accuracy,
    classes: [..."0123456789"],
    confusion: Array.from({ length: 10 }, (_, row) =>
      Array.from({ length: 10 }, (_, column) => (row === column ? 985 : wrong(row, column))),
    ),
    epochs,
    steps: epochs * 938,
    samples: epochs * 57_000,
    train_seconds: 14.2 * epochs,
    eval_seconds: 1.9,
    images_per_s: 57_000 / 14.2,
    loss: last.loss,
    train_accuracy: last.accuracy,
    workers: nodes.length,
    batch: 64,
    test_loss: last.validation_loss,
    best_epoch: epochs,
    best_validation_accuracy: last.validation_accuracy,
    best_validation_loss: last.validation_loss,
    advice: { boards: nodes.length, why: "6 boards train 3.4 times as fast as one would alone" },
    exchange: {
      uplink: { messages: 5628, bytes: 1.4e9, float_bytes: 1.4e9, compression: 1 },
      downlink: { messages: 5628, bytes: 1.4e9, float_bytes: 1.4e9, compression: 1 },
    },
    nodes: nodes.map((name) => ({
      name,
      state: "alive",
      cpu_percent: 91,
      rss_bytes: 88_199_168,
      sent_bytes: 231_000_000,
      received_bytes: 236_000_000,
    })),
    curve: Array.from({ length: epochs }, (_, i) => epochReport(i + 1, bias)),
    events: kEvents,
    run_dir: "runs/train",
    report: "runs/train/report.html",
  };
}

export function members(nowS: number): Member[] {
  const member = (name: string, role: string, state: string, days: number, more: Partial<Member> = {}): Member => ({
    name,
    role,
    state,
    since: nowS - days * 86_400,
    expires: nowS + (30 - days) * 86_400,
    invitation: "",
    uses_left: 0,
    ...more,
  });
  return [
    member("anna.laptop", "admin", "member", 12),
    member("ben.laptop", "client", "member", 3),
    ...kBoards.map(([name]) => member(name, "node", "member", 9)),
    member("old-pi", "node", "revoked", 25),
    member("", "node", "invited", 0, { since: 0, expires: nowS + 3600, invitation: "i7f3", uses_left: 2 }),
  ];
}
