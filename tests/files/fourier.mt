; Transforms of a power of two: complex numbers, and the first half of those of real numbers.
;! print
;! input f32[1, 4, 2] = [1.0, 0.0, 0.0, 1.0, -1.0, 0.0, 0.0, -1.0]
;! input f32[8] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
;! run
func @main(v0: f32[1, 4, 2], v1: f32[8]) {
  v2 = fft v0
  v3 = rfft v1
  return v2, v3
}
method "main" = @main {
  input "a"
  input "b"
  output "0"
  output "1"
}
;! ---
func @main(v0: f32[1, 4, 2], v1: f32[8]) {
  v2: f32[1, 4, 2] = fft v0
  v3: f32[5, 2] = rfft v1
  return v2, v3
}
method "main" = @main {
  input "a"
  input "b"
  output "0"
  output "1"
}
; f32[1, 4, 2] = [0.0, 0.0, 4.0, 1.2246469e-16, 0.0, 0.0, 0.0, -1.2246469e-16]
; f32[5, 2] = [36.0, 0.0, -4.0, 9.656855, -4.0, 4.0, -4.0, 1.6568543, -4.0, 0.0]
