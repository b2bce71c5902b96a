#include "mangrove/cli/flag_ranges.h"

#include "mangrove/job/keys.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::cli {
namespace {

WholeRange range_of(const char* key) {
  return job::range_of(*train::TrainJob::descriptor(), key);
}

}  // namespace

WholeRange batch_range() {
  return range_of("batch");
}

WholeRange limit_range() {
  return range_of("limit");
}

WholeRange epoch_range() {
  return range_of("epochs");
}

WholeRange replica_range() {
  return range_of("replicas");
}

WholeRange seed_range() {
  return range_of("seed");
}

}  // namespace mangrove::cli
