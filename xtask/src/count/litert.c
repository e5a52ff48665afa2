/* Runs a TFLite model with LiteRT's C API, two calls to warm up and then one between two marks that `plugin.c` knows. The argument is the model.
   LiteRT's headers are in none of its packages, so what is used of them is declared here. */
#include "counted.h"

typedef void *handle;
/* A tensor's type: what it is of stands first, and the rest is not looked at. */
typedef struct {
  int32_t element;
  uint32_t unused[511];
} tensor_type;

enum { FLOAT32 = 1, ON_CPU = 1, FOR_WRITING = 1, MOST_TENSORS = 64 };

int LiteRtCreateEnvironment(int options, const void *list, handle *environment);
int LiteRtCreateModelFromFile(handle environment, const char *path, handle *model);
int LiteRtCreateOptions(handle *options);
int LiteRtSetOptionsHardwareAccelerators(handle options, int accelerators);
int LiteRtCreateCompiledModel(handle environment, handle model, handle options, handle *compiled);
int LiteRtGetModelSignature(handle model, size_t index, handle *signature);
int LiteRtGetNumSignatureInputs(handle signature, size_t *count);
int LiteRtGetNumSignatureOutputs(handle signature, size_t *count);
int LiteRtGetSignatureInputTensorByIndex(handle signature, size_t index, handle *tensor);
int LiteRtGetSignatureOutputTensorByIndex(handle signature, size_t index, handle *tensor);
int LiteRtGetRankedTensorType(handle tensor, tensor_type *type);
int LiteRtGetCompiledModelInputBufferRequirements(handle compiled, size_t signature, size_t index, handle *requirements);
int LiteRtGetCompiledModelOutputBufferRequirements(handle compiled, size_t signature, size_t index, handle *requirements);
int LiteRtCreateManagedTensorBufferFromRequirements(handle environment, const tensor_type *type, handle requirements, handle *buffer);
int LiteRtGetTensorBufferSize(handle buffer, size_t *bytes);
int LiteRtLockTensorBuffer(handle buffer, void **memory, int mode);
int LiteRtUnlockTensorBuffer(handle buffer);
int LiteRtRunCompiledModel(handle compiled, size_t signature, size_t inputs, handle *in, size_t outputs, handle *out);

static handle environment, model, compiled, signature;

static void fill_buffer(handle buffer, int floats)
{
  void *memory;
  size_t bytes;
  CHECK(LiteRtGetTensorBufferSize(buffer, &bytes));
  CHECK(LiteRtLockTensorBuffer(buffer, &memory, FOR_WRITING));
  fill(memory, bytes, floats);
  CHECK(LiteRtUnlockTensorBuffer(buffer));
}

static handle buffer_of(handle tensor, handle requirements, tensor_type *type)
{
  handle buffer;
  CHECK(LiteRtGetRankedTensorType(tensor, type));
  CHECK(LiteRtCreateManagedTensorBufferFromRequirements(environment, type, requirements, &buffer));
  return buffer;
}

static handle input(size_t index)
{
  handle tensor, requirements, buffer;
  tensor_type type;
  CHECK(LiteRtGetSignatureInputTensorByIndex(signature, index, &tensor));
  CHECK(LiteRtGetCompiledModelInputBufferRequirements(compiled, 0, index, &requirements));
  buffer = buffer_of(tensor, requirements, &type);
  fill_buffer(buffer, type.element == FLOAT32);
  return buffer;
}

static handle output(size_t index)
{
  handle tensor, requirements;
  tensor_type type;
  CHECK(LiteRtGetSignatureOutputTensorByIndex(signature, index, &tensor));
  CHECK(LiteRtGetCompiledModelOutputBufferRequirements(compiled, 0, index, &requirements));
  return buffer_of(tensor, requirements, &type);
}

int main(int argc, char **argv)
{
  handle options, in[MOST_TENSORS], out[MOST_TENSORS];
  size_t inputs, outputs;
  if (argc != 2) return 2;
  CHECK(LiteRtCreateEnvironment(0, NULL, &environment));
  CHECK(LiteRtCreateModelFromFile(environment, argv[1], &model));
  CHECK(LiteRtCreateOptions(&options));
  CHECK(LiteRtSetOptionsHardwareAccelerators(options, ON_CPU));
  CHECK(LiteRtCreateCompiledModel(environment, model, options, &compiled));
  CHECK(LiteRtGetModelSignature(model, 0, &signature));
  CHECK(LiteRtGetNumSignatureInputs(signature, &inputs));
  CHECK(LiteRtGetNumSignatureOutputs(signature, &outputs));
  if (inputs > MOST_TENSORS || outputs > MOST_TENSORS) return 3;
  for (size_t i = 0; i < inputs; i++) in[i] = input(i);
  for (size_t i = 0; i < outputs; i++) out[i] = output(i);
  for (int call = 0; call < 2; call++) CHECK(LiteRtRunCompiledModel(compiled, 0, inputs, in, outputs, out));
  MARK();
  CHECK(LiteRtRunCompiledModel(compiled, 0, inputs, in, outputs, out));
  MARK();
  /* The library's threads are not waited for. */
  _Exit(0);
}
