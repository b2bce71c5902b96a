"""Titles for people of the figures that bench/*/measure.py names for programs:  title("lenet_on_10_speedup")

A name consists of what was measured (a network, a codec, a solver), of settings (b32, t1, 100mbit, on_10) and of the
quantity. Names that fit no rule become words with blanks. Names of keys, such as two_step, stay as one types them.
"""
import re

NETWORKS = {
    "lenet": "LeNet",
    "mlp": "MLP",
    "alexnet": "AlexNet",
    "vgg": "VGG",
    "resnet": "ResNet",
    "mobilenet": "MobileNet",
    "mobilenetv2": "MobileNetV2",
    "wrn": "WRN",
    "squeezenet": "SqueezeNet",
    "ddnn": "DDNN",
}
KEYS = (
    "two_step",
    "top_k",
    "random_k",
    "one_bit",
    "structured_mask",
    "structured_low_rank",
    "parameter_server",
    "all_reduce",
    "k_of_n",
    "even_grid",
    "biased_strips",
    "local_search",
    "trimmed_mean",
    "multi_krum",
    "geometric_median",
    "centered_clipping",
)
WORDS = {
    "macro f1": "macro F1",
    "train": "training of",
    "infer": "inference of",
    "m": "M",
    "g": "G",
    "cpu": "CPU",
    "ssim": "SSIM",
    "psnr": "PSNR",
    "snr": "signal-to-noise ratio",
    "flops": "FLOP/s",
    "never lost": "trained with all views",
    "squeezenet1 0": "SqueezeNet 1.0",
    "made up": "made-up network",
    "exit1": "exit 1",
    "exit2": "exit 2",
    "exit3": "exit 3",
    "simd": "kernels `simd`",
    "ddp": "PyTorch's DDP",
}

# Whole names, with what each stands for. {0}, {1}, ... are the groups, themselves made into words.
PATTERNS = (
    (r"accuracy_lost_by_async", "accuracy that `async` loses"),
    (r"accuracy_single_device", "accuracy with a single device"),
    (r"accuracy_parameter_server_(\w+)", "accuracy with `parameter_server`, {0}"),
    (r"accuracy_(.+)", "accuracy with {0}"),
    (r"(memory_)?error_of_all", "{0} error of the prediction, all together"),
    (r"(memory_)?error_([\d._]+)_at_(\d+)mbit_batch_(\d+)",
     "{0} error of the prediction, boards of {1} of a core, {2} Mbit/s, micro-batches of {3}"),
    (r"unequal_of_the_sum", "unequal boards: speed, as a part of the sum of their speeds alone"),
    (r"unequal_predicted", "unequal boards: predicted speed"),
    (r"training_speedup_with_start", "pipelined training, with its start: times as fast"),
    (r"training_stages_idle", "pipelined training: idle share of the stages"),
    (r"training_stages_busy", "pipelined training: time of a micro-batch in a stage"),
    (r"training_(speedup|memory_of_each)", "pipelined training: {0}"),
    (r"training_refused_by_one", "training in little memory is refused by one board"),
    (r"training_in_little_memory", "training in little memory: speed of four boards"),
    (r"training_measured_peak", "training in little memory: largest memory of a board"),
    (r"frames_of_(.+)", "frames of a stream: speed of {0}"),
    (r"frames_speedup", "frames of a stream: times as fast as one board"),
    (r"budget_(.+)_b(\d+)_(\d+)MB_(.+)", "{0}, batch {1}, at most {2} MB: {3}"),
    (r"(.+)_b(\d+)_in_(\d+)_MB_(.+)", "{0}, batch {1}, at most {2} MB: {3}"),
    (r"scaling_(.+)_b(\d+)_(.+)", "{0}, batch {1}, two processes: {2}"),
    (r"lenet_seeds_(accuracy_gained|accuracy)_on_(\d+)", "LeNet with five seeds, {1} boards: {0}"),
    (r"simd_(train|infer)_(.+)_b(\d+)_t(\d+)_(.+)", "{0} {1}, batch {2}, {3} threads: {4}"),
    (r"int8_dynamic_(.+)_b(\d+)_t(\d+)_(.+)", "int8 inference of {0} quantized dynamically, batch {1}, {2} threads: {3}"),
    (r"int8_(.+)_b(\d+)_t(\d+)_(.+)", "int8 inference of {0}, batch {1}, {2} threads: {3}"),
    (r"(train|infer)_(.+)_b(\d+)_t(\d+)_(.+)", "{0} {1}, batch {2}, {3} threads: {4}"),
    (r"startup_(.+)", "{0}: time to the first answer"),
    (r"(.+)_b(\d+)_on_(\d+)_(sync|async|apart)_(.+)", "{0}, batch {1}, {2} boards, `{3}`: {4}"),
    (r"(.+)_on_(\d+)_(seconds|accuracy|cpu_of_each|memory_of_each|sent_by_each|speedup|accuracy_gained)",
     "{0}, {1} boards: {2}"),
    (r"(.+)_seconds_to_([\d.]+)_(\d+)mbit_auto_over_best",
     "{0}, {2} Mbit/s: time to {1} % with `auto` relative to the best codec"),
    (r"(.+)_seconds_to_([\d.]+)_(\d+)mbit_(.+)", "{0}, {2} Mbit/s, codec {3}: time to {1} %"),
    (r"(.+)_steps_to_([\d.]+)_(.+)", "{0}, codec {2}: steps to {1} %"),
    (r"(.+)_seconds_per_epoch_(\d+)mbit_auto_over_best",
     "{0}, {1} Mbit/s: time of an epoch with `auto` relative to the best codec"),
    (r"(.+)_seconds_per_epoch_(\d+)mbit_(.+)", "{0}, {1} Mbit/s, codec {2}: time of an epoch"),
    (r"drift_tuned_to_leave", "samples that thresholds were tuned to let leave early"),
    (r"drift_(fixed|kept)_left_(before|after)", "thresholds {0}: samples that left early {1} the drift"),
    (r"drift_(fixed|kept)_right_(before|after)", "thresholds {0}: right answers {1} the drift"),
    (r"ddnn(|_never_lost)_accuracy_without_worst_(\d+)", "DDNN {0}: accuracy without the {1} worst views"),
    (r"ddnn(|_never_lost)_accuracy_without_(\d+)", "DDNN {0}: accuracy without {1} views"),
    (r"ddnn_with_exit_accuracy", "DDNN with an exit: accuracy"),
    (r"ddnn(|_never_lost)_accuracy", "DDNN {0}: accuracy"),
    (r"ddnn_(.+)", "DDNN: {0}"),
    (r"lenet_of_the_other_three", "LeNet on the other three views: accuracy"),
    (r"(lenet|resnet)_batch(\d+)_(.+)", "{0}, batch {1}: {2}"),
    (r"lenet_300_100_(.+)", "LeNet-300-100: {0}"),
    (r"lenet_5_(.+)", "LeNet-5: {0}"),
    (r"(alexnet|vgg-11)_(\d+)_(.+)", "{0}, batch {1}: {2}"),
    (r"modelled_(.+)_(\d+)_boards_at_(\d+)(m|g)bit_(even_grid|biased_strips)_(.+)",
     "{0}, {1} boards, {2} {3}bit/s, {4}: {5}"),
    (r"modelled_(.+)_(\d+)_boards_at_(\d+)(m|g)bit_(.+)", "{0}, {1} boards, {2} {3}bit/s: {4}"),
    (r"plan_(\d+)_operators_(\d+)_devices(.*)", "planning of {0} operators on {1} devices {2}: time"),
    (r"(.+)_(\d+)(m|g)bit_(\d+)_(bottleneck|pipedream_plan)", "{0}, {1} {2}bit/s, {3} devices: {4}"),
    (r"lenet_(pool\d)_levels(\d+)_(.+)", "LeNet split at {0}, {1} levels: {2}"),
    (r"lenet_(pool\d)_noise([\d.]+)_(.+)", "LeNet split at {0}, noise {1}: {2}"),
    (r"lenet_(pool\d)_trained_(.+)", "LeNet split at {0}, trained noise: {1}"),
    (r"lenet_(pool\d)_(.+)", "LeNet split at {0}: {1}"),
    (r"uneven_none_0_(.+)", "uneven data, rule {0}, nobody lies: accuracy"),
    (r"uneven_sign_flip_(\d+)_(.+)", "uneven data, rule {1}, {0} % send the wrong sign: accuracy"),
    (r"handshakes", "handshakes in a second"),
    (r"joins", "members that join in a second"),
    (r"joins_(.+)", "many join at once: {0}"),
    (r"(pipeline|training)_(speed|slower)", "{0} with certificates: {1}"),
    (r"(near|slow|fast)_(upload|download)_rate_error", "error of the rate, {0} board, {1}"),
    (r"cpu_share_(\d+)_percent_error", "error of a share of {0} % of a core"),
    (r"delay_(\d+)_ms_error", "error of a delay of {0} ms"),
    (r"auto_of_the_best_with_(\d+)_end", "`auto`, {0} end devices: time relative to the best scheduler"),
    (r"(end|end-cloud|end-edge|mapping|auto)_with_(\d+)_end", "scheduler `{0}`, {1} end devices: time"),
    (r"cloud_image", "cloud: time of an image"),
    (r"cloud_one_task_at_a_time", "cloud, one task at a time: time of an image"),
    (r"(none|reassign|monitor|hedged)_(\d+)_failing_(.+)", "policy `{0}`, {1} failing devices: {2}"),
    (r"(end|edge|cloud)_network_on_(end|edge|cloud)", "network of tier {0} on tier {1}: time of an image"),
    (r"(end|edge|cloud)_network_(.+)", "network of tier {0}: {1}"),
    (r"privacy_overhead_(edge|cloud)_(.+)_([\d.]+)_s", "{0} split at {1}, link with a delay of {2} s: added time"),
    (r"privacy_(accuracy|ssim)_(edge|cloud)_(.+)", "{1} split at {2}: {0}"),
    (r"idle_(coordinator|node)_(.+)", "idle {0}: {1}"),
    (r"metrics_of_(.+)", "`metrics.jsonl`, lines of {0}: size"),
    (r"curves_target", "accuracy that the curves of time lead to"),
    (r"seconds_to_target_(devices|rate|delay)_([\d.]+)_(.+)", "{2}, {0} {1}: time to the target accuracy"),
    (r"(global|modelled)_virtual_seconds_to_98", "{0} world: virtual time to 98 %"),
    (r"(global|modelled)_(.+)", "{0} world: {1}"),
    (r"board_of_(\d+)_(.+)", "one of {0} boards: {1}"),
    (r"round_(.+)_on_(\d+)_off", "{0}, {1} boards: error of the simulated time of a round"),
    (r"round_(.+)_on_(\d+)", "{0}, {1} boards: time of a round"),
    (r"(city-\d+)_(cost|latency|energy)_(.+)_(gap|time)", "{0}, least {1}, solver {2}: {3}"),
    (r"federated_joint_time", "solver `exact` on the same scenarios: time"),
    (r"(even|greedy|heft|local_search|decomposition|exact|federated)_(gap|time|rounds|messages)", "solver {0}: {1}"),
    (r"(\w+)_(lenet|resnet-20|resnet-32|resnet20)_(bytes|encode|decode|relative_error)", "codec {0}, {1}: {2}"),
    (r"(lenet|resnet)(-\d+)?_local_two_step_(.+)", "{0}{1}, `local_steps` and `two_step`: {2}"),
    (r"(lenet|resnet)(-\d+)?_local_(.+)", "{0}{1}, `local_steps`: {2}"),
    (r"(resnet-\d+)_two_step_(.+)", "{0}, `two_step`: {1}"),
    (r"(.+)_(utilisation_mean|utilisation_spread|predicted|agreement|macro_f1|seconds|accuracy|speedup)", "{0}: {1}"),
)

# Quantities, by the end of a name.
QUANTITIES = {
    "seconds": "time",
    "images_per_s": "speed",
    "speedup": "times as fast",
    "faster": "times as fast as with data parallelism",
    "slower": "slower than plain text",
    "speed_over_torch": "speed relative to PyTorch",
    "speed_over_onednn": "speed relative to oneDNN",
    "speed_over_bare_onednn": "speed relative to bare oneDNN calls",
    "speed_over_float32": "speed relative to float32",
    "speed_over_onnx_runtime": "speed relative to ONNX Runtime",
    "speed_over_unlimited": "speed relative to no limit",
    "peak_resident": "largest resident memory",
    "peak": "largest memory",
    "peak_over_predicted": "largest memory relative to the prediction",
    "planned": "planned memory",
    "efficiency_over_ddp": "efficiency relative to PyTorch's DDP",
    "cpu_of_each": "CPU of each board",
    "memory_of_each": "memory of each board",
    "sent_by_each": "sent by each board",
    "accuracy_gained": "accuracy gained over one board",
    "accuracy_lost": "accuracy lost",
    "accuracy_change": "change of the accuracy",
    "times_smaller": "times smaller",
    "bytes": "size of 1,000 elements",
    "encode": "time to encode an element",
    "decode": "time to decode an element",
    "relative_error": "relative error",
    "push_fewer_bytes": "times fewer bytes to the server",
    "pull_fewer_bytes": "times fewer bytes from the server",
    "fewer_bytes": "times fewer bytes",
    "utilisation_mean": "mean utilisation of the boards",
    "utilisation_spread": "spread of the utilisation",
    "predicted": "predicted value",
    "agreement": "same answers as one node",
    "gap": "above the best",
    "lost": "images lost",
    "of_lower_bound": "time relative to a lower bound",
    "left_at_exit1": "samples that leave at exit 1",
    "left_at_exit2": "samples that leave at exit 2",
    "left_at_exit3": "samples that leave at exit 3",
    "sent": "bytes sent",
    "sent_up": "sent up for a sample",
    "bottom_share": "share of the work before the split",
    "wall_seconds": "time it took",
    "virtual_seconds": "virtual time",
    "peak_memory": "largest memory",
    "file": "size of the file",
    "step": "time of a step",
    "work": "work relative to the whole network",
    "pipedream_plan": "time with PipeDream's plan",
    "bottleneck": "time of the slowest stage",
    "handling": "messages packed",
    "throughput": "speed",
    "throughput_predicted": "predicted speed",
}


def words(text):
    """Of a part of a name."""
    text = text.strip("_ ")
    if re.fullmatch(r"[\d._]+", text):
        return text.replace("_", ", ")
    if text in QUANTITIES:
        return QUANTITIES[text]
    key = re.fullmatch(rf"(?:{'|'.join(KEYS)})(\([\d.]+\))?", text)
    if key:
        return f"`{text}`"
    network = re.fullmatch(r"([a-z]+?(?:v2)?)((?:-?[\d.]+)?(?:-[\w.]+)*)", text)
    if network and network[1] in NETWORKS:
        return NETWORKS[network[1]] + re.sub(r"^(\d)", r"-\1", network[2])
    for key in KEYS:
        text = re.sub(rf"(?<![a-z]){key}(?![a-z])", f"`{key.replace('_', '~')}`", text)
    text = text.replace("_", " ").replace("~", "_")
    for word, meant in WORDS.items():
        text = re.sub(rf"\b{re.escape(word)}\b", meant, text)
    return text


def title(name):
    """What a reader is told of the figure with this name."""
    if " " in name:
        return name
    for pattern, template in PATTERNS:
        found = re.fullmatch(pattern, name)
        if found:
            text = template.format(*(words(group or "") for group in found.groups()))
            text = re.sub(r"\b(?<!\.)1 ((?:end |failing |worst )?[a-z]+)s\b", r"1 \1", text)
            text = re.sub(r"\b(codec|rule|solver) (?!`)([\w.()]+)", r"\1 `\2`", text)
            return re.sub(r" +([:,])", r"\1", re.sub(" +", " ", text)).strip()
    return words(name)
