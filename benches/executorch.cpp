// The latency of a method under ExecuTorch's own runtime, as one line of JSON; `cargo xtask peers` builds and runs it.
//
//     executorch PROGRAM.pte METHOD INPUTS THREADS SECONDS [WEIGHTS.ptd]
//
// INPUTS is what executorch_inputs.py writes: for each input its number, rank, sizes and bytes, in rows. Inputs that are not
// in it are zeros. A call sets the inputs and executes: results stay where the runtime puts them.

#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>
#include <executorch/runtime/platform/runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

// The wheel has the library of the thread pool but not its header.
namespace executorch::extension::threadpool {
class ThreadPool {
 public:
  bool _unsafe_reset_threadpool(uint32_t threads);
  size_t get_thread_count() const;
};
ThreadPool* get_threadpool();
}  // namespace executorch::extension::threadpool

using executorch::aten::ScalarType;
using executorch::extension::Module;
using executorch::extension::TensorPtr;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::Tag;

namespace {

constexpr int kWarmUpRuns = 3;
constexpr size_t kMostRuns = 200000;

[[noreturn]] void fail(const char* what, int code) {
  std::fprintf(stderr, "%s (error 0x%x)\n", what, code);
  std::exit(1);
}

struct Array {
  std::vector<int32_t> sizes;
  std::vector<char> bytes;
};

/// The recorded inputs by their number.
std::map<size_t, Array> recorded(const char* path) {
  std::map<size_t, Array> arrays;
  FILE* file = std::fopen(path, "rb");
  if (file == nullptr) fail("cannot open the inputs", 0);
  int64_t head[3];  // number, rank, bytes
  while (std::fread(head, sizeof head, 1, file) == 1) {
    Array array{std::vector<int32_t>(head[1]), std::vector<char>(head[2])};
    const bool whole = std::fread(array.sizes.data(), sizeof(int32_t), array.sizes.size(), file) == array.sizes.size() &&
                       std::fread(array.bytes.data(), 1, array.bytes.size(), file) == array.bytes.size();
    if (!whole) fail("the inputs end too soon", 0);
    arrays.emplace(head[0], std::move(array));
  }
  std::fclose(file);
  return arrays;
}

/// Rows of elements in the order of a program's axes: the first axis of `order` varies slowest.
std::vector<char> in_order(const Array& array, const std::vector<uint8_t>& order, size_t element) {
  const size_t rank = array.sizes.size();
  std::vector<size_t> stride(rank, element);
  for (size_t axis = rank; axis-- > 1;) stride[axis - 1] = stride[axis] * array.sizes[axis];
  std::vector<char> bytes(array.bytes.size());
  std::vector<int32_t> index(rank, 0);
  for (size_t to = 0; to < bytes.size(); to += element) {
    size_t from = 0;
    for (size_t axis = 0; axis < rank; axis++) from += index[axis] * stride[axis];
    std::memcpy(&bytes[to], &array.bytes[from], element);
    for (size_t place = rank; place-- > 0;) {
      const size_t axis = order[place];
      if (++index[axis] < array.sizes[axis]) break;
      index[axis] = 0;
    }
  }
  return bytes;
}

struct Inputs {
  std::vector<EValue> values;
  std::vector<TensorPtr> tensors;
  std::vector<std::unique_ptr<std::vector<char>>> memory;
};

void add_tensor(Inputs& inputs, const executorch::runtime::TensorInfo& info, const Array* array) {
  std::vector<uint8_t> order(info.dim_order().begin(), info.dim_order().end());
  std::vector<int32_t> sizes(info.sizes().begin(), info.sizes().end());
  auto bytes = std::make_unique<std::vector<char>>(info.nbytes());
  if (array != nullptr) {
    size_t elements = 1;
    for (int32_t size : array->sizes) elements *= size;
    sizes = array->sizes;
    if (elements > 0 && order.size() == sizes.size()) *bytes = in_order(*array, order, array->bytes.size() / elements);
  }
  std::vector<executorch::aten::DimOrderType> axes(order.begin(), order.end());
  inputs.tensors.push_back(executorch::extension::make_tensor_ptr(sizes, bytes->data(), axes, {}, info.scalar_type()));
  inputs.values.emplace_back(*inputs.tensors.back());
  inputs.memory.push_back(std::move(bytes));
}

/// A number that the archive holds as an array of one element of 8 bytes, or of 1 for a bool.
template <typename T>
T number(const Array* array) {
  T value{};
  if (array != nullptr) std::memcpy(&value, array->bytes.data(), std::min(sizeof value, array->bytes.size()));
  return value;
}

Inputs inputs_of(Module& module, const std::string& method, const char* path) {
  auto meta = module.method_meta(method);
  if (!meta.ok()) fail("the method cannot be read", static_cast<int>(meta.error()));
  const auto arrays = recorded(path);
  Inputs inputs;
  for (size_t i = 0; i < meta->num_inputs(); i++) {
    const auto found = arrays.find(i);
    const Array* array = found == arrays.end() ? nullptr : &found->second;
    switch (meta->input_tag(i).get()) {
      case Tag::Tensor: add_tensor(inputs, meta->input_tensor_meta(i).get(), array); break;
      case Tag::Int: inputs.values.emplace_back(number<int64_t>(array)); break;
      case Tag::Double: inputs.values.emplace_back(number<double>(array)); break;
      case Tag::Bool: inputs.values.emplace_back(number<bool>(array)); break;
      default: inputs.values.emplace_back();
    }
  }
  return inputs;
}

}  // namespace

int main(int count, char** words) {
  if (count < 6) fail("executorch PROGRAM.pte METHOD INPUTS THREADS SECONDS [WEIGHTS.ptd]", 0);
  const std::string method = words[2];
  const size_t threads = std::strtoul(words[4], nullptr, 10);
  const double seconds = std::strtod(words[5], nullptr);
  executorch::runtime::runtime_init();
  auto* pool = executorch::extension::threadpool::get_threadpool();
  if (!pool->_unsafe_reset_threadpool(threads) || pool->get_thread_count() != threads) fail("the threads cannot be set", 0);
  auto module = count > 6 ? std::make_unique<Module>(words[1], words[6], Module::LoadMode::Mmap)
                          : std::make_unique<Module>(words[1], Module::LoadMode::Mmap);
  if (Error error = module->load_method(method); error != Error::Ok) fail("the method cannot be loaded", static_cast<int>(error));
  Inputs inputs = inputs_of(*module, method, words[3]);
  // `Module::execute` would also copy the list of results: this is the shorter way.
  auto* loaded = module->method(method).get();

  using Clock = std::chrono::steady_clock;
  const auto call = [&] {
    const auto start = Clock::now();
    for (size_t i = 0; i < inputs.values.size(); i++) (void)loaded->set_input(inputs.values[i], i);
    if (Error error = loaded->execute(); error != Error::Ok) fail("the method failed", static_cast<int>(error));
    return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
  };
  for (int i = 0; i < kWarmUpRuns; i++) call();
  std::vector<double> times;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  while (times.empty() || (Clock::now() < end && times.size() < kMostRuns)) times.push_back(call());
  std::sort(times.begin(), times.end());
  std::printf("{\"median_ns\": %.1f, \"min_ns\": %.1f, \"runs\": %zu}\n", times[times.size() / 2], times[0], times.size());
}
