; Slices that are gathered on a GPU.
;! outline = vulkan1.1
;! schedule = gather
func @main(v0: f32[10, 8], v1: i32[3]) {
  v2 = gather v0, v1 { axis = 0, batch = 0 }
  return v2
}
method "main" = @main {
  input "0"
  input "1"
  output "0"
}
;! ---
; vulkan1.1: gather 3 slices of 8 by 4
kernel @gather(source: input i32[80] align 4, indices: input i32[3] align 4, output: output i32[24] align 4) {
  %9: maskx4 = for %3 in 0..0 step 4 carry %4 = false {
    1 load i32x4, 1 unsigned_less maskx4, 1 or maskx4, 1 yield
  }
  1 load i32x4, 1 unsigned_less maskx4, 1 or maskx4, 1 mask_to_integer i32x4, 1 horizontal_max i32, 1 not_equal mask, 1 fail_if
  for each %26 in 0..3 step 1 {
    1 load i32, 1 sign_extend i64, 2 mul i64
    for each %35 in 0..8 step 4 {
      2 add i64, 1 load i32x4, 1 store
    }
  }
}
