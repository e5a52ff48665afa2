// Calls a model of two inputs, of which one has up to four rows.
#include "net.hpp"

#include <array>
#include <cstdio>
#include <cstring>
#include <vector>

int main() {
  static net::arena memory;
  net::model model(memory);
  if (model.status() != modelc::status::ok) return 1;
  std::vector<float> in0(12);
  for (std::size_t i = 0; i < in0.size(); i++) in0[i] = static_cast<float>(i) * 0.5f - 2.0f;
  const std::array<float, 3> in1 = {1.0f, 2.0f, -3.0f};
  float all[net::forward::out0_max_elements] = {}, one[net::forward::out0_max_elements] = {};
  net::forward::outputs out{all, {}};
  if (model.forward({in0, {4, 3}, in1}, out) != modelc::status::ok || out.out0_shape[0] != 4) return 2;
  out.out0 = one;
  if (model.forward({in0, {1, 3}, in1}, out) != modelc::status::ok || out.out0_shape[0] != 1) return 3;
  if (std::memcmp(all, one, 3 * sizeof(float)) != 0 || one[3] != 0.0f) return 4;
  const std::size_t most = static_cast<std::size_t>(-1);
  if (model.forward({{in0.data(), 5}, {2, 3}, in1}, out) != modelc::status::shape) return 5;
  if (model.forward({in0, {5, 3}, in1}, out) != modelc::status::shape) return 6;
  if (model.forward({in0, {most, 3}, in1}, out) != modelc::status::shape) return 7;
  out.out0 = modelc::span<float>(one, 11);
  if (model.forward({in0, {4, 3}, in1}, out) != modelc::status::shape) return 8;
  std::puts("right");
  return 0;
}
