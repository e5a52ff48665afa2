; An exponential of many elements: several registers hide each other's latency.
;! outline = x86-64-v4
;! schedule = element-wise
;! technique = long-vectors
func @main(v0: f32[1024]) {
  v1 = map v0 {
    expression = (f32) {
      n0: f32 = input 0
      n1: f32 = exp n0
      return n1
    }
  }
  return v1
}
method "main" = @main {
  input "0"
  output "0"
}
;! ---
; x86-64-v4: element-wise over 1x1024, 128 at a time
kernel @map(operand0: input f32[1024] align 4, output0: output f32[1024] align 4) {
  for each %6 in 0..1024 step 128 {
    1 load f32x128, 1 float_min_first f32x128, 1 float_max_first f32x128, 9 fma f32x128, 1 add f32x128, 1 float_scale f32x128, 1 store
  }
}
