; A transform of complex numbers: passes that read halves and write pairs.
;! outline = x86-64-v3
;! schedule = : transform of 16
func @main(v0: f32[2, 16, 2]) {
  v1 = fft v0
  return v1
}
method "main" = @main {
  input "0"
  output "0"
}
;! ---
; x86-64-v3: transform of 16, 8 at a time
kernel @fft(input: input f32[64] align 4, output: output f32[64] align 4, planes: scratch f32[128] align 64, factors: input f32[48] align 4) {
  for each %2 in 0..2 step 1 private planes {
    2 mul i64, 18 load f32x8, 2 load f32x16, 16 shuffle f32x8, 11 add f32x8, 11 sub f32x8, 12 mul f32x8, 14 store, 2 shuffle f32x16
  }
}
