; Parts of the result, each copied to its place.
;! kernels = x86-64-v3
func @main(v0: i8[4, 8], v1: i8[4, 24]) {
  v2 = concat v0, v1 { axis = 1, extent = [] }
  return v2
}
method "main" = @main {
  input "0"
  input "1"
  output "0"
}
;! ---
; x86-64-v3: concat, 32 at a time
kernel @concat(input0: input i8[32] align 1, input1: input i8[96] align 1, output: output i8[128] align 1) {
  for each %5 in 0..4 step 1 {
    %7: i64 = mul %5, 8
    %9: i64 = mul %5, 32
    %11: i8x32 = load input0[%7] active 8
    store output[%9], %11 active 8
  }
  for each %17 in 0..4 step 1 {
    %19: i64 = mul %17, 24
    %21: i64 = mul %17, 32
    %22: i64 = add 8, %21
    %24: i8x32 = load input1[%19] active 24
    store output[%22], %24 active 24
  }
}
