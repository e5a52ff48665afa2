/* All calls in their order, on an instance that is made for them. */
static int modelc_test_run(const modelc_test_call *calls, uint32_t count)
{
  uint32_t number, output, compared = 0, differing = 0;
  for (number = 0; number < count; number++) {
    const modelc_test_call *call = &calls[number];
    size_t word;
    for (word = 0; word < MODELC_TEST_ROOM; word++) ((volatile uint64_t *)modelc_test_room)[word] = 0xa5a5a5a5a5a5a5a5;
    if (!modelc_test_done(call->name, call->call(call->inputs, modelc_test_outputs))) return 1;
    for (output = 0; output < call->outputs; output++) {
      if (!call->expected[output].kind) continue;
      compared++;
      differing += !modelc_test_compare(call->name, output, &call->expected[output], &modelc_test_outputs[output]);
    }
  }
  modelc_test_number(differing ? differing : compared);
  if (differing) {
    modelc_test_text(" of ");
    modelc_test_number(compared);
  }
  modelc_test_text(compared == 1 ? " output" : " outputs");
  if (!differing) {
    modelc_test_text(" of ");
    modelc_test_number(count);
    modelc_test_text(count == 1 ? " call" : " calls");
  }
  modelc_test_text(differing ? " differ" : " agree");
  modelc_test_end_line();
  return differing != 0;
}
