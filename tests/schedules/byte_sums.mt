; Sums of bytes that are added in 16 bits first.
;! kernels = x86-64-v3
;! schedule = reduction
;! technique = byte-sums
func @main(v0: i8[40, 32]) {
  v1 = map v0 {
    expression = (i8) {
      n0: i8 = input 0
      n1: i32 = convert n0
      return n1
    }
  }
  v2 = reduce v1 { reduction = sum, axes = [0] }
  return v2
}
method "main" = @main {
  input "0"
  output "0"
}
;! ---
; x86-64-v3: reduction, 32 at a time
kernel @reduce(operand0: input i8[1280] align 1, output0: output i32[32] align 4) {
  %17: i16x32 = for %9 in 0..40 step 1 carry %10 = 0 {
    %12: i64 = mul %9, 32
    %13: i8x32 = load operand0[%12]
    %15: i16x32 = sign_extend %13
    %16: i16x32 = add %10, %15
    yield %16
  }
  %18: i32x32 = sign_extend %17
  %19: i32x32 = add 0, %18
  store output0[0], %19
}
