#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tests/train/data_parallel/changing_endpoint.h"

namespace mangrove::train {

/// What a liar makes of the floats that it should send; and of its answer, where it is one.
struct Lie {
  std::function<void(std::span<float> floats)> forge = [](std::span<float>) {};
  std::function<void(Answer& answer)> tell = [](Answer&) {};
};

/// The message of an update, as the liar sends it.
inline std::string forged(const Lie& lie, net::Tag tag, const std::string& payload) {
  const net::PayloadParts parts = net::split_payload(payload).value();
  std::string header(parts.header);
  Answer answer;
  if (tag == kAnswerTag && answer.ParseFromString(header) && answer.predictions_size() == 0) {
    lie.tell(answer);
    header = answer.SerializeAsString();
  }
  std::vector<float> floats(parts.body.size() / sizeof(float));
  MG_CHECK(net::read_floats(parts.body, floats).ok());
  lie.forge(floats);
  std::string made = net::begin_payload(header, parts.body.size());
  net::append_floats(made, floats);
  return made;
}

/// Lets this rank take part in the job, and lie.
inline void let_lie(RoleWorld& world, const TrainJob& job, net::Rank rank, const Lie& lie) {
  change_messages(world, job, rank, [lie](net::Tag tag, std::string payload) {
    const bool has_update = tag == kAnswerTag || tag == kValuesTag;
    return has_update ? forged(lie, tag, payload) : payload;
  });
}

}  // namespace mangrove::train
