#include "mangrove/serve/model_options.h"

#include "mangrove/engine/known_backends.h"

namespace mangrove::serve {

Keys model_keys(ModelOptions& options) {
  Keys keys;
  keys.begin_group("Model");
  keys.add("input_shape", options.input_shape,
           "shape of an ONNX file's input that has open dimensions, e.g. image=Nx3x224x224 (N: the batch); several "
           "with commas between");
  keys.add("labels", options.labels, "text file with one class name per line; default: the model's class names");
  keys.begin_group("Batching");
  keys.add("max_batch", options.max_batch, "samples that are computed together; 1: each alone", 1, 1 << 14);
  keys.add_seconds("max_wait", options.max_wait, "time that a request waits for others to be computed with it", 0, 60);
  keys.add("max_queue", options.max_queue, "requests that may wait; more are refused", 1, 1 << 20);
  keys.add_bytes("queue_bytes", options.queue_bytes, "memory for the inputs and outputs of requests; more are refused",
                 1);
  keys.begin_group("This process");
  keys.add("instances", options.instances, "batches that are computed at once; they share the weights", 1, 256);
  keys.add("threads", options.threads, "threads for the kernels of an instance", 1, 1024);
  keys.add("backend", options.backend, backend_help());
  keys.add_bytes("memory", options.memory, "limit of a model's weights and activations; 0: none");
  return keys;
}

}  // namespace mangrove::serve
