; Pixels with sparse weights: vectors hold one channel of many pixels, and a table drives the loop over the weights.
;! outline = x86-64-v3
;! schedule = products of floats without zeros
;! technique = sparse
const0: f32[64, 1, 1, 64] = numbers 1 of 8
func @main(v0: f32[1, 8, 8, 64]) {
  v1 = constant { data = const0 }
  v2 = conv v0, v1 { strides = [1, 1], dilation = [1, 1], padding_low = [0, 0], padding_high = [0, 0], positions = [], shift = [], input_dilation = [1, 1], groups = 1, input_zero_point = 0, filter_zero_point = 0, accumulator = f32 }
  return v2
}
method "main" = @main {
  input "0"
  output "0"
}
;! ---
; x86-64-v3: products of floats without zeros, 64 pixels x 16 channels at a time
kernel @sparse_f32(input: input f32[4096] align 4, weights: input f32[570] align 64, distances: input i8[570] align 64, starts: input i32[65] align 64, rows: scratch f32[4096] align 64, sums: scratch f32[1024] align 64, output0: output f32[4096] align 4) {
  for each %3 in 0..1 step 1 private rows, sums {
    2 mul i64
    for %11 in 0..64 step 4 {
      1 add i64, 1 mul i64
      for %17 in 0..64 step 4 {
        1 mul i64, 8 add i64, 4 load f32x4, 8 shuffle f32x4, 4 store
      }
    }
    for each %50 in 0..64 step 16 private sums {
      for %53 in 0..16 step 1 {
        1 add i64, 2 load i32, 2 sign_extend i64, 2 signed_min i64
        %111: f32x8, %112: f32x8, %113: f32x8, %114: f32x8, %115: f32x8, %116: f32x8, %117: f32x8, %118: f32x8, %119: i64 = for %71 in %67..%70 step 1 carry %72 = 0.0, %73 = 0.0, %74 = 0.0, %75 = 0.0, %76 = 0.0, %77 = 0.0, %78 = 0.0, %79 = 0.0, %80 = 0 {
          1 load i8, 1 zero_extend i64, 1 load f32, 1 mul i64, 1 add i64, 8 load f32x8, 8 splat f32x8, 8 fma f32x8, 1 yield
        }
        1 mul i64, 8 store
      }
      for %124 in 0..64 step 4 {
        16 load f32x4, 32 shuffle f32x4, 2 add i64, 1 mul i64, 8 join f32x8, 4 join f32x16, 4 store
      }
    }
  }
}
