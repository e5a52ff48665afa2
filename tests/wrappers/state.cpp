// Brings a model that counts back to its first state, also with scratch memory of its own.
#include "net.hpp"

#include <cstdio>
#include <cstring>

int main() {
  static net::arena memory;
  static net::state state;
  static net::scratch work;
  const float numbers[4] = {1.0f, 2.0f, 3.0f, 4.0f};
  float first[4], second[4], again[4];
  net::model model(memory);
  net::shared_model shared(state);
  net::forward::outputs to_first{first}, to_second{second}, to_again{again};
  if (model.forward({numbers}, to_first) != modelc::status::ok || model.forward({numbers}, to_second) != modelc::status::ok) return 1;
  if (std::memcmp(first, second, sizeof first) == 0) return 2;
  if (model.reset() != modelc::status::ok || model.forward({numbers}, to_again) != modelc::status::ok) return 3;
  if (std::memcmp(first, again, sizeof first) != 0) return 4;
  if (shared.forward(work, {numbers}, to_again) != modelc::status::ok || std::memcmp(first, again, sizeof first) != 0) return 5;
  std::puts("right");
  return 0;
}
