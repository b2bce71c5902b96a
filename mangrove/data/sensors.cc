#include <array>
#include <cmath>
#include <cstdio>
#include <numbers>

#include "mangrove/base/random.h"
#include "mangrove/data/export.h"

namespace mangrove::data {
namespace {

constexpr double kRowsPerSecond = 50;

struct Activity {
  const char* name;
  double steps_per_s;
  double force;     // of a step, g
  double swing;     // of the leg, rad/s
  double overtone;  // of the force at twice the rate: how hard the foot lands
};
constexpr Activity kActivities[] = {
    {"rest", 0.3, 0.01, 0.02, 0},
    {"walk", 1.8, 0.25, 1.2, 0.4},
    {"run", 2.8, 0.9, 2.5, 0.7},
    {"stairs", 1.4, 0.3, 1.6, 0.9},
};

/// What differs between recordings of one activity.
struct Recording {
  const Activity& activity;
  double rate, strength, phase;
  double pitch, roll;  // of the phone, radians
};

Recording draw(std::int64_t number, Random& random) {
  const Activity& activity = kActivities[static_cast<std::size_t>(number) % std::size(kActivities)];
  Recording recording{activity, 0, 0, 0, 0, 0};
  recording.rate = activity.steps_per_s * random.uniform(0.85, 1.15);
  recording.strength = random.uniform(0.7, 1.3);
  recording.phase = random.uniform(0, 2 * std::numbers::pi);
  recording.pitch = random.uniform(-0.6, 0.6);
  recording.roll = random.uniform(-0.6, 0.6);
  return recording;
}

/// ax, ay, az, gx, gy, gz
std::array<double, 6> row_of(const Recording& recording, double seconds, Random& random) {
  const double step = 2 * std::numbers::pi * recording.rate * seconds + recording.phase;
  const double force = recording.activity.force * recording.strength *
                       (std::sin(step) + recording.activity.overtone * std::sin(2 * step + 0.5));
  const double up = 1 + force, forward = 0.5 * force * std::cos(step);
  const double swing = recording.activity.swing * recording.strength;
  std::array<double, 6> row = {
      forward * std::cos(recording.pitch) - up * std::sin(recording.pitch),
      up * std::sin(recording.roll) + 0.3 * recording.activity.force * std::sin(step / 2),
      up * std::cos(recording.pitch) * std::cos(recording.roll),
      swing * std::sin(step / 2),
      0.4 * swing * std::cos(step),
      0.2 * swing * std::sin(step / 2 + 1),
  };
  for (double& value : row) value += 0.04 * random.normal();
  return row;
}

}  // namespace

std::string make_sensor_csv(const SensorOptions& options) {
  std::string text = "time,ax,ay,az,gx,gy,gz,label,recording\n";
  for (std::int64_t number = 0; number < options.recordings; ++number) {
    Random random = Random(options.seed).fork(static_cast<std::uint64_t>(number));
    const Recording recording = draw(number, random);
    for (std::int64_t i = 0; i < options.rows; ++i) {
      const double seconds = static_cast<double>(i) / kRowsPerSecond;
      const auto row = row_of(recording, seconds, random);
      std::array<char, 128> line{};
      std::snprintf(line.data(), line.size(), "%.2f,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f,", seconds, row[0], row[1], row[2],
                    row[3], row[4], row[5]);
      text += line.data();
      text += std::string(recording.activity.name) + "," + std::to_string(number) + "\n";
    }
  }
  return text;
}

}  // namespace mangrove::data
