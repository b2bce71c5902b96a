#pragma once

#include "mangrove/job/role.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::train {

/// Rank 0 of a pipeline.
///
/// It cuts the network into stages and gives each stage to a worker, or to several (replicas). Then it lets
/// `local_steps` mini-batches at a time go through the stages: an iteration. For each micro-batch, the first stage
/// reads the samples and sends their labels to the last stage. Activations travel from stage to stage, and gradients
/// travel back. Replicas of a stage sum their gradients along a ring before an update. At the end of an iteration, one
/// worker of each stage sends its state to rank 0: parameters, running statistics, and the optimizer's state. So rank 0
/// has one version that all stages agree on.
///
/// right    With gpipe and one_f_one_b, all micro-batches of a mini-batch use the same parameters, and the update waits
///          for all their gradients. So an iteration computes what one device computes with whole mini-batches, except
///          that batch normalization takes the statistics of each micro-batch. schedule.h says what is different with
///          pipedream.
/// faults   When a worker with a stage is lost, the iteration is void. Its samples are given out again, from the last
///          version that rank 0 has: to the same stages with a spare worker, or to fewer stages.
/// cost     For each micro-batch and cut, the values that cross the cut travel once as f32, and their gradients come
///          back. For each iteration, a stage with n parameters sends rank 0 (1 + a) n f32 and its running statistics,
///          where the optimizer keeps `a` arrays. For each update, each of r replicas of a stage sends 2m (r-1)/r f32
///          along the ring, where m is the number of its parameters and running statistics. Rank 0 sends a stage its
///          state only when the stage is placed anew or an iteration was void.
/// source   Huang et al., GPipe, NeurIPS 2019; Narayanan et al., Memory-efficient pipeline-parallel DNN training, ICML
///          2021; Narayanan et al., PipeDream, SOSP 2019 (also the cut by measured times, and replicas).
/// errors   those of Strategy::run; invalid_argument (more stages than nodes, or than the network can be cut into).
Status lead_pipeline(const TrainJob& job, job::RoleContext& context);

}  // namespace mangrove::train
