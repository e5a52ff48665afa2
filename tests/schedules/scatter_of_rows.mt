; Rows that are added at the places that indices name.
;! kernels = x86-64-v3
func @main(v0: f32[10, 8], v1: i32[3], v2: f32[3, 8]) {
  v3 = scatter v0, v1, v2 { axis = 0, batch = 0, combination = sum, skips_negative = false }
  return v3
}
method "main" = @main {
  input "0"
  input "1"
  input "2"
  output "0"
}
;! ---
; x86-64-v3: scatter 3 slices of 8, 8 at a time
kernel @scatter(target: input f32[80] align 4, indices: input i32[3] align 4, updates: input f32[24] align 4, output: output f32[80] align 4) {
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
  for each %22 in 0..80 step 8 {
    %23: f32x8 = load target[%22]
    store output[%22], %23
  }
  for %31 in 0..3 step 1 {
    %32: i32 = load indices[%31]
    %33: i64 = sign_extend %32
    %35: i64 = mul %33, 8
    %37: i64 = mul %31, 8
    %39: f32x8 = load output[%35]
    %40: f32x8 = load updates[%37]
    %41: f32x8 = add %39, %40
    store output[%35], %41
  }
}
