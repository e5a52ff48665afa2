; A softmax: the powers of a row are kept where its result is to be, for the pass that divides them by their sum.
;! outline = x86-64-v3
;! technique = kept
func @main(v0: f32[2, 100]) {
  v1 = reduce v0 { reduction = max, axes = [1] }
  v2 = map v0, v1 {
    expression = (f32, f32) {
      n0: f32 = input 0
      n1: f32 = input 1
      n2: f32 = sub n0, n1
      n3: f32 = exp n2
      return n3
    }
  }
  v3 = reduce v2 { reduction = sum, axes = [1] }
  v4 = map v2, v3 {
    expression = (f32, f32) {
      n0: f32 = input 0
      n1: f32 = input 1
      n2: f32 = div n0, n1
      return n2
    }
  }
  return v4
}
method "main" = @main {
  input "0"
  output "0"
}
;! ---
; x86-64-v3: row by row, 2 of 100, 3 passes
kernel @rows(operand0: input f32[200] align 4, operand0.2: input f32[200] align 4, output0: output f32[200] align 4) {
  %21: f32x16, %22: f32x16 = for %13 in 0..96 step 16 carry %14 = -inf, %15 = -inf {
    2 load f32x16, 2 float_max_first f32x16, 1 add i64, 1 yield
  }
  2 horizontal_max f32, 12 float_max_first f32, 2 load f32x16, 8 extract f32, 2 splat f32x16
  %149: f32x16, %150: f32x16 = for %61 in 0..96 step 16 carry %62 = 0.0, %63 = 0.0 {
    2 load f32x16, 2 sub f32x16, 2 float_min_first f32x16, 2 float_max_first f32x16, 18 fma f32x16, 4 add f32x16, 2 bitcast i32x16, 2 shift_right_signed i32x16, 2 sub i32x16, 4 shift_left i32x16, 4 add i32x16, 4 bitcast f32x16, 4 mul f32x16, 2 store, 1 add i64, 1 yield
  }
  2 horizontal_add f32, 12 add f32, 2 load f32x16, 2 sub f32x16, 2 float_min_first f32x16, 2 float_max_first f32x16, 18 fma f32x16, 2 add f32x16, 2 bitcast i32x16, 2 shift_right_signed i32x16, 2 sub i32x16, 4 shift_left i32x16, 4 add i32x16, 4 bitcast f32x16, 4 mul f32x16, 2 store, 8 extract f32, 2 splat f32x16
  for each %265 in 0..96 step 16 {
    2 load f32x16, 2 float_div f32x16, 2 store, 1 add i64
  }
  2 load f32x16, 2 float_div f32x16, 2 store
}
