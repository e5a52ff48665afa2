; Output channels that fill half a vector: two pixels share it.
;! outline = x86-64-v4
;! schedule = products of floats
;! technique = pairs
const0: f32[24, 1, 1, 36] = numbers 1
func @main(v0: f32[1, 3, 9, 36]) {
  v1 = constant { data = const0 }
  v2 = conv v0, v1 { strides = [1, 1], dilation = [1, 1], padding_low = [0, 0], padding_high = [0, 0], positions = [], shift = [], input_dilation = [1, 1], groups = 1, input_zero_point = 0, filter_zero_point = 0, accumulator = f32 }
  return v2
}
method "main" = @main {
  input "0"
  output "0"
}
;! ---
; x86-64-v4: products of floats, 14 pixels x 24 channels at a time, unrolled 4 times
kernel @conv_1x1_f32(input: input f32[972] align 4, weights: input f32[864] align 64, output0: output f32[648] align 4) {
  %648: i64 = for %10 in 0..1 step 1 carry %11 = 0 {
    1 add i64, 2 mul i64, 7 join f32x16
    %310: f32x16, %311: f32x16, %312: f32x16, %313: f32x16, %314: f32x16, %315: f32x16, %316: f32x16, %317: f32x16, %318: f32x16, %319: f32x16, %320: f32x16, %321: f32x16, %322: f32x16, %323: f32x16, %324: f32x16, %325: f32x16, %326: f32x16, %327: f32x16, %328: f32x16, %329: f32x16, %330: f32x16 = for %46 in 0..36 step 4 carry %47 = 0.0, %48 = 0.0, %49 = 0.0, %50 = 0.0, %51 = 0.0, %52 = 0.0, %53 = 0.0, %54 = 0.0, %55 = 0.0, %56 = 0.0, %57 = 0.0, %58 = 0.0, %59 = 0.0, %60 = 0.0, %61 = %37, %62 = %38, %63 = %39, %64 = %40, %65 = %41, %66 = %42, %67 = %43 {
      2 mul i64, 2 add i64, 4 load f32x16, 4 load f32x8, 32 join f32x16, 56 load_splat f32x16, 84 fma f32x16, 56 part f32x8, 1 yield
    }
    2 mul i64, 28 store, 14 part f32x8, 3 add i64, 6 join f32x16
    %611: f32x16, %612: f32x16, %613: f32x16, %614: f32x16, %615: f32x16, %616: f32x16, %617: f32x16, %618: f32x16, %619: f32x16, %620: f32x16, %621: f32x16, %622: f32x16, %623: f32x16, %624: f32x16, %625: f32x16, %626: f32x16, %627: f32x16, %628: f32x16, %629: f32x16, %630: f32x8 = for %364 in 0..36 step 4 carry %365 = 0.0, %366 = 0.0, %367 = 0.0, %368 = 0.0, %369 = 0.0, %370 = 0.0, %371 = 0.0, %372 = 0.0, %373 = 0.0, %374 = 0.0, %375 = 0.0, %376 = 0.0, %377 = 0.0, %378 = %355, %379 = %356, %380 = %357, %381 = %358, %382 = %359, %383 = %360, %384 = 0.0 {
      2 mul i64, 2 add i64, 4 load f32x16, 4 load f32x8, 28 join f32x16, 52 load_splat f32x16, 76 fma f32x16, 52 part f32x8, 4 fma f32x8, 1 yield
    }
    2 mul i64, 26 store, 12 part f32x8, 1 add i64, 1 yield
  }
}
