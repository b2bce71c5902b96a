// What the server answers; docs/dashboard.md and docs/json.md describe the keys. Times in seconds, sizes in bytes.

export type Role = "viewer" | "client" | "admin";

export interface Session {
  version: string;
  coordinator: string;
  role: Role;
}

/** Means of a node's last training steps. */
export interface StepTimes {
  load_s: number;
  compute_s: number;
  encode_s: number;
  wire_s: number;
  wait_s: number;
}

export interface ClusterNode {
  name: string;
  state: string; // alive, idle, lost, left
  labels?: string[]; // "zone=greenhouse"
  roles: { job: string; role: string }[];
  heartbeat_age_s: number;
  cores: number;
  cpu_percent: number; // of one core
  core_percent: number[];
  memory_bytes: number;
  rss_bytes: number;
  sent_per_s: number;
  received_per_s: number;
  temperature_c?: number;
  steps?: StepTimes & { count: number };
}

export interface Progress {
  phase: string;
  done: number;
  total: number;
  images_per_s?: number;
  eta_s?: number | null;
  epoch?: number;
  epochs?: number;
  step?: number;
  steps?: number;
  loss?: number;
  accuracy?: number;
  learning_rate?: number;
}

export interface CurrentJob {
  id: string;
  kind: string;
  strategy: string;
  state: string;
  priority: number;
  share: number;
  progress: Progress | null;
}

export interface Cluster {
  coordinator: string;
  jobs: CurrentJob[];
  straggler: string | null;
  nodes: ClusterNode[];
  refused: Record<string, number>;
}

export interface Job {
  id: string;
  title: string;
  state: string; // waiting, running, done, failed, stopped
  priority: number;
  starts: number;
  epoch: number;
  step: number;
  message: string;
  began: string; // UTC, "2026-11-28 08:30:38"
  ended: string;
  nodes: string | string[];
  share?: number;
  roles?: { name: string; rank: number }[];
  progress?: Progress | null;
}

export interface EpochReport {
  epoch: number;
  loss?: number;
  accuracy?: number;
  validation_loss?: number;
  validation_accuracy?: number;
  train_seconds?: number;
}

export interface JobEvent {
  event: string;
  sentence?: string;
  warning?: boolean;
  time_s?: number;
  node?: string;
  message?: string;
  reason?: string;
}

export interface Sample {
  node: string;
  time_s: number;
  steps?: { recent?: (StepTimes & { step: number; time_s: number })[] };
}

export interface NodesReport {
  nodes?: { name: string; state: string }[];
  samples?: Sample[];
}

export type Result = Record<string, unknown>;

export interface Key {
  name: string;
  group: string;
  type: string; // text, number, whole, flag, choice, size, duration, rate
  help: string;
  default?: string | number | boolean | null;
  low?: number;
  high?: number;
  range?: string; // "1 to 1,000", where `low` and `high` are not given
  choices?: string[];
  strategies?: string[]; // that read the key; none: all of them
}

export interface Member {
  name: string;
  role: string;
  state: string; // member, revoked, invited
  since: number; // since 1970; 0: not yet
  expires: number;
  invitation: string;
  uses_left: number;
}
