; Rows of a table: all indices are checked before anything is written.
;! kernels = x86-64-v3
func @main(v0: f32[10, 8], v1: i32[3]) {
  v2 = gather v0, v1 { axis = 0, batch = 0 }
  return v2
}
method "main" = @main {
  input "0"
  input "1"
  output "0"
}
;! ---
; x86-64-v3: gather 3 slices of 8 by 8
kernel @gather(source: input i32[80] align 4, indices: input i32[3] align 4, output: output i32[24] align 4) {
  %9: maskx4 = for %3 in 0..0 step 4 carry %4 = false {
    %5: i32x4 = load indices[%3]
    %7: maskx4 = unsigned_less 9, %5
    %8: maskx4 = or %4, %7
    yield %8
  }
  %11: i32x4 = load indices[0] active 3
  %13: maskx4 = unsigned_less 9, %11
  %14: maskx4 = or %9, %13
  %15: i32x4 = mask_to_integer %14
  %16: i32 = horizontal_max %15
  %18: mask = not_equal %16, 0
  fail_if %18, -12
  for each %26 in 0..3 step 1 {
    %27: i32 = load indices[%26]
    %28: i64 = sign_extend %27
    %30: i64 = mul %28, 8
    %32: i64 = mul %26, 8
    %34: i32x8 = load source[%30]
    store output[%32], %34
  }
}
