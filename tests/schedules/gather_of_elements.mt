; Elements of a table of 256 bytes: their positions are checked first.
;! kernels = x86-64-v4
;! kernels = aarch64
;! kernels = cortex-m4f
const0: i8[256] = hex "eeaf0aff444c645d1f8bc19059727a80a5486f65ffb7f2cfcdb76aab9480c0f7931bc1005fb9b2a419e24605f280851a6b0e21fc73f8fe8e521d9c8be37f57a903f4593df47c912d57394ae58315a2e97de61fe3f66ef10717b77ddff278559cca499bed8cc8549a9ede496620b9a8d428e1de6f901f413f2962d6b781a80fa93357bfea42361e5dac9972e43e64e2253a728f52fe4f9440916da09f03e3a02d390b2b9606220d1881a18cf7b6736e45005c7cc37edd841bcdf827236b39a8e548d1fe50a1917626d25ab5a407abeab1577f64d8f7c4556bf8be16160f093e0205e560fedffdf8ce10e027a14a00fdf6b36d92b48273f6653f9416f7bd99e1e3"
func @main(v0: u8[64]) {
  v1 = constant { data = const0 }
  v2 = map v0 {
    expression = (u8) {
      n0: u8 = input 0
      n1: i32 = convert n0
      return n1
    }
  }
  v3 = gather v1, v2 { axis = 0, batch = 0 }
  return v3
}
method "main" = @main {
  input "0"
  output "0"
}
;! ---
; x86-64-v4: element-wise over 1x64, 64 at a time
kernel @map(operand0: input i8[64] align 1, output0: output i32[64] align 4) {
  %5: i8x64 = load operand0[0]
  %6: i32x64 = zero_extend %5
  store output0[0], %6
}
; x86-64-v4: gather 64 slices of 1 by 64
kernel @gather(source: input i8[256] align 1, indices: input i32[64] align 4, output: output i8[64] align 1) {
  %9: maskx16 = for %3 in 0..64 step 16 carry %4 = false {
    %5: i32x16 = load indices[%3]
    %7: maskx16 = unsigned_less 255, %5
    %8: maskx16 = or %4, %7
    yield %8
  }
  %10: i32x16 = mask_to_integer %9
  %11: i32 = horizontal_max %10
  %13: mask = not_equal %11, 0
  fail_if %13, -12
  %18: i32 = wrap 0: i64
  %19: i32x64 = splat %18
  %22: i32x64 = load indices[0]
  %23: i32x64 = add %19, %22
  %24: i8x64 = gather source[%23] proven
  store output[0], %24
}
; aarch64: element-wise over 1x64, 16 at a time
kernel @map(operand0: input i8[64] align 1, output0: output i32[64] align 4) {
  for each %6 in 0..64 step 16 {
    %7: i8x16 = load operand0[%6]
    %8: i32x16 = zero_extend %7
    store output0[%6], %8
  }
}
; aarch64: gather 64 slices of 1 by 16
kernel @gather(source: input i8[256] align 1, indices: input i32[64] align 4, output: output i8[64] align 1) {
  %9: maskx4 = for %3 in 0..64 step 4 carry %4 = false {
    %5: i32x4 = load indices[%3]
    %7: maskx4 = unsigned_less 255, %5
    %8: maskx4 = or %4, %7
    yield %8
  }
  %10: i32x4 = mask_to_integer %9
  %11: i32 = horizontal_max %10
  %13: mask = not_equal %11, 0
  fail_if %13, -12
  %18: i32 = wrap 0: i64
  %19: i32x16 = splat %18
  for each %23 in 0..64 step 16 {
    %24: i32x16 = load indices[%23]
    %25: i32x16 = add %19, %24
    %26: i8x16 = gather source[%25] proven
    store output[%23], %26
  }
}
; cortex-m4f: element-wise over 1x64, 4 at a time
kernel @map(operand0: input i8[64] align 1, output0: output i32[64] align 4) {
  for each %6 in 0..64 step 4 {
    %7: i8x4 = load operand0[%6]
    %8: i32x4 = zero_extend %7
    store output0[%6], %8
  }
}
; cortex-m4f: gather 64 slices of 1 by 4
kernel @gather(source: input i8[256] align 1, indices: input i32[64] align 4, output: output i8[64] align 1) {
  %9: mask = for %3 in 0..64 step 1 carry %4 = false {
    %5: i32 = load indices[%3]
    %7: mask = unsigned_less 255, %5
    %8: mask = or %4, %7
    yield %8
  }
  fail_if %9, -12
  %14: i32 = wrap 0: i64
  %15: i32x4 = splat %14
  for each %19 in 0..64 step 4 {
    %20: i32x4 = load indices[%19]
    %21: i32x4 = add %15, %20
    %22: i8x4 = gather source[%21] proven
    store output[%19], %22
  }
}
