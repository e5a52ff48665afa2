; Rows on a GPU: all rows keep what a later pass needs, since they are computed at the same time.
;! outline = vulkan1.1
;! schedule = row by row
func @main(v0: f32[2, 100]) {
  v1 = reduce v0 { reduction = max, axes = [1] }
  v2 = map v0, v1 {
    expression = (f32, f32) {
      n0: f32 = input 0
      n1: f32 = input 1
      n2: f32 = sub n0, n1
      n3: f32 = abs n2
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
; vulkan1.1: row by row, 2 of 100, 3 passes
kernel @rows(operand0: input f32[200] align 4, operand0.2: input f32[200] align 4, operand0.3: input f32[200] align 4, output0: output f32[200] align 4) {
  for each %5 in 0..2 step 1 {
    1 mul i64
    %17: f32x8 = for %12 in 0..96 step 8 carry %13 = -inf {
      1 add i64, 1 load f32x8, 1 float_max_first f32x8, 1 yield
    }
    1 horizontal_max f32, 6 float_max_first f32, 1 add i64, 1 load f32x8, 4 extract f32, 1 splat f32x8, 1 mul i64
    %47: f32x8 = for %40 in 0..96 step 8 carry %41 = 0.0 {
      1 add i64, 1 load f32x8, 1 sub f32x8, 1 abs f32x8, 1 add f32x8, 1 yield
    }
    1 horizontal_add f32, 6 add f32, 1 add i64, 1 load f32x8, 1 sub f32x8, 1 abs f32x8, 4 extract f32, 2 splat f32x8, 1 mul i64
    for each %71 in 0..96 step 8 {
      1 add i64, 1 load f32x8, 1 sub f32x8, 1 abs f32x8, 1 float_div f32x8, 1 store
    }
    1 add i64, 1 load f32x8, 1 sub f32x8, 1 abs f32x8, 1 float_div f32x8, 1 store
  }
}
