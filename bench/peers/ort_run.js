// A network in ONNX Runtime, as a peer of bench_network:  node ort_run.js MODEL.onnx SHAPE [THREADS] [SECONDS]
//
// SHAPE is the whole input's, 1,3,224,224. Random data, the same each time; half a second to warm up. Needs the npm package
// onnxruntime-node where Node finds it (NODE_PATH). Prints one line of JSON with bench_network's keys.
const ort = require("onnxruntime-node");

async function main() {
  const [model, shape, threads = "1", seconds = "5"] = process.argv.slice(2);
  const dims = shape.split(",").map(Number);
  const options = { intraOpNumThreads: Number(threads), interOpNumThreads: 1, graphOptimizationLevel: "all" };
  const session = await ort.InferenceSession.create(model, options);
  const values = Float32Array.from({ length: dims.reduce((a, b) => a * b, 1) }, (_, i) => 0.7 * Math.sin(12.9898 * i));
  const feeds = { [session.inputNames[0]]: new ort.Tensor("float32", values, dims) };
  const now = () => Number(process.hrtime.bigint()) / 1e9;
  const runFor = async (limit) => {
    const steps = [];
    for (const start = now(); now() - start < limit || steps.length < 5; ) {
      const before = now();
      await session.run(feeds);
      steps.push(now() - before);
    }
    return steps.sort((a, b) => a - b);
  };
  await runFor(0.5);
  const steps = await runFor(Number(seconds));
  const median = steps[steps.length >> 1];
  const result = { backend: "onnxruntime", network: model, batch: dims[0], threads: Number(threads), steps: steps.length };
  console.log(JSON.stringify({ ...result, images_per_s: dims[0] / median, step_ms: 1e3 * median }));
}

main();
