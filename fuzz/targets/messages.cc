#include "fuzz/targets/messages.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "fuzz/memory_file.h"

#include "mangrove/cluster/cluster.pb.h"
#include "mangrove/cluster/job_checks.h"
#include "mangrove/cluster/job_report.h"
#include "mangrove/cluster/model_signature.h"
#include "mangrove/codec/codec.h"
#include "mangrove/data/shard_cache.h"
#include "mangrove/graph/graph.h"
#include "mangrove/infer/messages.pb.h"
#include "mangrove/infer/pipeline/held_stages.h"
#include "mangrove/infer/pipeline/report.h"
#include "mangrove/job/event.h"
#include "mangrove/job/json_fields.h"
#include "mangrove/job/progress.h"
#include "mangrove/net/payload.h"
#include "mangrove/secure_aggregation/client.h"
#include "mangrove/secure_aggregation/server.h"
#include "mangrove/train/data_parallel/assignment.h"
#include "mangrove/train/dataset_summary.h"
#include "mangrove/train/messages.pb.h"
#include "mangrove/train/pipeline/places.h"
#include "mangrove/train/result.h"
#include "mangrove/train/shards.pb.h"

namespace mangrove::fuzz {
namespace {

/// Softmax regression on samples of three values.
const Graph& small_classifier() {
  static const Graph graph = [] {
    GraphParts parts;
    parts.name = "small";
    parts.inputs = {{"x", {DType::f32, {kBatch, 3}}}};
    parts.outputs = {"logits"};
    parts.nodes = {{"fc", "Gemm", {{"transB", std::int64_t{1}}}, {"x", "w"}, {"y"}},
                   {"relu", "Relu", {}, {"y"}, {"logits"}}};
    parts.initializers = {{"w", Tensor(DType::f32, Shape{2, 3})}};
    return Graph::create(std::move(parts)).value();
  }();
  return graph;
}

/// Takes one byte off the front; 0 where there is none.
unsigned take_byte(std::string_view& bytes) {
  if (bytes.empty()) return 0;
  const unsigned byte = static_cast<unsigned char>(bytes.front());
  bytes.remove_prefix(1);
  return byte;
}

template <class Message>
Message read(std::string_view bytes) {
  Message message;
  message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  return message;
}

void take_shard_list(std::string_view bytes) {
  const auto message = read<train::ShardMessage>(bytes);
  std::vector<data::ShardOutline> outlines;
  Bytes all = 0;
  for (const auto& shard : message.list().shards()) {
    outlines.push_back({shard.name(), shard.size(), shard.head()});
    all += std::max<Bytes>(0, std::min<Bytes>(shard.size(), 1 << 20));
  }
  if (all > 1 << 20) return;  // it would be written
  const MemoryFolder folder("own/none", "");
  static_cast<void>(data::ShardCache::open(std::move(outlines), folder.path() / "own", folder.path() / "cache"));
}

}  // namespace

/// The codec, the shape of what it encodes, and a message to it.
void codec(std::string_view bytes) {
  const auto rows = codec::codecs();
  const codec::CodecRow& row = rows[take_byte(bytes) % rows.size()];
  const std::vector<codec::Layer> shapes[] = {{{1, 1}}, {{4, 3}, {1, 4}}, {{1, 600}}, {{16, 9}, {1, 16}, {32, 144}}};
  const codec::Stream stream{.layers = shapes[take_byte(bytes) % std::size(shapes)], .seed = 1};
  const auto made = codec::make_codec(row.name, stream);
  if (!made.ok()) return;
  std::vector<float> values(static_cast<std::size_t>(stream.elements()));
  if ((*made)->decode(bytes, values).ok()) static_cast<void>((*made)->encode(values));
  static_cast<void>(codec::find_codec(bytes));
}

void infer_messages(std::string_view bytes) {
  const auto command = read<infer::Command>(bytes);
  if (infer::makes_sense(command, small_classifier(), 4)) {
    infer::HeldStages stages({}, 1);
    static_cast<void>(stages.place(command, small_classifier()));
    static_cast<void>(stages.fits(command.route()));
  }
}

void job_spec(std::string_view bytes) {
  static_cast<void>(cluster::check_job(read<cluster::JobSpec>(bytes)));
}

/// Reads the messages that a client gets from a coordinator.
void report(std::string_view bytes) {
  static_cast<void>(job::parse_json<job::EventHead>(bytes));
  static_cast<void>(job::parse_json<job::Progress>(bytes));
  static_cast<void>(job::parse_json<train::EpochReport>(bytes));
  static_cast<void>(job::parse_json<train::CheckpointReport>(bytes));
  static_cast<void>(job::parse_json<cluster::NodesReport>(bytes));
  static_cast<void>(job::parse_json<infer::FrameAnswers>(bytes));
}

/// The step of a sum of four clients at which these bytes come: to the first client as an order, and from it as the
/// reply. The others go on.
void secure_sum(std::string_view bytes) {
  constexpr std::size_t kWords = 4;
  const auto always_the_same = [](std::span<std::uint8_t> out) { std::ranges::fill(out, std::uint8_t{0x5a}); };
  const auto vector = [] { return std::vector<std::uint32_t>(kWords, 1); };
  const unsigned forged = take_byte(bytes) % 6;
  std::map<secure::ClientId, secure::Client> clients;
  for (const secure::ClientId client : {1u, 2u, 3u, 4u})
    clients.emplace(client, secure::Client(kWords, always_the_same));
  auto server = secure::Server::create(1, kWords, {1, 2, 3, 4}, always_the_same).value();
  for (unsigned step = 0;; ++step) {
    const auto orders = server.next();
    if (!orders.ok() || orders->empty()) return;
    for (const auto& [client, order] : *orders) {
      if (step == forged && client == 1) {
        static_cast<void>(clients.at(client).reply(bytes, vector));
        server.take(client, bytes);
      } else if (const auto reply = clients.at(client).reply(order, vector); reply.ok()) {
        server.take(client, *reply);
      } else {
        server.lose(client);
      }
    }
  }
}

/// The bytes are what a PEM block holds: a change in its base64 would seldom be read any further.
void signature(std::string_view bytes) {
  constexpr std::size_t kLine = 48;
  static_cast<void>(cluster::ModelSignature::parse(std::string(bytes)));
  std::string pem = "-----BEGIN CMS-----\n";
  for (; !bytes.empty(); bytes.remove_prefix(std::min(kLine, bytes.size()))) {
    const std::string part(bytes.substr(0, kLine));
    std::array<unsigned char, 2 * kLine> line{};
    EVP_EncodeBlock(line.data(), reinterpret_cast<const unsigned char*>(part.data()), static_cast<int>(part.size()));
    pem += std::string(reinterpret_cast<const char*>(line.data())) + "\n";
  }
  const auto found = cluster::ModelSignature::parse(pem + "-----END CMS-----\n");
  if (found.ok()) static_cast<void>(found->check_signer({}));
}

void train_messages(std::string_view bytes) {
  train::TrainJob job;
  for (const char* split : {"iid", "dirichlet(0.5)", "by_label(2)", "shards"}) {
    job.set_split(split);
    const auto hello = read<train::Hello>(bytes);
    constexpr std::int64_t kMost = 10'000;  // larger ones are honest, and take long
    if (hello.train_samples() > kMost || !train::check_data(small_classifier(), job, hello).ok()) continue;
    static_cast<void>(train::owners_of_samples(job, hello, 3));
    static_cast<void>(train::order_of_epoch(job, hello, 1));
  }
  const auto work = read<train::Work>(bytes);
  if (train::is_pipeline_of(work.pipeline(), small_classifier(), 4)) {
    for (const net::Rank rank : {1, 2, 3}) {
      const auto place = train::place_of(work.pipeline(), rank);
      if (place) static_cast<void>(train::samples_at(work.pipeline(), *place, 10, 4));
    }
  }
  static_cast<void>(
      train::Assignment(1, work, 16, train::Assignment::Encoding::none).is_answered_by(read<train::Answer>(bytes), 2));
  static_cast<void>(net::split_payload(bytes));
  take_shard_list(bytes);
}

}  // namespace mangrove::fuzz
