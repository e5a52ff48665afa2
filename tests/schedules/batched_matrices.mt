; A matrix for each of a batch, which the program computes: rows are staged and panels filled for each.
;! outline = x86-64-v3
;! schedule = filled panels
func @main(v0: f32[3, 4, 8], v1: f32[3, 16, 8]) {
  v2 = matmul v0, v1 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }
  return v2
}
method "main" = @main {
  input "0"
  input "1"
  output "0"
}
;! ---
; x86-64-v3: products of floats, 4 pixels x 16 channels at a time, unrolled 8 times, filled panels
kernel @matmul_f32(input: input f32[96] align 4, weights: input f32[384] align 4, panel: scratch f32[128] align 64, output0: output f32[192] align 4) {
  for %4 in 0..3 step 1 {
    3 mul i64, 16 load f32x8, 48 shuffle f32x8, 16 store
    %295: i64 = for %93 in 0..1 step 1 carry %94 = 0 {
      3 add i64, 3 mul i64, 16 load f32x8, 32 load_splat f32x8, 64 mul f32x8, 64 add f32x8, 4 join f32x16, 4 store, 1 yield
    }
  }
}
