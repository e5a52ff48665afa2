; A sum along the last dimension: vectors of partial sums, added at the end of the row.
;! kernels = x86-64-v3
;! kernels = cortex-m4f
func @main(v0: f32[4, 32]) {
  v1 = reduce v0 { reduction = sum, axes = [1] }
  return v1
}
method "main" = @main {
  input "0"
  output "0"
}
;! ---
; x86-64-v3: reduction, 16 at a time, within a row
kernel @reduce(operand0: input f32[128] align 4, output0: output f32[4] align 4) {
  %35: f32x16, %36: f32x16, %37: f32x16, %38: f32x16 = for %15 in 0..32 step 16 carry %16 = 0.0, %17 = 0.0, %18 = 0.0, %19 = 0.0 {
    %21: f32x16 = load operand0[%15]
    %22: f32x16 = add %16, %21
    %24: i64 = add 32, %15
    %25: f32x16 = load operand0[%24]
    %26: f32x16 = add %17, %25
    %28: i64 = add 64, %15
    %29: f32x16 = load operand0[%28]
    %30: f32x16 = add %18, %29
    %32: i64 = add 96, %15
    %33: f32x16 = load operand0[%32]
    %34: f32x16 = add %19, %33
    yield %22, %26, %30, %34
  }
  %39: f32 = horizontal_add %35
  %40: f32 = add 0.0, %39
  %41: f32 = horizontal_add %36
  %42: f32 = add 0.0, %41
  %43: f32 = horizontal_add %37
  %44: f32 = add 0.0, %43
  %45: f32 = horizontal_add %38
  %46: f32 = add 0.0, %45
  store output0[0], %40
  store output0[1], %42
  store output0[2], %44
  store output0[3], %46
}
; cortex-m4f: reduction, 2 at a time, within a row
kernel @reduce(operand0: input f32[128] align 4, output0: output f32[4] align 4) {
  %35: f32x2, %36: f32x2, %37: f32x2, %38: f32x2 = for %15 in 0..32 step 2 carry %16 = 0.0, %17 = 0.0, %18 = 0.0, %19 = 0.0 {
    %21: f32x2 = load operand0[%15]
    %22: f32x2 = add %16, %21
    %24: i64 = add 32, %15
    %25: f32x2 = load operand0[%24]
    %26: f32x2 = add %17, %25
    %28: i64 = add 64, %15
    %29: f32x2 = load operand0[%28]
    %30: f32x2 = add %18, %29
    %32: i64 = add 96, %15
    %33: f32x2 = load operand0[%32]
    %34: f32x2 = add %19, %33
    yield %22, %26, %30, %34
  }
  %39: f32 = horizontal_add %35
  %40: f32 = add 0.0, %39
  %41: f32 = horizontal_add %36
  %42: f32 = add 0.0, %41
  %43: f32 = horizontal_add %37
  %44: f32 = add 0.0, %43
  %45: f32 = horizontal_add %38
  %46: f32 = add 0.0, %45
  store output0[0], %40
  store output0[1], %42
  store output0[2], %44
  store output0[3], %46
}
