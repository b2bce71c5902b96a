#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "mangrove/engine/program.h"

namespace mangrove {

/// Time of one node, from Execution::profile_forward.
struct NodeTime {
  std::string node;
  Seconds seconds = 0;
};

/// Time of one step, from Execution::profile_steps.
struct StepTime {
  std::string step;
  std::string node;
  Seconds seconds = 0;
};

/// The buffers of one Program in use. Parameters start as the graph's initializers.
/// threads: one at a time; several Executions of one Program may run at once.
class Execution {
 public:
  /// threads: kernel threads used by forward() and backward(), set by the calling thread each time.
  /// errors: resource_exhausted (the message says how much memory is needed).
  static Result<std::unique_ptr<Execution>> create(std::shared_ptr<const Program> program, int threads = 1);
  /// Another one of the same program, with the same parameters, gradients and states in the same memory; inputs,
  /// activations and outputs are its own. So several samples, or micro-batches, can be between forward() and backward()
  /// at once. threads: one at a time for all that share. errors: those of create.
  static Result<std::unique_ptr<Execution>> create_sharing(const Execution& other);
  ~Execution();

  const Program& program() const { return *program_; }

  // Inputs and outputs. The element type T must be the value's; layout is plain [N, ...].
  template <class T>
  std::span<T> input(const std::string& name) {
    return typed<T>(name, false);
  }
  template <class T>
  std::span<const T> output(const std::string& name) {
    return typed<T>(name, false);
  }
  /// Where backward() reads the derivative of the loss with respect to an output; write it before backward().
  template <class T>
  std::span<T> output_gradient(const std::string& name) {
    return typed<T>(name, true);
  }
  /// With CompileOptions::input_gradients, where backward() leaves the derivative with respect to an input; empty where
  /// nothing that an output depends on differentiably reads it.
  template <class T>
  std::span<const T> input_gradient(const std::string& name) {
    if (!program_->placed_values().at(name).has_gradient) return {};
    return typed<T>(name, true);
  }
  Status set_input(const std::string& name, const Tensor& value);
  Tensor output_tensor(const std::string& name);

  /// Starts the random numbers of the steps that draw some (dropout in training) anew: run k after this one draws the
  /// same numbers whenever the seed is the same. Without a call, the seed is 0.
  void seed(std::uint64_t seed);

  void forward();
  /// Sets the gradients of all parameters to zero: with CompileOptions::accumulate_gradients, before each batch.
  void zero_gradients();
  /// Gradients of all parameters, overwriting the last ones (or added to them, with accumulate_gradients). Needs
  /// forward() before, on the same inputs. Training only.
  /// ready, if given, is called between steps with each parameter (its position in Graph::parameters()) whose gradient
  /// no later step changes: so it can be sent while the others are computed.
  void backward(const std::function<void(std::size_t parameter)>& ready = {});

  /// A parameter and its gradient where they lie, in the backend's layout: for elementwise use, e.g. by an optimiser.
  /// Both have the same layout; padding is zero and stays zero under any update that maps (0, 0) to 0. f32 only.
  struct ParameterView {
    std::string name;
    std::span<float> value;
    std::span<float> gradient = {};  // empty in inference
  };
  /// In the order of Graph::parameters().
  std::vector<ParameterView> parameters();

  // Plain copies, for exchange and files. f32 or f64 as the graph.
  Tensor parameter(const std::string& name);
  Status set_parameter(const std::string& name, const Tensor& value);
  Tensor gradient(const std::string& name);  // of a parameter, or of an input with CompileOptions::input_gradients

  /// Copies data lying as parameter `name` does (e.g. its momentum) to and from plain layout. f32.
  void to_plain(const std::string& name, std::span<const float> laid_out, std::span<float> plain);
  void from_plain(const std::string& name, std::span<const float> plain, std::span<float> laid_out);

  /// Runs forward `repeats` times and returns the median time of each node, in node order (a fused activation counts
  /// with the node before it, and has 0; reorders count with the node that wanted them). Of one thread it is the time
  /// that it computes, without that of others on its core and without waiting for a CPU quota.
  std::vector<NodeTime> profile_forward(int repeats);
  /// Runs forward, in training also backward, `repeats` times and returns the median time of each step, in their
  /// order, measured likewise.
  std::vector<StepTime> profile_steps(int repeats);

 private:
  Execution(std::shared_ptr<const Program> program, int threads);
  static Result<std::unique_ptr<Execution>> create(std::shared_ptr<const Program> program, int threads,
                                                   const Execution* other);
  Status allocate_parameters();
  void clear_outputs();
  template <class T>
  std::span<T> typed(const std::string& name, bool gradient);
  struct Region;  // aligned memory
  struct Impl;
  std::shared_ptr<const Program> program_;
  int threads_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mangrove
