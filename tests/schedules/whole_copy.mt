; An input that is an output, too: it is copied as a whole.
;! kernels = x86-64-v3
;! schedule = copy
func @main(v0: f32[20]) {
  return v0
}
method "main" = @main {
  input "0"
  output "0"
}
;! ---
; x86-64-v3: copy, 8 at a time
kernel @copy(input0: input i32[20] align 4, output: output i32[20] align 4) {
  for each %5 in 0..16 step 8 {
    %6: i32x8 = load input0[%5]
    store output[%5], %6
  }
  %8: i32x8 = load input0[16] active 4
  store output[16], %8 active 4
}
