; Element-wise work on more bytes than the second-level cache holds: elements are fetched ahead.
;! kernels = x86-64-v4
;! technique = streams
;! kernels = aarch64
func @main(v0: f32[1,524288], v1: f32[1]) {
  v2 = map v0, v1 {
    expression = (f32, f32) {
      n0: f32 = input 0
      n1: f32 = input 1
      n2: f32 = add n0, n1
      return n2
    }
  }
  return v2
}
method "main" = @main {
  input "0"
  input "1"
  output "0"
}
;! ---
; x86-64-v4: element-wise over 1x524288, 32 at a time
kernel @map(operand0: input f32[524288] align 4 streamed, operand1: input f32[1] align 4, output0: output f32[524288] align 4 streamed, %0: i64, %1: i64) {
  %3: f32x32 = load_splat operand1[0]
  %8: i64 = signed_min %1, 16384
  %10: i64 = mul %0, 32
  %12: i64 = mul %8, 32
  for each %13 in %10..%12 step 32 {
    %14: f32x32 = load operand0[%13]
    %15: f32x32 = add %14, %3
    store output0[%13], %15
  }
}
; aarch64: element-wise over 1x524288, 8 at a time
kernel @map(operand0: input f32[524288] align 4, operand1: input f32[1] align 4, output0: output f32[524288] align 4, %0: i64, %1: i64) {
  %3: f32x8 = load_splat operand1[0]
  %8: i64 = signed_min %1, 65536
  %10: i64 = mul %0, 8
  %12: i64 = mul %8, 8
  for each %13 in %10..%12 step 8 {
    %14: f32x8 = load operand0[%13]
    %15: f32x8 = add %14, %3
    store output0[%13], %15
  }
}
