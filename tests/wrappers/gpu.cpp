// Asks which side runs a model.
#include <cstdio>

#include "net.hpp"

static net::arena memory;

int main() {
  net::model model(memory);
  modelc_gpu_info info{};
  if (model.gpu(info) != modelc::status::ok || info.struct_size != sizeof info) return 1;
  if (info.runs == 0 && info.failed == nullptr && info.cpu_ns == 0) return 2;
  std::puts("right");
}
