; Rows that are staged only so that the output may overwrite the input.
;! outline = x86-64-v3
;! schedule = staged rows
;! technique = staging
const0: f32[8, 1, 1, 8] = numbers 1
const1: f32[8, 1, 1, 8] = numbers 2
const2: f32[8, 1, 1, 8] = numbers 3
const3: f32[8, 1, 1, 8] = numbers 4
const4: f32[8, 1, 1, 8] = numbers 5
const5: f32[8, 1, 1, 8] = numbers 6
const6: f32[8, 1, 1, 8] = numbers 7
const7: f32[8, 1, 1, 8] = numbers 8
func @main(v0: f32[1, 24, 24, 8]) {
  v1 = constant { data = const0 }
  v2 = conv v0, v1 { strides = [1, 1], dilation = [1, 1], padding_low = [0, 0], padding_high = [0, 0], positions = [], shift = [], input_dilation = [1, 1], groups = 1, input_zero_point = 0, filter_zero_point = 0, accumulator = f32 }
  v3 = constant { data = const1 }
  v4 = conv v2, v3 { strides = [1, 1], dilation = [1, 1], padding_low = [0, 0], padding_high = [0, 0], positions = [], shift = [], input_dilation = [1, 1], groups = 1, input_zero_point = 0, filter_zero_point = 0, accumulator = f32 }
  v5 = constant { data = const2 }
  v6 = conv v4, v5 { strides = [1, 1], dilation = [1, 1], padding_low = [0, 0], padding_high = [0, 0], positions = [], shift = [], input_dilation = [1, 1], groups = 1, input_zero_point = 0, filter_zero_point = 0, accumulator = f32 }
  v7 = constant { data = const3 }
  v8 = conv v6, v7 { strides = [1, 1], dilation = [1, 1], padding_low = [0, 0], padding_high = [0, 0], positions = [], shift = [], input_dilation = [1, 1], groups = 1, input_zero_point = 0, filter_zero_point = 0, accumulator = f32 }
  v9 = constant { data = const4 }
  v10 = conv v8, v9 { strides = [1, 1], dilation = [1, 1], padding_low = [0, 0], padding_high = [0, 0], positions = [], shift = [], input_dilation = [1, 1], groups = 1, input_zero_point = 0, filter_zero_point = 0, accumulator = f32 }
  v11 = constant { data = const5 }
  v12 = conv v10, v11 { strides = [1, 1], dilation = [1, 1], padding_low = [0, 0], padding_high = [0, 0], positions = [], shift = [], input_dilation = [1, 1], groups = 1, input_zero_point = 0, filter_zero_point = 0, accumulator = f32 }
  v13 = constant { data = const6 }
  v14 = conv v12, v13 { strides = [1, 1], dilation = [1, 1], padding_low = [0, 0], padding_high = [0, 0], positions = [], shift = [], input_dilation = [1, 1], groups = 1, input_zero_point = 0, filter_zero_point = 0, accumulator = f32 }
  v15 = constant { data = const7 }
  v16 = conv v14, v15 { strides = [1, 1], dilation = [1, 1], padding_low = [0, 0], padding_high = [0, 0], positions = [], shift = [], input_dilation = [1, 1], groups = 1, input_zero_point = 0, filter_zero_point = 0, accumulator = f32 }
  return v16
}
method "main" = @main {
  input "0"
  output "0"
}
;! ---
; x86-64-v3: products of floats in pairs, 6 pixels x 8 channels at a time, unrolled 4 times
kernel @conv_1x1_f32(input: input f32[4608] align 4, weights: input f32[64] align 64, output0: output f32[4608] align 4) {
  %142: i64 = for %9 in 0..1 step 1 carry %10 = 0 {
    1 add i64, 2 mul i64
    for each %29 in 0..576 step 6 {
      2 mul i64, 2 add i64, 8 load f32x8, 24 load_splat_group f32x8, 48 fma f32x8, 6 join f32x16, 12 shuffle f32x8, 6 add f32x8, 6 store
    }
    1 yield
  }
}
; x86-64-v3: products of floats in pairs, 6 pixels x 8 channels at a time, unrolled 4 times, staged rows
kernel @conv_1x1_f32_2(input: output f32[4608] align 4, weights: input f32[64] align 64, ring: scratch f32[528] align 64, output0: output f32[4608] align 4) {
  for each %4 in 0..528 step 8 {
    1 store
  }
  %235: i64 = for %14 in 0..9 step 1 carry %15 = 0 {
    1 add i64, 1 signed_max i64
    for %20 in %18..%17 step 1 {
      1 mul i64
      for %26 in 0..512 step 16 {
        1 add i64, 1 load f32x16, 1 store
      }
    }
    1 mul i64
    for each %44 in 0..60 step 6 {
      2 mul i64, 1 add i64, 8 load f32x8, 24 load_splat_group f32x8, 48 fma f32x8, 6 join f32x16, 12 shuffle f32x8, 6 add f32x8, 6 store
    }
    1 add i64, 8 load f32x8, 16 load_splat_group f32x8, 32 fma f32x8, 1 mul i64, 4 join f32x16, 8 shuffle f32x8, 4 add f32x8, 4 store, 1 yield
  }
}
